"""The names of Open Images' label ids."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from vse_ens.data.formats import recognise
from vse_ens.data.openimages_files import DOWNLOAD
from vse_ens.data.published import Files, as_ids, counted, named
from vse_ens.errors import DataError

# The latest version first, all labels before the boxable ones.
_FILES = (
    "oidv7-class-descriptions.csv",
    "oidv6-class-descriptions.csv",
    "class-descriptions.csv",
    "dict.csv",
    "oidv7-class-descriptions-boxable.csv",
    "oidv6-class-descriptions-boxable.csv",
    "class-descriptions-boxable.csv",
)


class LabelNames:
    """Ids of labels in, names out; what has no name keeps its id."""

    def __init__(self, names: dict[str, str], note: str = "") -> None:
        self._ids, self._names = as_ids(list(names)), as_ids(list(names.values()))
        self._note = note
        self._nameless: set[str] = set()

    def of(self, labels: pa.LargeStringArray) -> pa.LargeStringArray:
        """The name of each id."""
        if not len(self._ids):
            return labels
        places = pc.index_in(labels, value_set=self._ids)
        if places.null_count:
            self._nameless.update(labels.filter(places.is_null()).unique().to_pylist())
        return pc.coalesce(self._names.take(places), labels)

    def notes(self) -> list[str]:
        """Where the names are from, and how many labels have none."""
        nameless = counted(len(self._nameless), "label has", "labels have")
        return ([self._note] if self._note else []) + ([f"{nameless} no name there"] if self._nameless else [])


def find_names(path: Path, files: Files, asked: bool | None) -> LabelNames:
    """The names in the best of ``files``; none where ids are ``asked`` for, or names are not and there is no file."""
    if asked is False:
        return LabelNames({})
    for name in _FILES:
        found = named(files, re.compile(re.escape(name)))
        if found:
            return LabelNames(read_names(found), f"labels are named as in {found.name}")
    if asked:
        raise DataError(f"{path} has no class-descriptions.csv or dict.csv to name labels by; {DOWNLOAD}")
    return LabelNames({}, "labels are ids: there is no class-descriptions.csv or dict.csv to name them by")


def read_names(path: Path) -> dict[str, str]:
    """The name of every id in a class description file; a name that several ids share is followed by the id."""
    names: dict[str, str] = {}
    with recognise(path).open() as stream:
        rows = csv.reader(io.TextIOWrapper(stream, encoding="utf-8-sig", newline=""), strict=True)
        try:
            for row in rows:
                if rows.line_num == 1 and row == ["LabelName", "DisplayName"]:
                    continue
                if len(row) != 2 or not row[0].strip():
                    shown = ",".join(row)[:60]
                    raise DataError(f"{path}, line {rows.line_num} has {shown!r} where an id and a name should be")
                one, name = row[0].strip(), row[1].strip()
                if names.setdefault(one, name) != name:
                    raise DataError(f"{path}, line {rows.line_num} names {one} {name!r}, but before {names[one]!r}")
        except (csv.Error, UnicodeDecodeError) as error:
            raise DataError(f"{path} cannot be read after line {rows.line_num}: {error}; fetch it again") from None
    shared = Counter(names.values())
    return {one: name if shared[name] == 1 else f"{name} [{one}]" for one, name in names.items() if name}
