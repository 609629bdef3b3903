"""Where held-out labels stand: all that any metric needs, and small enough to keep.

Rankings as a Parquet file: a row an image, ids in words, so that any tool can read it.

Common and rare labels: head, middle and tail.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError


@dataclass(frozen=True, eq=False)
class Rankings:
    """The held-out pairs of every evaluated image in CSR form, each with its place, and the labels that lead.

    The candidates of an image are the labels the model ranks for it: all it knows but those the image is known to have.
    """

    images: Vocabulary
    """The evaluated images: those with a held-out label."""
    labels: Vocabulary
    """The ids behind the label numbers."""
    ranked_labels: int
    """How many labels the model knows."""
    candidates: NDArray[np.int32]
    """For every image how many there are; -1 where the model does not know the image."""
    top: NDArray[np.int32]
    """For every image the best candidates, best first, equal scores in the order of ids; -1 where there are no more."""
    indptr: NDArray[np.int64]
    """The pairs of image ``i`` are ``indptr[i]`` to ``indptr[i + 1]``."""
    label: NDArray[np.int32]
    """For every pair: the held-out label."""
    above: NDArray[np.int32]
    """Candidates with a higher score."""
    tied: NDArray[np.int32]
    """Candidates with the same score, itself included; 0 where the model does not rank the label for the image."""
    seen: NDArray[np.int64]
    """How many images have the label in training."""
    common: tuple[int, int]
    """A label is of the head if it was ``seen`` that often, of the middle likewise: see `popularity.boundaries`."""

    @property
    def pairs(self) -> int:
        """How many pairs were held out."""
        return len(self.label)

    @property
    def held_out(self) -> NDArray[np.int64]:
        """How many labels of each image were held out."""
        return np.diff(self.indptr)

    def only(self, keep: NDArray[np.bool_]) -> Rankings:
        """The same rankings with only the pairs where ``keep`` is true, and only the images that have one of them."""
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
        """Write them as Parquet, whole or not at all; see docs/metrics.md."""

        write(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Rankings:
        """Read what `save` wrote."""

        return read(Path(path))


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


def write(rankings: Rankings, path: Path) -> None:
    """Write ``path``, whole or not at all."""
    facts = {
        "format": _FORMAT,
        "ranked_labels": rankings.ranked_labels,
        "top": rankings.top.shape[1],
        "common": rankings.common,
    }
    leading = rankings.top >= 0
    top_starts = np.concatenate([[0], np.cumsum(leading.sum(axis=1))])
    names = rankings.labels.arrow
    table = pa.table(
        [
            rankings.images.arrow,
            pa.array(rankings.candidates),
            _lists(rankings.indptr, names.take(pa.array(rankings.label))),
            _lists(rankings.indptr, pa.array(rankings.above)),
            _lists(rankings.indptr, pa.array(rankings.tied)),
            _lists(rankings.indptr, pa.array(rankings.seen)),
            _lists(top_starts, names.take(pa.array(rankings.top[leading]))),
        ],
        schema=_SCHEMA.with_metadata({_KEY: json.dumps(facts)}),
    )
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, partial)
        partial.replace(path)
    except OSError as error:
        raise DataError(f"{path} could not be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            partial.unlink()


def read(path: Path) -> Rankings:
    """Read and check ``path``."""
    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist") from None
    except (OSError, pa.ArrowInvalid) as error:
        raise DataError(f"{path} cannot be read as Parquet: {error}") from error
    facts = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
    if facts.get("format") != _FORMAT or not table.schema.equals(_SCHEMA):
        raise DataError(f"{path} does not hold rankings of format {_FORMAT}; write it again with --save-rankings")
    columns: dict[str, Any] = {name: table[name].combine_chunks() for name in table.column_names}
    held_out, top = columns["labels"], columns["top"]
    labels = Vocabulary.from_ids([*held_out.values.unique().to_pylist(), *top.values.unique().to_pylist()], "label")
    return Rankings(
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


GROUPS = ("head", "middle", "tail")


def group_thresholds(images_per_label: NDArray[np.int64]) -> tuple[int, int]:
    """From how many images on a label is of the head, and from how many of the middle.

    Labels in the order of their training images, most first, each make up their share of all training pairs. The label
    that brings the sum to a third is the last of the head, that to two thirds the last of the middle; labels with as
    many images as it has go with it. The rest is the tail, with the labels never seen in training.
    """
    falling = np.sort(images_per_label[images_per_label > 0])[::-1]
    if not len(falling):
        return 1, 1
    sums = np.cumsum(falling)
    # 3 sums >= total: in whole numbers, so that no rounding moves a label.
    head, middle = (int(falling[np.searchsorted(3 * sums, third * sums[-1])]) for third in (1, 2))
    return head, middle


def group_of(seen: NDArray[np.int64], common: tuple[int, int]) -> NDArray[np.int64]:
    """The place in `GROUPS` of labels with so many training images."""
    head, middle = common
    return (seen < head).astype(np.int64) + (seen < middle)
