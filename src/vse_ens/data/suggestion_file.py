"""Suggestions to a file, block by block: memory does not follow the number of images."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from vse_ens.data.whole_file import written_whole
from vse_ens.errors import ConfigError

_SCHEMA = pa.schema(
    {"image": pa.large_string(), "label": pa.large_string(), "score": pa.float32(), "confidence": pa.float32()}
)
_SUFFIXES = (".parquet", ".csv", ".jsonl")


class Suggested(NamedTuple):
    """A label for an image: a row of the file."""

    image: str
    label: str
    score: float
    confidence: float | None


Write = Callable[[Sequence[Suggested]], None]


def check_name(path: Path) -> None:
    """Refuse a file name that does not say what to write, before anything is computed."""
    if path.suffix not in _SUFFIXES:
        raise ConfigError(f"{path} must end in one of {', '.join(_SUFFIXES)}")


@contextmanager
def suggestion_file(path: Path) -> Iterator[Write]:
    """Give a function that writes rows; the file appears under its name when the block ends well."""
    check_name(path)
    with written_whole(path) as (partial,), _WRITERS[path.suffix](partial) as write:
        yield write


@contextmanager
def _parquet(path: Path) -> Iterator[Write]:
    with pq.ParquetWriter(path, _SCHEMA) as file:
        yield lambda rows: file.write_table(pa.Table.from_pylist([row._asdict() for row in rows], schema=_SCHEMA))


@contextmanager
def _csv(path: Path) -> Iterator[Write]:
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(Suggested._fields)
        yield lambda rows: lines.writerows(
            (row.image, row.label, _short(row.score), _short(row.confidence)) for row in rows
        )


@contextmanager
def _json_lines(path: Path) -> Iterator[Write]:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        yield lambda rows: file.writelines(json.dumps(row._asdict(), ensure_ascii=False) + "\n" for row in rows)


_WRITERS = {".parquet": _parquet, ".csv": _csv, ".jsonl": _json_lines}


def _short(number: float | None) -> str:
    """What float32 knows of a number."""
    return "" if number is None else f"{number:.6g}"
