"""Write accepted pairs to a file that every command reads, each with the person, the time and the model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from vse_ens.data.feedback.store import Event, check_integrity, in_force, read_connection
from vse_ens.data.io.formulas import defuse_table
from vse_ens.errors import ConfigError
from vse_ens.storage.atomic import replace_file

_COLUMNS = ("image", "label", "by", "at", "model")
_SCHEMA = pa.schema([(name, pa.large_string()) for name in _COLUMNS])
_SUFFIXES = (".csv", ".parquet", ".jsonl")
# Events held at a time.
_BLOCK = 1 << 16


def check_name(path: Path) -> None:
    """Raise if the suffix of a file name is not one of those that can be written."""
    if path.suffix not in _SUFFIXES:
        raise ConfigError(f"{path} must end in one of {', '.join(_SUFFIXES)}")


def export_accepted(feedback: str | Path, out: str | Path, *, defuse_formulas: bool = False) -> int:
    """Write the accepted pairs in force, by image and label, and return their number.

    ``defuse_formulas`` puts an apostrophe before text in a .csv file that a spreadsheet would run as a formula; a
    reader of the file must remove it again.
    """
    source, target = Path(feedback), Path(out)
    check_name(target)
    if defuse_formulas and target.suffix != ".csv":
        raise ConfigError(f"defuse_formulas is for .csv files, not {target}; leave it out")
    written = 0
    with read_connection(source) as file, replace_file(target) as partial, _OPENERS[target.suffix](partial) as write:
        check_integrity(file, source, "integrity_check")
        events = in_force(file, "accept")
        while block := list(islice(events, _BLOCK)):
            table = _table(block)
            write(defuse_table(table) if defuse_formulas else table)
            written += len(block)
    return written


def _table(events: list[Event]) -> pa.Table:
    columns = [pa.array([getattr(event, name) for event in events], pa.large_string()) for name in _COLUMNS]
    return pa.table(columns, schema=_SCHEMA)


Write = Callable[[pa.Table], Any]


@contextmanager
def _parquet(path: Path) -> Iterator[Write]:
    with pq.ParquetWriter(path, _SCHEMA) as writer:
        yield writer.write_table


@contextmanager
def _csv(path: Path) -> Iterator[Write]:
    with pa_csv.CSVWriter(path, _SCHEMA) as writer:
        yield writer.write_table


@contextmanager
def _jsonl(path: Path) -> Iterator[Write]:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        yield lambda table: file.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in table.to_pylist())


_OPENERS = {".csv": _csv, ".parquet": _parquet, ".jsonl": _jsonl}
