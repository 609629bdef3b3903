"""Write suggestions to a file, block by block: RAM does not grow with the number of images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vse_ens import __version__
from vse_ens.curate.suggest import SuggestionBlock
from vse_ens.data.arrow import as_backend
from vse_ens.data.collections.base import LabelEdit
from vse_ens.data.io.write import defuse_table, table_writer, to_json
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError
from vse_ens.storage.atomic import replace_file

Format = Literal["parquet", "csv", "jsonl", "exiftool", "label-studio"]

_SCHEMA = pa.schema(
    [
        ("image", pa.large_string()),
        ("label", pa.large_string()),
        ("score", pa.float32()),
        ("confidence", pa.float32()),
        ("hit", pa.float32()),
        ("rank", pa.int32()),
    ]
)


@dataclass(frozen=True)
class ExportCounts:
    """Numbers of images and suggestions in a file."""

    images: int = 0
    """All images, including those without a suggestion."""
    images_with_suggestions: int = 0
    suggestions: int = 0


def format_of(path: str | Path) -> Format:
    """Return the format that the suffix of a file name stands for."""
    known: dict[str, Format] = {".parquet": "parquet", ".csv": "csv", ".jsonl": "jsonl"}
    suffix = Path(path).suffix
    if suffix not in known:
        raise ConfigError(
            f"{path} must end in {', '.join(known)}, or its format must be given: {', '.join(get_args(Format))}"
        )
    return known[suffix]


def write_suggestions(
    path: str | Path,
    images: Vocabulary,
    blocks: Iterable[SuggestionBlock],
    form: str,
    *,
    prefix: str = "",
    defuse_formulas: bool = False,
    progress: Callable[[int], None] | None = None,
) -> ExportCounts:
    """Write all blocks to a file, atomically; ``images`` are the ids of their image numbers.

    ``parquet``, ``csv`` and ``jsonl`` have the columns image, label, score, confidence, hit and rank, and can be read
    as pairs. ``exiftool`` is the input of ``exiftool -json+=FILE``, which adds keywords to files, without the images
    that have no suggestion. ``label-studio`` is a list of tasks with one prediction each, for a labeling interface with
    ``<Image name="image" value="$image"/>`` and ``<Choices name="labels" toName="image" choice="multiple">``. In these
    two, ``prefix`` before an image id makes it a path or URL. ``defuse_formulas`` puts an apostrophe before text in a
    ``csv`` file that a spreadsheet would run as a formula; a reader of the file must remove it again. ``progress`` is
    called with the number of finished images.
    """
    if form not in get_args(Format):
        raise ConfigError(f"unknown format {form!r} of suggestions; choose one of {', '.join(get_args(Format))}")
    if defuse_formulas and form != "csv":
        raise ConfigError(f"defuse_formulas is for the format csv, not {form}; leave it out")
    total = ExportCounts()
    with replace_file(Path(path)) as partial, _open(partial, form, prefix) as write:
        for block in blocks:
            table = _table(images, block)
            table = defuse_table(table) if defuse_formulas else table
            rows = _Rows(images.ids(block.images), (block.labels >= 0).sum(axis=1), table)
            write(rows)
            total = ExportCounts(
                total.images + len(rows.images),
                total.images_with_suggestions + int(np.count_nonzero(rows.counts)),
                total.suggestions + rows.table.num_rows,
            )
            if progress:
                progress(total.images)
    return total


def suggestion_frame(blocks: Iterable[SuggestionBlock], images: Vocabulary | None, backend: str) -> Any:
    """Return all suggestions as one frame: "arrow", "pandas" or "polars".

    Without ``images``, the column ``row`` has the numbers of the images.
    """
    schema = _SCHEMA if images is not None else _SCHEMA.set(0, pa.field("row", pa.int64()))
    return as_backend(pa.concat_tables([schema.empty_table(), *(_table(images, block) for block in blocks)]), backend)


class SuggestedEdits(dict[str, LabelEdit]):
    """The suggestions of each image as an edit."""

    def __init__(self) -> None:
        super().__init__()
        self.confidences: dict[str, dict[str, float]] = {}
        """The confidences of the labels of each edit; empty if the model has none."""
        self.found = 0
        """The number of suggestions, with those below the minimum confidence."""
        self.best = 0.0
        """The highest confidence of them."""


def label_edits(
    blocks: Iterable[SuggestionBlock], images: Vocabulary, progress: Callable[[int], None] | None = None
) -> SuggestedEdits:
    """Return the suggestions of each image as an edit; it is empty for an image without a suggestion."""
    edits = SuggestedEdits()
    for block in blocks:
        ids = images.ids(block.images)
        for image, row in zip(ids, block.labels, strict=True):
            edits[image] = LabelEdit(tuple(block.vocabulary.ids(row[row >= 0])))
        if block.confidences is not None:
            found = block.confidences[np.isfinite(block.scores)]
            edits.found += len(found)
            edits.best = max(edits.best, float(found.max(initial=0.0)))
            for image, row, kept in zip(ids, block.confidences, block.labels >= 0, strict=True):
                edits.confidences[image] = dict(zip(edits[image].add, row[kept].tolist(), strict=True))
        if progress:
            progress(len(edits))
    return edits


def _table(images: Vocabulary | None, block: SuggestionBlock) -> pa.Table:
    """Translate the numbers of a block to ids; confidence and hit are null if the model has none."""
    filled = block.labels >= 0
    row, _ = np.nonzero(filled)
    numbers = pa.array(block.images[row])
    confidences, hits = (
        pa.nulls(len(row), pa.float32()) if values is None else pa.array(values[filled])
        for values in (block.confidences, block.held_out_probabilities)
    )
    return pa.table(
        {
            **({"row": numbers} if images is None else {"image": images.arrow.take(numbers)}),
            "label": block.vocabulary.arrow.take(pa.array(block.labels[filled])),
            "score": pa.array(block.scores[filled]),
            "confidence": confidences,
            "hit": hits,
            "rank": pa.array((np.cumsum(filled, axis=1, dtype=np.int32))[filled]),
        }
    )


@dataclass(frozen=True)
class _Rows:
    """A block of suggestions by id; the table has one row per suggestion, grouped by image, best first."""

    images: list[str]
    """All images of the block, including those without a suggestion."""
    counts: NDArray[np.int64]
    """Number of suggestions per image."""
    table: pa.Table

    def by_image(self) -> Iterator[tuple[str, list[str], list[float | None]]]:
        """Yield each image with its labels and their confidences."""
        labels, confidences = self.table["label"].to_pylist(), self.table["confidence"].to_pylist()
        last = np.cumsum(self.counts)
        for image, start, stop in zip(self.images, (last - self.counts).tolist(), last.tolist(), strict=True):
            yield image, labels[start:stop], confidences[start:stop]


_Write = Callable[[_Rows], Any]


@contextmanager
def _open(path: Path, form: str, prefix: str) -> Iterator[_Write]:
    """Create a file and yield a function that appends the rows of a block to it."""
    if form in _LISTS:
        with _json_list(path) as add:
            yield lambda rows: add(_LISTS[form](rows, prefix))
    else:
        with table_writer(path, form, _SCHEMA) as write:
            yield lambda rows: write(rows.table)


def _exiftool(rows: _Rows, prefix: str) -> Iterator[dict[str, Any]]:
    return ({"SourceFile": f"{prefix}{image}", "Subject": labels} for image, labels, _ in rows.by_image() if labels)


def _label_studio(rows: _Rows, prefix: str) -> Iterator[dict[str, Any]]:
    return (
        {"data": {"image": f"{prefix}{image}"}, "predictions": _predictions(labels, confidences)}
        for image, labels, confidences in rows.by_image()
    )


_LISTS = {"exiftool": _exiftool, "label-studio": _label_studio}


def _predictions(labels: list[str], confidences: list[float | None]) -> list[dict[str, Any]]:
    if not labels:
        return []
    choices = {"id": "labels", "from_name": "labels", "to_name": "image", "type": "choices"}
    result = [{**choices, "value": {"choices": labels}}]
    prediction = {"model_version": f"vse-ens {__version__}", "result": result}
    given = [confidence for confidence in confidences if confidence is not None]
    # Label Studio sorts tasks by the score of the whole prediction.
    return [{**prediction, "score": sum(given) / len(given)} if given else prediction]


@contextmanager
def _json_list(path: Path) -> Iterator[Callable[[Iterable[dict[str, Any]]], None]]:
    """Write a JSON list object by object."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        separator = "[\n"

        def add(objects: Iterable[dict[str, Any]]) -> None:
            nonlocal separator
            for one in objects:
                file.write(f"{separator}{to_json(one)}")
                separator = ",\n"

        yield add
        file.write("[]\n" if separator == "[\n" else "\n]\n")
