"""Find the line and the reason of an error: a slow second pass over an input that could not be read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.io.dialect import Dialect, describe_separator
from vse_ens.data.io.formats import PairsFile
from vse_ens.data.io.id_index import is_blank
from vse_ens.data.io.records import RecordError, records
from vse_ens.data.io.source import Source
from vse_ens.errors import DataError

# Line numbers that a message names.
_SHOWN = 5


def blank_id_error(source: Source) -> DataError:
    """Return an error that says how many rows have a null or blank id, and where the first of them are."""
    first: list[int] = []
    kinds: set[str] = set()
    count = start = 0
    for images, labels in source.batches():
        blank_image, blank_label = _blank_rows(images), _blank_rows(labels)
        kinds.update(kind for kind, rows in (("image", blank_image), ("label", blank_label)) if rows.any())
        rows = np.flatnonzero(blank_image | blank_label)
        first.extend((start + rows[: _SHOWN - len(first)]).tolist())
        count += len(rows)
        start += len(images)
    unit = source.unit if count == 1 else f"{source.unit}s"
    numbers = ", ".join(map(str, source.line_numbers(first))) + (", ..." if count > _SHOWN else "")
    return DataError(
        f"{source.name} has a blank {' or '.join(sorted(kinds))} id on {count:,} {unit} ({numbers}); "
        f"fill in or remove {'it' if count == 1 else 'them'}"
    )


def find_text_error(file: PairsFile, dialect: Dialect) -> DataError | None:
    """Return the first error in a delimited text: a byte, a quote, or a line with too many or too few fields."""
    width = 0
    try:
        with file.open_text() as stream:
            for line, row in records(stream, dialect, strict=True):
                width = width or len(row)
                if row and len(row) != width:
                    return DataError(
                        f"{file.path}, line {line} has {_fields(len(row))} where line 1 has {width} (split at "
                        f"{describe_separator(dialect.separator)}); fix it, or put fields that contain the separator "
                        f"in quotes"
                    )
    except RecordError as error:
        return _record_error(file, error)
    return None


def find_row_lines(file: PairsFile, dialect: Dialect, rows: Sequence[int]) -> list[int]:
    """Return the line on which each of ``rows`` starts; the header is not counted as a row."""
    requested = {row + dialect.header for row in rows}
    found: list[int] = []
    with file.open_text() as stream:
        filled = (line for line, fields in records(stream, dialect) if fields)
        try:
            for row, line in enumerate(filled):
                if row in requested:
                    found.append(line)
                if len(found) == len(requested):
                    break  # lines further down have not been read yet and may be broken
        except RecordError as error:
            raise _record_error(file, error) from None
    return found


def _record_error(file: PairsFile, error: RecordError) -> DataError:
    return DataError(f"{file.path}, line {error.line} {error.reason}; {error.advice}")


def _blank_rows(ids: pa.Array) -> NDArray[np.bool_]:
    """Return the rows in which an id, or any id of a list, is null or blank; a null list is an empty one."""
    if pa.types.is_large_list(ids.type):
        rows = np.zeros(len(ids), dtype=bool)
        rows[np.asarray(pc.list_parent_indices(ids))[_blank_rows(ids.flatten())]] = True
        return rows
    return is_blank(ids.fill_null(""))


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"
