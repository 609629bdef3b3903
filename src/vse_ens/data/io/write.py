"""Write pairs: to Parquet files in RAM that does not grow with their number, and in other formats with `write_as`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from vse_ens.data.annotations import Annotations
from vse_ens.data.arrow import as_arrow
from vse_ens.data.collections.detect import Format, PluginError, find_format, plugins
from vse_ens.errors import ConfigError, VseError
from vse_ens.storage.atomic import replace_file, replace_files

_SCHEMA = pa.schema({"image": pa.large_string(), "label": pa.large_string()})
# Pairs per row group, approximately.
_GROUP_PAIRS = 1 << 20
_BLOCK_ROWS = 1_000  # rows that become text at a time
# A cell that starts with one of these may be run: = and @ start a formula or function, + and - too in most programs,
# and a tab or carriage return is dropped first.
_STARTS = "=+-@\t\r"


def write_parquet(files: Mapping[Path, Annotations]) -> None:
    """Write several sets of pairs as sorted ``image``, ``label`` columns: all files or none.

    The same pairs give the same bytes.
    """
    with replace_files(*files) as partials:
        for partial, data in zip(partials, files.values(), strict=True):
            with pq.ParquetWriter(partial, _SCHEMA) as file:
                for group in _groups(data):
                    file.write_table(group)


def check_suffix(path: Path, *suffixes: str) -> None:
    """Raise unless a file name has one of the suffixes."""
    if path.suffix not in suffixes:
        raise ConfigError(f"{path} must end in {'one of ' * (len(suffixes) > 1)}{', '.join(suffixes)}")


@contextmanager
def table_writer(path: Path, form: str, schema: pa.Schema) -> Iterator[Callable[[pa.Table], Any]]:
    """Create a file of the format parquet, csv or jsonl, and yield a function that appends a table to it."""
    if form == "parquet":
        with pq.ParquetWriter(path, schema) as parquet:
            yield parquet.write_table
    elif form == "csv":
        with pa_csv.CSVWriter(path, schema) as lines:
            yield lines.write_table
    else:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            yield lambda table: file.writelines(f"{to_json(row)}\n" for row in table.to_pylist())


def to_json(value: dict[str, Any]) -> str:
    """Return a row as JSON in one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def text_lines(
    form: str, names: Sequence[str], rows: Iterable[Sequence[str]], *, defuse_formulas: bool = False
) -> Iterator[str]:
    """Yield rows of text as CSV with a header, or as JSON lines, in blocks of lines.

    ``defuse_formulas`` puts an apostrophe before text in CSV that a spreadsheet would run as a formula.
    """
    if form == "csv":
        yield f"{','.join(names)}\n"
    left = iter(rows)
    while some := list(islice(left, _BLOCK_ROWS)):
        text = io.StringIO()
        if form == "csv":
            safe = (map(defuse, row) for row in some) if defuse_formulas else some
            csv.writer(text, lineterminator="\n").writerows(safe)
        else:
            text.writelines(f"{to_json(dict(zip(names, row, strict=True)))}\n" for row in some)
        yield text.getvalue()


def _groups(data: Annotations) -> Iterator[pa.Table]:
    """Yield the pairs of as many whole images as make about a row group."""
    first = 0
    while first < len(data.images):
        end = int(np.searchsorted(data.indptr, data.indptr[first] + _GROUP_PAIRS, side="right")) - 1
        end = min(max(end, first + 1), len(data.images))
        images = np.repeat(np.arange(first, end), data.labels_per_image[first:end])
        labels = data.indices[data.indptr[first] : data.indptr[end]]
        yield pa.table(
            {"image": data.images.arrow.take(as_arrow(images)), "label": data.labels.arrow.take(as_arrow(labels))}
        )
        first = end


