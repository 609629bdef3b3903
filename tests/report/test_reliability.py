from __future__ import annotations

import pytest

from tests.support.html_reading import Reader
from vse_ens.evaluate.reliability import Reliability
from vse_ens.report.evaluation import reliability_chart


def test_the_plot_shows_what_was_said_and_what_was_true() -> None:
    points = [Reliability(0.1, 0.125, 400), Reliability(0.5, 0.25, 100)]
    chart = reliability_chart("Confidence", {"first 5": points})
    measured, exact = chart.series
    assert (list(measured.xs), list(measured.ys)) == ([0.1, 0.5], [0.125, 0.25])
    assert exact.xs == exact.ys
    assert exact.xs[-1] == 0.5
    read = Reader(chart.html())
    for words in ("first 5 (500 suggestions)", "perfect calibration", "fraction right", "0.125"):
        assert words in read.text


def test_the_band_is_wilsons_interval() -> None:
    points = [Reliability(0.5, 0.5, 100), Reliability(0.9, 1.0, 10), Reliability(0.95, 0.0, 10)]
    band = reliability_chart("Confidence", {"all": points}).series[0].band
    assert band is not None
    # By hand, with z = 1.96: (p + z²/2n ± z sqrt(p(1 - p)/n + z²/4n²)) / (1 + z²/n).
    assert band[0] == pytest.approx((0.4038, 0.5962), abs=1e-4)
    assert band[1] == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert band[2] == pytest.approx((0.0, 0.2775), abs=1e-4)


def test_nothing_measured_is_an_empty_frame() -> None:
    assert Reader(reliability_chart("Confidence", {}).html()).all("svg")
