"""Suggestions out to a file, block by block: however many images there are, only one block is held."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from vse_ens import __version__
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
        ("rank", pa.int32()),
    ]
)


@dataclass(frozen=True)
class Block:
    """The suggestions for some images, by id; a row of the table for each suggestion, image by image, best first."""

    images: list[str]
    """All images of the block, those without a suggestion too."""
    counts: NDArray[np.int64]
    """How many suggestions each of them has."""
    table: pa.Table

    @classmethod
    def of(
        cls,
        images: Vocabulary,
        labels: Vocabulary,
        image_numbers: NDArray[np.int64],
        label_numbers: NDArray[np.int32],
        scores: NDArray[np.float32],
        confidences: NDArray[np.float32] | None = None,
    ) -> Block:
        """From images x top numbers, -1 where there is no label; without ``confidences`` that column is null."""
        given = label_numbers >= 0
        row, _ = np.nonzero(given)
        confident = pa.nulls(len(row), pa.float32()) if confidences is None else pa.array(confidences[given])
        table = pa.table(
            [
                images.arrow.take(pa.array(image_numbers[row])),
                labels.arrow.take(pa.array(label_numbers[given])),
                pa.array(scores[given]),
                confident,
                pa.array((np.cumsum(given, axis=1, dtype=np.int32))[given]),
            ],
            schema=_SCHEMA,
        )
        return cls(images.ids(image_numbers), given.sum(axis=1), table)

    def by_image(self) -> Iterator[tuple[str, list[str], list[float | None]]]:
        """Every image with its labels and their confidences."""
        labels, confidences = self.table["label"].to_pylist(), self.table["confidence"].to_pylist()
        last = np.cumsum(self.counts)
        for image, start, stop in zip(self.images, (last - self.counts).tolist(), last.tolist(), strict=True):
            yield image, labels[start:stop], confidences[start:stop]


@dataclass(frozen=True)
class Written:
    """What a file of suggestions holds."""

    images: int = 0
    """All that were asked for."""
    images_with_suggestions: int = 0
    suggestions: int = 0

    def with_block(self, block: Block) -> Written:
        """The same, and a block."""
        return Written(
            self.images + len(block.images),
            self.images_with_suggestions + int(np.count_nonzero(block.counts)),
            self.suggestions + block.table.num_rows,
        )


def format_of(path: str | Path) -> Format:
    """The format that the end of a file name tells."""
    known: dict[str, Format] = {".parquet": "parquet", ".csv": "csv", ".jsonl": "jsonl"}
    suffix = Path(path).suffix
    if suffix not in known:
        raise ConfigError(
            f"{path} must end in {', '.join(known)}, or its format be told: {', '.join(get_args(Format))}"
        )
    return known[suffix]


def write_suggestions(
    path: str | Path,
    blocks: Iterable[Block],
    form: str,
    *,
    prefix: str = "",
    progress: Callable[[int], None] | None = None,
) -> Written:
    """Write all blocks, whole or not at all.

    ``parquet``, ``csv`` and ``jsonl`` have the columns image, label, score, confidence and rank, and can be read again
    as pairs. ``exiftool`` is what ``exiftool -json+=FILE`` adds to the keywords of files: a JSON list of objects with a
    SourceFile and a list Subject; images without a suggestion have nothing to add and are not in it. ``label-studio``
    is a JSON list of tasks, each with the suggestions as one prediction, for a labelling interface with
    ``<Image name="image" value="$image"/>`` and ``<Choices name="labels" toName="image" choice="multiple">``. For these
    two, ``prefix`` is what makes an image id a path or an address. ``progress`` hears how many images are done.
    """
    if form not in get_args(Format):
        raise ConfigError(f"unknown format {form!r} of suggestions; choose one of {', '.join(get_args(Format))}")
    written = Written()
    with replace_file(Path(path)) as partial, _OPENERS[form](partial, prefix) as write:
        for block in blocks:
            write(block)
            written = written.with_block(block)
            if progress:
                progress(written.images)
    return written


Write = Callable[[Block], Any]


@contextmanager
def _parquet(path: Path, _prefix: str) -> Iterator[Write]:
    with pq.ParquetWriter(path, _SCHEMA) as writer:
        yield lambda block: writer.write_table(block.table)


@contextmanager
def _csv(path: Path, _prefix: str) -> Iterator[Write]:
    with pa_csv.CSVWriter(path, _SCHEMA) as writer:
        yield lambda block: writer.write_table(block.table)


@contextmanager
def _jsonl(path: Path, _prefix: str) -> Iterator[Write]:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        yield lambda block: file.writelines(f"{_json(row)}\n" for row in block.table.to_pylist())


@contextmanager
def _exiftool(path: Path, prefix: str) -> Iterator[Write]:
    with _json_list(path) as add:
        yield lambda block: add(
            {"SourceFile": f"{prefix}{image}", "Subject": labels} for image, labels, _ in block.by_image() if labels
        )


@contextmanager
def _label_studio(path: Path, prefix: str) -> Iterator[Write]:
    with _json_list(path) as add:
        yield lambda block: add(
            {"data": {"image": f"{prefix}{image}"}, "predictions": _predictions(labels, confidences)}
            for image, labels, confidences in block.by_image()
        )


def _predictions(labels: list[str], confidences: list[float | None]) -> list[dict[str, Any]]:
    if not labels:
        return []
    choices = {"id": "labels", "from_name": "labels", "to_name": "image", "type": "choices"}
    result = [{**choices, "value": {"choices": labels}}]
    prediction = {"model_version": f"vse-ens {__version__}", "result": result}
    sure = [confidence for confidence in confidences if confidence is not None]
    # One score for the whole prediction, by which Label Studio sorts its tasks.
    return [{**prediction, "score": sum(sure) / len(sure)} if sure else prediction]


@contextmanager
def _json_list(path: Path) -> Iterator[Callable[[Iterable[dict[str, Any]]], None]]:
    """A JSON list that is never in memory as a whole."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        before = "[\n"

        def add(objects: Iterable[dict[str, Any]]) -> None:
            nonlocal before
            for one in objects:
                file.write(f"{before}{_json(one)}")
                before = ",\n"

        yield add
        file.write("[]\n" if before == "[\n" else "\n]\n")


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


_OPENERS: dict[str, Any] = {
    "parquet": _parquet,
    "csv": _csv,
    "jsonl": _jsonl,
    "exiftool": _exiftool,
    "label-studio": _label_studio,
}
