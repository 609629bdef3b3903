from __future__ import annotations

import pytest

from tests.support.html_reading import Reader
from vse_ens.errors import ConfigError
from vse_ens.report.tables import Cell, Column, Table, Value, shown


def test_headings_and_row_names_say_what_they_head() -> None:
    table = Table("Caption", ["model", Column("recall", ".2f")], [["a", 0.5], ["b", 0.25]])
    read = Reader(table.html())
    assert [one.get("scope") for one in read.all("th")] == ["col", "col", "row", "row"]
    assert len(read.all("caption")) == 1
    assert "Caption" in read.text
    assert "0.50" in read.text


def test_a_cell_shows_ours_with_interval_paper_and_note() -> None:
    cell = Cell(0.5, paper=0.25, interval=(0.4, 0.6), best=True, note="of two")
    html = Table("t", ["name", Column("x", ".2f")], [["a", cell]]).html()
    assert "<strong>0.50</strong>" in html
    assert 'class="number best"' in html
    assert "0.40 to 0.60" in html
    assert "paper 0.25" in html
    assert "of two" in html


def test_columns_of_numbers_and_those_asked_for_are_flush_right() -> None:
    html = Table("t", ["a", "b", Column("c", right=True), "d"], [["x", 1, "<1", "y"]]).html()
    assert [one.get("class") for one in Reader(html).all("td")] == ["number", "number", None]


@pytest.mark.parametrize(
    ("value", "style", "text"),
    [
        (None, "", "–"),
        ("a", ".2f", "a"),
        (12345, "", "12,345"),
        (12345.6789, "", "12,345.679"),
        (0.5, ".1%", "50.0%"),
    ],
)
def test_values_are_shown(value: Value, style: str, text: str) -> None:
    assert shown(value, style) == text


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"a row of the table 'Caption' has 1 cells for 2 columns"):
        Table("Caption", ["a", "b"], [["x"]])
