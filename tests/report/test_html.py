from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks.core.markdown import Bullets

from tests.support.html_reading import Reader
from vse_ens.errors import DataError
from vse_ens.report.charts import BarChart, Bars, LineChart, Series
from vse_ens.report.html import Code, Details, Facts, Note, Page, Paragraph, Section
from vse_ens.report.tables import Cell, Table

NASTY = """<script>alert("1")</script>' & \u202eid"""


def nasty_page() -> Page:
    return Page(NASTY, NASTY).add(
        Section(
            NASTY,
            Paragraph(NASTY),
            Note(NASTY, "warning"),
            Bullets([NASTY]),
            Code(NASTY),
            Facts([(NASTY, NASTY)]),
            Details(NASTY, Paragraph(NASTY)),
            Table(NASTY, [NASTY], [[Cell(NASTY, paper=NASTY, note=NASTY)]]),
            LineChart(NASTY, NASTY, NASTY, [Series(NASTY, [1, 2], [1, 2], band=[(0, 1), (1, 2)], level=True)]),
            BarChart(NASTY, NASTY, [NASTY], [Bars(NASTY, [1.0]), Bars(NASTY, [None])]),
        ),
        Section("second"),
    )


def test_any_text_is_shown_as_it_is_and_nowhere_taken_for_markup() -> None:
    read = Reader(nasty_page().html())
    assert read.all("script") == []
    assert read.text.count(NASTY) > 20
    attributes = {name for _, found in read.elements for name in found}
    assert not [name for name in attributes if name.startswith("on")]


def test_a_page_needs_nothing_but_itself() -> None:
    document = nasty_page().html()
    assert not re.search(r"https?:|//|url\(|@import|src=", document)
    read = Reader(document)
    assert {attributes["href"] for attributes in read.all("a")} == {"#section-1", "#section-2"}
    assert {attributes.get("id") for attributes in read.all("h2")} == {"section-1", "section-2"}
    assert not [tag for tag in ("link", "img", "iframe", "object") if read.all(tag)]
    policy = next(one for one in read.all("meta") if one.get("http-equiv") == "Content-Security-Policy")
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"


def test_sections_and_blocks_stand_in_order() -> None:
    page = Page("Title", "Lead").add(Section("One", Paragraph("first"), Note("second")), Section("Two", Code("third")))
    text = Reader(page.html()).text
    places = [text.rindex(words) for words in ("Lead", "first", "Note: second", "Two", "third")]
    assert places == sorted(places)


def test_a_page_has_both_themes_and_paper() -> None:
    document = Page("Title").html()
    for rule in ("prefers-color-scheme:dark", "@media print", "max-width:640px"):
        assert rule in document
    # Every color that is used is defined.
    assert set(re.findall(r"var\((--[\w-]+)\)", document)) <= set(re.findall(r"(--[\w-]+):", document))


def test_a_page_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.html"
    page = Page("Title \udce9")
    page.write(path)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [one.name for one in path.parent.iterdir()] == ["report.html"]


def test_a_page_that_cannot_be_written_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(DataError, match=r"report\.html could not be written: Is a directory"):
        Page("Title").write(tmp_path / "report.html")
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
