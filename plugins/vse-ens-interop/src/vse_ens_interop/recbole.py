"""RecBole's atomic files: text with tabs whose header has a type after every name, such as ``user_id:token``.

In ``NAME.inter`` the users are images and the items labels, unless other fields are named. In ``NAME.item`` and
``NAME.user`` the labels are the field of the type ``token_seq``, such as the genres of a film.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import NamedTuple

from vse_ens.data.annotations import Annotations
from vse_ens.data.collections.base import OpenOptions
from vse_ens.data.collections.detect import Glance
from vse_ens.data.io.columns import ColumnChoice, choose_columns
from vse_ens.data.io.dialect import Dialect
from vse_ens.data.io.formats import PairsFile
from vse_ens.data.io.source import Source
from vse_ens.data.io.wide import WideRows
from vse_ens.errors import ConfigError, DataError
from vse_ens.storage.atomic import replace_file, replace_files
from vse_ens_interop.rated_text import RatedRows, TableCollection, only_file

SUFFIXES = (".inter", ".item", ".user")
_TYPES = ("token", "token_seq", "float", "float_seq")
_FIELD = re.compile(r"[^\t]*?:(?:token|float)(?:_seq)?")


def detect(glance: Glance) -> bool:
    """Return whether a file has the suffix and the header, or a folder has one such file of interactions."""
    if glance.is_folder:
        return any(_is_inter(name) for name in glance.names)
    return glance.path.suffix in SUFFIXES and _is_header(glance.head)


def open(path: Path, options: OpenOptions) -> RecBole:  # noqa: A001  # the interface of formats
    """Return the table of an atomic file, or of the only file of interactions in a folder."""
    return RecBole(path, only_file(path, _is_inter, "no .inter file"), options)


def _is_inter(name: str) -> bool:
    return name.endswith(".inter") and "/" not in name


def _is_header(head: bytes) -> bool:
    line = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].rstrip(b"\r").decode(errors="replace")
    return all(_FIELD.fullmatch(field.strip('"')) for field in line.split("\t"))


class _Field(NamedTuple):
    name: str
    kind: str


class RecBole(TableCollection):
    """The pairs of an atomic file."""

    format = "recbole"

    def __init__(self, path: Path, file: Path, options: OpenOptions) -> None:
        super().__init__(path)
        self._file = PairsFile(file, "tsv", gzipped=False)
        self._options = options
        if len(options.label_columns) > 1:
            raise ConfigError(f"{file} takes one label column, got {len(options.label_columns)}")

    def source(self) -> Source:
        """Return the rows."""
        fields = self._fields()
        columns = self._choose(fields)
        for role, number in (("images", columns.image), ("labels", columns.label)):
            if not fields[number].kind.startswith("token") or (role == "images" and fields[number].kind != "token"):
                kind, name = fields[number].kind, fields[number].name
                raise DataError(f"{self._file.path} has {kind} in {name!r}, which cannot be {role}; name another field")
        rating = next((number for number, field in enumerate(fields) if field == _Field("rating", "float")), None)
        if rating is None and self._options.min_rating is not None:
            raise ConfigError(f"min_rating needs a field rating:float, which {self._file.path} has not; leave it out")
        dialect = Dialect("\t", '"', True, columns, columns.notes)
        rows = RatedRows(self._file, dialect, rating, self._options.min_rating)
        return (
            WideRows(rows, "wide", " ") if fields[columns.label].kind == "token_seq" else WideRows(rows, "long", None)
        )

    def _fields(self) -> list[_Field]:
        head, _ = self._file.head()
        if not head.strip():
            raise DataError(f"{self._file.path} is empty")
        line = head.removeprefix(b"\xef\xbb\xbf").decode(errors="replace").splitlines()[0]
        fields = []
        for text in next(csv.reader([line], delimiter="\t"), []):
            name, colon, kind = text.rpartition(":")
            if not colon or kind not in _TYPES:
                raise DataError(
                    f"{self._file.path}, line 1 has {text[:40]!r} where a field of RecBole such as user_id:token "
                    f"should be; add its type, one of {', '.join(_TYPES)}"
                )
            fields.append(_Field(name, kind))
        return fields

    def _choose(self, fields: list[_Field]) -> ColumnChoice:
        names = [field.name for field in fields]
        image = self._options.image_column
        label = next(iter(self._options.label_columns), None)
        if self._file.path.suffix == ".inter":
            if image is None and "user_id" in names and label != "user_id":
                image = "user_id"
            if label is None and "item_id" in names and image != "item_id":
                label = "item_id"
        elif label is None:
            lists = [field.name for field in fields if field.kind == "token_seq"]
            if len(lists) != 1:
                found = " and ".join(lists) or "no field"
                raise DataError(f"{self._file.path} has {found} of the type token_seq; name the column of labels")
            label = lists[0]
        tokens = [number for number, field in enumerate(fields) if field.kind == "token"]
        if image is None:
            image = next((number for number in tokens if label not in (number, names[number])), None)
        if label is None:
            label = next((number for number in tokens if image not in (number, names[number])), None)
        if image is None or label is None:
            raise DataError(f"{self._file.path} has fewer than two fields of the type token; name the fields")
        return choose_columns(str(self._file.path), names, image, label)


def write(path: Path, data: Annotations, test: Annotations | None = None) -> list[Path]:
    """Write a file ``NAME.inter``, or a folder NAME with it, or with ``NAME.train.inter`` and ``NAME.test.inter``."""
    if path.suffix == ".inter":
        if test is not None:
            raise ConfigError(f"held-out pairs need a second file, so {path} must be a folder, without .inter")
        with replace_file(path) as partial:
            _write(partial, data)
        return [path]
    parts = {"": data} if test is None else {".train": data, ".test": test}
    path.mkdir(parents=True, exist_ok=True)
    files = [path / f"{path.name}{part}.inter" for part in parts]
    with replace_files(*files) as partials:
        for partial, part in zip(partials, parts.values(), strict=True):
            _write(partial, part)
    return files


def _write(path: Path, data: Annotations) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        # RecBole reads with pandas, which takes quotes around a field with a tab, a quote or a line end.
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["user_id:token", "item_id:token"])
        for image in data.images:
            writer.writerows((image, label) for label in data.labels_of(image))
