"""The shipped sheet of drawings is what the generator writes."""

from __future__ import annotations

from collections.abc import Mapping

from tools.illustrations.canvas import Canvas, dark, pale
from tools.illustrations.sheet import PATH, record_mixed, sheet

from vse_ens.service.pictures.sheet import read_sheet


def test_the_shipped_drawings_are_up_to_date() -> None:
    assert PATH.read_text(encoding="utf-8") == sheet(), "run python -m tools.illustrations"
    assert PATH.stat().st_size < 2_000_000


def test_the_service_reads_every_drawing() -> None:
    found = read_sheet()
    assert len(found) == PATH.read_text(encoding="utf-8").count("<svg ")
    for name, drawing in found.items():
        assert all(shape.part in ("", *drawing.data) for shape in drawing.shapes), name
        assert all(len(shape.color) in (3, 4) for shape in drawing.shapes), name


def test_shapes_know_their_share_of_a_color() -> None:
    def draw(canvas: Canvas, colors: Mapping[str, str]) -> None:
        for color in (colors["coat"], dark(colors["coat"], 0.2), pale(colors["skin"], 0.6), "#112233"):
            canvas.ellipse(0, 0, 1, 1, color)

    found = record_mixed(draw, {"coat": "#806040", "skin": "#e0b090"})
    assert [(part, round(share, 2)) for _, part, share in found] == [("coat", 1), ("coat", 0.8), ("skin", 0.4), ("", 0)]
    assert found[0][0].color == (0x80, 0x60, 0x40)