def _csv(path: Path, data: Annotations) -> None:
    separator = "\t" if path.suffix == ".tsv" else ","
    with replace_file(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        # All quoted: Python would leave a carriage return outside quotes, which ends a line.
        writer = csv.writer(file, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow(("image", "label"))
        writer.writerows((image, label) for image in data.images for label in data.labels_of(image))


def _jsonl(path: Path, data: Annotations) -> None:
    with replace_file(path) as partial, table_writer(partial, "jsonl", _SCHEMA) as write:
        for group in _groups(data):
            write(group)


_TABLES: dict[str, Callable[[Path, Annotations], None]] = {
    "parquet": lambda path, data: write_parquet({path: data}),
    "csv": _csv,
    "tsv": _csv,
    "jsonl": _jsonl,
}
_SUFFIXES = {**{f".{name}": name for name in _TABLES}, ".inter": "recbole"}


def format_of(path: Path, requested: str | None = None) -> str:
    """Return the format to write: the requested one, or the one that the suffix of a file stands for."""
    form = requested or _SUFFIXES.get(path.suffix)
    if form is None:
        raise ConfigError(f"{path} has none of the suffixes {', '.join(_SUFFIXES)}; name the format to write to")
    if form in _TABLES:
        check_suffix(path, f".{form}")
    else:
        _plugin_writer(form)
    return form


def write_as(
    path: str | Path,
    data: Annotations,
    form: str | None = None,
    *,
    test: Annotations | None = None,
) -> list[Path]:
    """Write pairs in a format, and return the files: ``form`` is parquet, csv, tsv, jsonl or the name of a plug-in.

    Without ``form``, the suffix selects it. ``test`` are held-out pairs, which some plug-ins have files for.
    """
    path = Path(path)
    form = format_of(path, form)
    if form not in _TABLES:
        return _plugin_writer(form)(path, data, test)
    if test is not None:
        raise ConfigError(f"{form} has no file for held-out pairs; convert them alone")
    _TABLES[form](path, data)
    return [path]


def _plugin_writer(name: str) -> Callable[[Path, Annotations, Annotations | None], list[Path]]:
    """Return the function of a plug-in that writes pairs; raise if there is none."""
    entry = find_format(name, tuple(_TABLES))
    write = getattr(entry.load(), "write", None)
    if write is None:
        known = ", ".join([*_TABLES, *(plugin.name for plugin in plugins() if _can_write(plugin))])
        raise ConfigError(f"the format {name} is only read; write one of {known}")

    def guarded(path: Path, data: Annotations, test: Annotations | None) -> list[Path]:
        with entry.guard(VseError):
            return list(write(path, data, test))

    return guarded


def _can_write(plugin: Format) -> bool:
    with suppress(PluginError):
        return hasattr(plugin.load(), "write")
    return False


def write_csv(
    path: Path, header: Sequence[str], rows: Iterable[Sequence[object]], *, defuse_formulas: bool = False
) -> None:
    """Write a table for people, atomically; ``defuse_formulas`` disarms text that a spreadsheet would run."""
    safe = defuse if defuse_formulas else str
    with replace_file(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(header)
        lines.writerows([safe(value) if isinstance(value, str) else value for value in row] for row in rows)


def defuse(text: str) -> str:
    """Return a text with an apostrophe before it if a spreadsheet would run it."""
    return f"'{text}" if text[:1] and text[0] in _STARTS else text


def defuse_table(table: pa.Table) -> pa.Table:
    """Return a table whose text columns are defused; numbers are left as they are."""
    for index, field in enumerate(table.schema):
        if pa.types.is_large_string(field.type):
            texts = table.column(index)
            first = pc.utf8_slice_codeunits(texts, 0, 1)
            runs = pc.is_in(first, pa.array(list(_STARTS), field.type))
            quoted = pc.binary_join_element_wise(pa.scalar("'", field.type), texts, pa.scalar("", field.type))
            table = table.set_column(index, field, pc.if_else(runs, quoted, texts))
    return table
