"""Ranks of held-out labels: the data that all metrics are computed from, and its Parquet file.

Also the groups of labels by frequency in training: head, middle and tail.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError
from vse_ens.storage.atomic import replace_file

GROUPS = ("head", "middle", "tail")

_FORMAT = 1
_KEY = b"vse-ens rankings"
_SCHEMA = pa.schema(
    {
        "image": pa.large_string(),
        "candidates": pa.int32(),
        "labels": pa.list_(pa.large_string()),
        "above": pa.list_(pa.int32()),
        "tied": pa.list_(pa.int32()),
        "seen": pa.list_(pa.int64()),
        "top": pa.list_(pa.large_string()),
    }
)


@dataclass(frozen=True, eq=False)
class Rankings:
    """The held-out pairs of all evaluated images in CSR form with their ranks, and the best labels of each image.

    The candidates of an image are the labels that the model ranks for it: all labels of the model except those that the
    image is known to have.
    """

    images: Vocabulary
    """The evaluated images: those with a held-out label."""
    labels: Vocabulary
    """The ids of the label numbers."""
    ranked_labels: int
    """Number of labels of the model."""
    candidates: NDArray[np.int32]
    """Number of candidates per image; -1 if the model does not have the image."""
    top: NDArray[np.int32]
    """The best candidates per image, best first, equal scores in the order of ids; padded with -1."""
    indptr: NDArray[np.int64]
    """The pairs of image ``i`` are ``indptr[i]`` to ``indptr[i + 1]``."""
    label: NDArray[np.int32]
    """The held-out label of each pair."""
    above: NDArray[np.int32]
    """Number of candidates with a higher score, per pair."""
    tied: NDArray[np.int32]
    """Number of candidates with the same score, including the label; 0 if the model does not rank it for the image."""
    seen: NDArray[np.int64]
    """Number of training images with the label, per pair."""
    common: tuple[int, int]
    """Minimum of ``seen`` for labels of the head, and for labels of the middle; see `group_thresholds`."""

    @property
    def pairs(self) -> int:
        """Number of held-out pairs."""
        return len(self.label)

    @property
    def held_out(self) -> NDArray[np.int64]:
        """Number of held-out labels per image."""
        return np.diff(self.indptr)

    def only(self, keep: NDArray[np.bool_]) -> Rankings:
        """Return the rankings of the pairs where ``keep`` is true, and of the images that have such a pair."""
        kept = np.concatenate([[0], np.cumsum(keep)])[self.indptr]
        rows = np.flatnonzero(np.diff(kept))
        return replace(
            self,
            images=Vocabulary.trusted(self.images.arrow.take(rows), self.images.kind),
            candidates=self.candidates[rows],
            top=self.top[rows],
            indptr=np.concatenate([kept[:1], kept[rows + 1]]),
            label=self.label[keep],
            above=self.above[keep],
            tied=self.tied[keep],
            seen=self.seen[keep],
        )

    def save(self, path: str | Path) -> None:
        """Write the rankings to a Parquet file with one row per image, atomically; see docs/metrics.md."""
        facts = {
            "format": _FORMAT,
            "ranked_labels": self.ranked_labels,
            "top": self.top.shape[1],
            "common": self.common,
        }
        filled = self.top >= 0
        top_starts = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
        names = self.labels.arrow
        table = pa.table(
            [
                self.images.arrow,
                pa.array(self.candidates),
                _lists(self.indptr, names.take(pa.array(self.label))),
                _lists(self.indptr, pa.array(self.above)),
                _lists(self.indptr, pa.array(self.tied)),
                _lists(self.indptr, pa.array(self.seen)),
                _lists(top_starts, names.take(pa.array(self.top[filled]))),
            ],
            schema=_SCHEMA.with_metadata({_KEY: json.dumps(facts)}),
        )
        with replace_file(Path(path)) as partial:
            pq.write_table(table, partial)

    @classmethod
    def load(cls, path: str | Path) -> Rankings:
        """Read and check a file that `save` wrote."""
        try:
            table = pq.read_table(path)
        except FileNotFoundError:
            raise DataError(f"{path} does not exist") from None
        except (OSError, pa.ArrowInvalid) as error:
            raise DataError(f"{path} cannot be read as Parquet: {error}") from error
        facts = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
        if facts.get("format") != _FORMAT or not table.schema.equals(_SCHEMA):
            raise DataError(f"{path} has no rankings of format {_FORMAT}; write it again with --save-rankings")
        columns: dict[str, Any] = {name: table[name].combine_chunks() for name in table.column_names}
        held_out, top = columns["labels"], columns["top"]
        labels = Vocabulary.from_ids([*held_out.values.unique().to_pylist(), *top.values.unique().to_pylist()], "label")
        return cls(
            images=Vocabulary(columns["image"], "image"),
            labels=labels,
            ranked_labels=facts["ranked_labels"],
            candidates=columns["candidates"].to_numpy(),
            top=_padded(np.diff(_starts(top)), _numbers(labels, top.values), facts["top"]),
            indptr=_starts(held_out),
            label=_numbers(labels, held_out.values),
            above=columns["above"].values.to_numpy(),
            tied=columns["tied"].values.to_numpy(),
            seen=columns["seen"].values.to_numpy(),
            common=tuple(facts["common"]),
        )


def group_thresholds(images_per_label: NDArray[np.int64]) -> tuple[int, int]:
    """Return the minimum number of training images for labels of the head, and for labels of the middle.

    Labels are sorted by number of training images, most first. The head ends with the label that brings the cumulated
    training pairs to one third of all, the middle with the one that brings them to two thirds; labels with the same
    number of images belong to the same group. The tail has all other labels, including those never seen in training.
    """
    falling = np.sort(images_per_label[images_per_label > 0])[::-1]
    if not len(falling):
        return 1, 1
    sums = np.cumsum(falling)
    # 3 sums >= total: integers, so that rounding cannot move a label.
    head, middle = (int(falling[np.searchsorted(3 * sums, third * sums[-1])]) for third in (1, 2))
    return head, middle


def group_of(seen: NDArray[np.int64], common: tuple[int, int]) -> NDArray[np.int64]:
    """Return the index in `GROUPS` of labels with ``seen`` training images."""
    head, middle = common
    return (seen < head).astype(np.int64) + (seen < middle)


def _lists(starts: NDArray[np.int64], values: pa.Array) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), values)


def _starts(lists: pa.ListArray) -> NDArray[np.int64]:
    return np.asarray(lists.offsets.to_numpy(), np.int64)


def _numbers(labels: Vocabulary, ids: pa.LargeStringArray) -> NDArray[np.int32]:
    return labels.numbers(ids.to_pylist()).astype(np.int32)


def _padded(lengths: NDArray[np.int64], values: NDArray[np.int32], width: int) -> NDArray[np.int32]:
    rows = np.full((len(lengths), width), -1, np.int32)
    rows[np.arange(width) < lengths[:, None]] = values
    return rows
