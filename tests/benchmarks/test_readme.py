"""The results of README.md and its chart."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree as ET

from benchmarks.core import readme


def test_readme_matches_stored_results() -> None:
    text = readme.README.read_text(encoding="utf-8")
    assert text == readme.filled(text), "run: python -m benchmarks.core.readme"


def test_chart_matches_stored_results() -> None:
    assert readme.CHART.read_text(encoding="utf-8") == readme.chart(), "run: python -m benchmarks.core.readme"


def test_chart_is_a_drawing_that_needs_no_other_file() -> None:
    chart = readme.chart()
    root = ET.fromstring(chart)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme:dark" in chart
    assert chart.count("http") == 1  # the namespace
    assert len(chart) < 60_000


def test_every_charted_method_is_in_the_legend() -> None:
    texts = {element.text for element in ET.fromstring(readme.chart()).iter("{http://www.w3.org/2000/svg}text")}
    assert {method.name.replace("*", "").replace("`", "") for method in readme.charted_methods()} <= texts


def test_curves_keep_their_last_point() -> None:
    curve = [(seconds / 10, seconds / 100) for seconds in range(1, 60)]
    thinned = readme._thinned(curve)
    assert thinned[-1] == curve[-1]
    assert len(thinned) < len(curve) / 2
    assert all(later[0] >= 1.35 * earlier[0] - 1e-9 for earlier, later in pairwise(thinned))
