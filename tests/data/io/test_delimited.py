"""The fast parser and Python's strict one agree on every text that is not refused."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vse_ens.data.io import delimited
from vse_ens.data.io.columns import ColumnChoice
from vse_ens.data.io.delimited import DelimitedSource
from vse_ens.data.io.dialect import Dialect
from vse_ens.data.io.formats import PairsFile
from vse_ens.errors import DataError


def strictly(text: str) -> tuple[list[list[str]], int] | None:
    """The first two fields of each row and the number of blank lines, or None where anything is out of order."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        return None
    filled = [row for row in rows if row]
    widths = {len(row) for row in filled}
    return ([row[:2] for row in filled], len(rows) - len(filled)) if len(widths) == 1 and min(widths) > 1 else None


# Fields as a careless writer may put them: bare, quoted as they should be, or with quotes left as they come.
fields = st.one_of(
    st.text("ab ", max_size=3),
    st.text('ab,"\r\n', max_size=4).map(lambda text: '"' + text.replace('"', '""') + '"'),
    st.text('ab"', max_size=4),
)
rows = st.builds(lambda one, other, end: f"{one},{other}{end}", fields, fields, st.sampled_from(["\n", "\r\n", "\r"]))
texts = st.lists(st.one_of(rows, rows, rows, st.just("\n"), st.text('ab,"\r\n', max_size=3)), min_size=1).map("".join)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("quoting") / "text.csv"


@settings(max_examples=300)
@given(text=texts, block=st.sampled_from([5, 8, 1 << 20]))
def test_nothing_is_lost_silently(path: Path, text: str, block: int) -> None:
    path.write_text(text, newline="")
    source = DelimitedSource(PairsFile(path, "csv", False), Dialect(",", '"', False, ColumnChoice(0, 1), ()))
    usual, delimited._BLOCK = delimited._BLOCK, block
    try:
        batches = list(source.batches())
    except DataError:
        assert strictly(text) is None
        return
    finally:
        delimited._BLOCK = usual
    rows = [[*row] for images, labels in batches for row in zip(images.to_pylist(), labels.to_pylist(), strict=True)]
    blank = int(source.notes[0].split()[1]) if source.notes else 0
    assert (rows, blank) == strictly(text)
