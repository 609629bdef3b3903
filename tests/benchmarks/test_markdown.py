"""Reports as Markdown."""

from __future__ import annotations

from benchmarks.core.markdown import Bullets, page_markdown, table_markdown

from vse_ens.report.html import Code, Details, Facts, Note, Page, Paragraph, Section
from vse_ens.report.tables import Cell, Column, Table


def test_a_page_keeps_its_text_in_order() -> None:
    page = Page("Title", "The lead.").add(
        Section(
            "First",
            Paragraph("Some text."),
            Note("Careful."),
            Bullets(["one", "two"]),
            Facts([("cores", "2")]),
            Details("more", Code("vse train")),
        )
    )
    assert page_markdown(page, level=2) == (
        "## Title\n\nThe lead.\n\n### First\n\nSome text.\n\n> Careful.\n\n- one\n- two\n\n- cores: 2\n\n"
        "```\nvse train\n```\n"
    )


def test_cells_have_their_notes_behind_them() -> None:
    table = Table(
        "Caption.",
        ("model", Column("value", ".2f")),
        [("a", Cell(0.5, "0.61", (0.4, 0.6), best=True, note="slow")), ("b|c", None)],
    )
    assert table_markdown(table).splitlines() == [
        "Caption.",
        "",
        "| model | value |",
        "| --- | --- |",
        "| a | **0.50** (0.40 to 0.60), paper 0.61 (slow) |",
        "| b\\|c | – |",
    ]


def test_long_text_is_wrapped_and_markup_is_text() -> None:
    text = page_markdown(Page("T", "word " * 60 + "<b>"))
    assert max(map(len, text.splitlines())) <= 120
    assert "<b>" not in text
    assert "&lt;b>" in text
