from __future__ import annotations

import re

import pytest

from tests.support.html_reading import Reader
from vse_ens.errors import ConfigError
from vse_ens.report.charts import BarChart, Bars, LineChart, Series


def line_chart(*series: Series, **more: bool) -> Reader:
    return Reader(LineChart("Growth", "time", "height", series, **more).html())


def test_a_chart_tells_its_story_to_those_who_do_not_see_it() -> None:
    read = line_chart(Series("oak", [1, 2], [0.5, 0.75]), Series("ash", [1], [0.25]))
    drawings = [one for one in read.all("svg") if one.get("role") == "img"]
    assert [one["aria-label"] for one in drawings] == ["Growth", "Growth"]
    assert "height against time. oak ends at 0.75; ash ends at 0.25." in read.text
    assert len(read.all("desc")) == 2
    assert len(read.all("details")) == len(read.all("table")) == 1


def test_every_figure_is_in_the_table_behind_the_chart() -> None:
    read = line_chart(Series("oak", [1, 2], [0.5, 0.75], band=[(0.25, 0.625), (0.7, 0.8)]), Series("ash", [3], [0.125]))
    for figure in ("oak", "ash", "0.5", "0.75", "0.25", "0.625", "0.7", "0.8", "3", "0.125", "–"):
        assert figure in read.text


def test_series_differ_in_color_dashes_and_shape() -> None:
    read = line_chart(*(Series(f"s{n}", [1, 2], [n, n + 1]) for n in range(5)))
    curves = [one for one in read.all("path") if (one.get("class") or "").startswith("curve s")]
    looks = [(one["class"], one.get("stroke-dasharray")) for one in curves]
    assert len(set(looks)) == 5
    assert len({dashes for _, dashes in looks}) == 5
    marks = {one["class"]: one["d"] for one in read.all("path") if (one.get("class") or "").startswith("mark")}
    assert len(set(marks.values())) == 5


def test_many_points_have_few_marks_and_one_at_the_end() -> None:
    read = line_chart(Series("long", list(range(1, 1001)), list(range(1000))), x_log=True)
    marks = [one for one in read.all("path") if (one.get("class") or "").startswith("mark")]
    assert len(marks) < 60
    assert "long: 1000, 999" in read.text


def test_a_single_point_is_no_curve_and_may_carry_on() -> None:
    read = line_chart(Series("point", [1], [1], level=True), Series("curve", [1, 2], [1, 2]))
    assert len([one for one in read.all("line") if (one.get("class") or "").startswith("level")]) == 2


def test_everything_is_inside_the_drawing() -> None:
    html = LineChart(
        "t", "x", "y", [Series("a", [0.001, 100], [0.1, 0.9], band=[(0, 0.2), (0.8, 1)])], x_log=True
    ).html()
    for width, height, inside in re.findall(r'viewBox="0 0 (\d+) (\d+)" role="img"(.*?)</svg>', html):
        places = [tuple(map(float, found)) for found in re.findall(r"translate\(([\d.]+) ([\d.]+)\)", inside)]
        assert places
        assert all(0 <= x <= float(width) and 0 <= y <= float(height) for x, y in places)


def test_a_chart_without_points_is_an_empty_frame() -> None:
    assert line_chart(Series("none", [], [])).all("svg")


def test_unequal_lengths_are_refused() -> None:
    with pytest.raises(ConfigError, match="the series 'a' needs as many x as y"):
        Series("a", [1, 2], [1])
    with pytest.raises(ConfigError, match="the bars 'a' need a value for each of the 2 groups"):
        BarChart("t", "v", ["g", "h"], [Bars("a", [1.0])])


def test_bars_are_as_long_as_their_values() -> None:
    html = BarChart("Sizes", "metres", ["north", "south"], [Bars("a", [1.0, 2.0]), Bars("b", [4.0, None])]).html()
    wide = html.split("<svg class=")
    drawing = next(part for part in wide if part.startswith('"chart wide"'))
    widths = [float(found) for found in re.findall(r'<rect class="bar s\d"[^>]* width="([\d.]+)"', drawing)]
    one, four, two = widths
    assert four == pytest.approx(4 * one, rel=0.01)
    assert two == pytest.approx(2 * one, rel=0.01)
    read = Reader(html)
    for words in ("north", "south", "metres", "1.000", "4.000", "–"):
        assert words in read.text


def test_bars_below_zero_lie_on_the_other_side() -> None:
    drawing = BarChart("Signs", "v", ["g"], [Bars("a", [-1.0]), Bars("b", [1.0])], format="+.1f").html()
    (first, second, *_) = re.findall(r'<rect class="bar s\d" x="([\d.]+)"[^>]* width="([\d.]+)"', drawing)
    assert float(first[0]) + float(first[1]) == pytest.approx(float(second[0]))
    assert "+1.0" in drawing
