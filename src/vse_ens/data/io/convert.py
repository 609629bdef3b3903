"""Write pairs in a format of another program: the table of formats, and `write_as`."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from vse_ens.data.annotations import Annotations
from vse_ens.data.collections import lenskit, movielens, recbole, xmc
from vse_ens.data.io.write import write_pairs
from vse_ens.errors import ConfigError
from vse_ens.storage.atomic import replace_file


def _parquet(path: Path, data: Annotations) -> list[Path]:
    write_pairs(path, data)
    return [path]


def _csv(path: Path, data: Annotations) -> list[Path]:
    separator = "\t" if path.suffix == ".tsv" else ","
    with replace_file(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        # All quoted: Python would leave a carriage return outside quotes, which ends a line.
        writer = csv.writer(file, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow(("image", "label"))
        writer.writerows(_pairs(data))
    return [path]


def _jsonl(path: Path, data: Annotations) -> list[Path]:
    with replace_file(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(
            json.dumps({"image": image, "label": label}, ensure_ascii=False) + "\n" for image, label in _pairs(data)
        )
    return [path]


def _pairs(data: Annotations) -> Iterable[tuple[str, str]]:
    return ((image, label) for image in data.images for label in data.labels_of(image))


_WRITERS: dict[str, Callable[[Path, Annotations], list[Path]]] = {
    "parquet": _parquet,
    "csv": _csv,
    "tsv": _csv,
    "jsonl": _jsonl,
    "recbole": recbole.write,
    "lenskit": lenskit.write,
    "movielens": movielens.write,
    "xmc": xmc.write,
}
_SPLIT_WRITERS = {"recbole": recbole.write, "xmc": xmc.write}
_SUFFIXES = {".parquet": "parquet", ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".inter": "recbole"}
_FILES = ("parquet", "csv", "tsv", "jsonl")


def format_of(path: Path, requested: str | None = None) -> str:
    """Return the format to write: the requested one, or the one that the suffix of a file stands for."""
    if requested is not None and requested not in _WRITERS:
        raise ConfigError(f"to must be one of {', '.join(_WRITERS)}, got {requested!r}")
    form = requested or _SUFFIXES.get(path.suffix)
    if form is None:
        raise ConfigError(f"{path} has none of the suffixes {', '.join(_SUFFIXES)}; name the format to write to")
    if form in _FILES and path.suffix != f".{form}":
        raise ConfigError(f"{path} must end in .{form}")
    return form


def write_as(
    path: str | Path,
    data: Annotations,
    form: str | None = None,
    *,
    test: Annotations | None = None,
) -> list[Path]:
    """Write pairs in a format, and return the files: ``form`` is one of parquet, csv, tsv, jsonl, recbole and so on.

    Without ``form``, the suffix selects it. ``test`` are held-out pairs, which recbole and xmc have files for.
    """
    path = Path(path)
    form = format_of(path, form)
    if test is None:
        return _WRITERS[form](path, data)
    if form not in _SPLIT_WRITERS:
        raise ConfigError(f"test is for {' and '.join(_SPLIT_WRITERS)}, not {form}; convert the held-out pairs alone")
    return _SPLIT_WRITERS[form](path, data, test)
