"""LensKit data sets: a folder with ``schema.json``, a Parquet file per kind of entity, and one of interactions.

Users are images and items labels, unless other entities are named.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vse_ens.data.annotations import Annotations
from vse_ens.data.arrow import as_arrow, as_numpy
from vse_ens.data.collections.base import OpenOptions
from vse_ens.data.collections.detect import Glance
from vse_ens.data.collections.files import is_file, read_bytes
from vse_ens.data.io.columns import to_ids
from vse_ens.data.io.formats import PairsFile
from vse_ens.data.io.parquet import open_parquet
from vse_ens.data.io.source import BATCH_ROWS, Batch, Source
from vse_ens.errors import ConfigError, DataError
from vse_ens.storage.atomic import replace_files
from vse_ens_interop.rated_text import TableCollection

_SCHEMA = "schema.json"
_MAX_SCHEMA = 1 << 24
_VERSION = "2025.3"
_NAME = "interaction"


def detect(glance: Glance) -> bool:
    """Return whether a folder has the schema of a data set."""
    if _SCHEMA not in glance.names:
        return False
    try:
        schema = _read_schema(glance.path)
    except DataError:
        return False
    return "entities" in schema and "relationships" in schema


def open(path: Path, options: OpenOptions) -> LensKit:  # noqa: A001  # the interface of formats
    """Return the data set of a folder, given by the folder or by its schema.json."""
    folder = path.parent if path.name == _SCHEMA else path
    if not is_file(folder / _SCHEMA):
        raise DataError(f"{path} has no {_SCHEMA}; name the folder of a LensKit data set")
    return LensKit(folder, options)


class _Role(NamedTuple):
    """A column of interactions: its name in them, and the kind of entity that its numbers count."""

    name: str
    entity: str


class LensKit(TableCollection):
    """The interactions of a data set."""

    format = "lenskit"

    def __init__(self, path: Path, options: OpenOptions) -> None:
        super().__init__(path)
        self._options = options

    def source(self) -> Source:
        """Return the rows of the default interactions."""
        schema = _read_schema(self.path)
        try:
            relations = schema["relationships"]
            name = schema.get("default_interaction") or next(
                name for name, one in relations.items() if one.get("interaction")
            )
            roles = [_Role(role, entity or role) for role, entity in relations[name]["entities"].items()]
        except (KeyError, TypeError, AttributeError, StopIteration):
            raise DataError(
                f"{self.path / _SCHEMA} describes no interactions; check that it is a LensKit data set"
            ) from None
        if len(roles) < 2 or not all(isinstance(text, str) for role in roles for text in (name, *role)):
            raise DataError(f"{self.path / _SCHEMA} has interactions of fewer than two entities")
        labels = self._options.label_columns
        image = self._role(roles, self._options.image_column, "user", 0, str(labels[0]) if labels else None)
        label = self._role(roles, labels[0] if labels else None, "item", 1, image.name)
        if image == label:
            raise ConfigError(f"image and label are both the entity {image.name!r} of {self.path}; name two")
        return _Interactions(self.path, name, image, label, self._options.min_rating)

    def _role(self, roles: list[_Role], asked: object, usual: str, position: int, taken: str | None) -> _Role:
        wanted = usual if asked is None else asked
        for role in roles:
            if wanted in (role.name, role.entity) and (asked is not None or role.name != taken):
                return role
        if asked is not None:
            names = ", ".join(role.name for role in roles)
            raise DataError(f"{self.path} has no entity {asked!r}; it has {names}")
        free = [role for role in roles if role.name != taken]
        return free[min(position, len(free) - 1)]


class _Interactions:
    unit = "row"

    def __init__(self, folder: Path, name: str, image: _Role, label: _Role, minimum: float | None) -> None:
        self._file = _parquet(folder, name)
        self.name = str(self._file.path)
        self._ids = [_entity_ids(folder, role.entity) for role in (image, label)]
        self._columns = [f"{role.name}_num" for role in (image, label)]
        self._minimum = minimum
        self.notes: Sequence[str] = ()
        with open_parquet(self._file) as parquet:
            names = parquet.schema_arrow.names
            self.expected_rows = parquet.metadata.num_rows
        for column in self._columns:
            if names.count(column) != 1:
                raise DataError(f"{self.name} has no column {column!r}, which {_SCHEMA} says it has")
        if minimum is not None and "rating" not in names:
            raise ConfigError(f"min_rating needs a column rating, which {self.name} has not; leave it out")
        self._has_rating = "rating" in names

    def batches(self) -> Iterator[Batch]:
        """Yield the rows that count, in order."""
        rows = kept = 0
        columns = [*self._columns, *(["rating"] if self._minimum is not None else [])]
        with open_parquet(self._file) as parquet:
            for batch in parquet.iter_batches(BATCH_ROWS, columns=columns, use_threads=False):
                table = pa.Table.from_batches([batch])
                rows += table.num_rows
                if self._minimum is not None:
                    high = _numbers(table["rating"], self.name, "rating", pa.float64()) >= self._minimum
                    table = table.take(as_arrow(np.flatnonzero(high)))
                kept += table.num_rows
                images, labels = (
                    self._named(table[column], column, ids)
                    for column, ids in zip(self._columns, self._ids, strict=True)
                )
                yield Batch(images, labels)
        if rows and not kept:
            raise DataError(f"{self.name} has no rating of {self._minimum:g} or more; set a lower min_rating")
        if self._minimum is not None:
            self.notes = [f"took {kept:,} of {rows:,} rows as pairs: those with a rating of {self._minimum:g} or more"]
        elif self._has_rating:
            self.notes = ["took every row as a pair, whatever its rating; set min_rating to take the higher ones only"]

    def line_numbers(self, rows: Sequence[int]) -> list[int]:
        """Return ``rows`` counted from 1."""
        return [row + 1 for row in rows]

    def _named(self, column: pa.ChunkedArray, name: str, ids: pa.Array) -> pa.Array:
        numbers = _numbers(column, self.name, name, pa.int64())
        if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < len(ids):
            raise DataError(f"{self.name} has a number in {name!r} that no entity has; write the data set again")
        return ids.take(as_arrow(numbers))


def _numbers(column: pa.ChunkedArray, source: str, name: str, kind: pa.DataType) -> Any:
    try:
        numbers = column.combine_chunks().cast(kind)
    except pa.ArrowException:
        raise DataError(f"column {name!r} of {source} holds {column.type}, not numbers; write it again") from None
    if numbers.null_count:
        raise DataError(f"column {name!r} of {source} has empty fields; write the data set again")
    return as_numpy(numbers)


def _entity_ids(folder: Path, entity: str) -> pa.Array:
    file = _parquet(folder, entity)
    column = f"{entity}_id"
    with open_parquet(file) as parquet:
        if parquet.schema_arrow.names.count(column) != 1:
            raise DataError(f"{file.path} has no column {column!r}; write the data set again")
        ids = parquet.read([column])[column].combine_chunks()
    return to_ids(ids, str(file.path), column)


def _parquet(folder: Path, name: str) -> PairsFile:
    path = folder / f"{name}.parquet"
    if "/" in name or "\\" in name or not is_file(path):
        raise DataError(f"{folder} has no {name[:80]!r}.parquet, which {_SCHEMA} names; copy the whole folder")
    return PairsFile(path, "parquet", gzipped=False)


def _read_schema(folder: Path) -> dict[str, Any]:
    content = read_bytes(folder / _SCHEMA, _MAX_SCHEMA)
    try:
        schema = json.loads(content)
    except (ValueError, RecursionError):
        raise DataError(f"{folder / _SCHEMA} is not JSON; copy the whole folder again") from None
    if not isinstance(schema, dict):
        raise DataError(f"{folder / _SCHEMA} is not a JSON object; check that it is a LensKit data set")
    return schema


def write(path: Path, data: Annotations, test: Annotations | None = None) -> list[Path]:
    """Write a data set for ``lenskit.data.Dataset.load``."""
    if test is not None:
        raise ConfigError("lenskit has no file for held-out pairs; convert them alone")
    path.mkdir(parents=True, exist_ok=True)
    tables = {
        "user": pa.table({"user_id": data.images.arrow.cast(pa.string())}),
        "item": pa.table({"item_id": data.labels.arrow.cast(pa.string())}),
        _NAME: pa.table(
            {"user_num": as_arrow(data.image_numbers().astype(np.int32)), "item_num": as_arrow(np.array(data.indices))}
        ),
    }
    files = [path / f"{name}.parquet" for name in tables] + [path / _SCHEMA]
    entity = {"id_type": "str", "attributes": {}}
    relation = {
        "entities": {"user": None, "item": None},
        "interaction": True,
        "repeats": "forbidden",
        "attributes": {},
    }
    schema = {
        "version": _VERSION,
        "name": path.name,
        "default_interaction": _NAME,
        "entities": {"user": entity, "item": entity},
        "relationships": {_NAME: relation},
    }
    with replace_files(*files) as partials:
        for partial, table in zip(partials, tables.values(), strict=False):
            pq.write_table(table, partial)
        partials[-1].write_text(json.dumps(schema), encoding="utf-8")
    return files
