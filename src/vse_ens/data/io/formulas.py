"""Text that a spreadsheet would take for a formula, made harmless for files that people open in one."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

# A cell that starts with one of these may be run: = and @ start a formula or function, + and - too in most programs,
# and a tab or carriage return is dropped first.
_STARTS = "=+-@\t\r"


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
