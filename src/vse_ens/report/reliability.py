"""The reliability plot: how often suggestions of each confidence were right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from vse_ens.evaluate.reliability import Reliability
from vse_ens.report.lines import LineChart, Series

# Standard errors on either side of a 95 % interval.
_ERRORS = 1.96


def reliability_chart(title: str, found: Mapping[str, Sequence[Reliability]]) -> LineChart:
    """A curve for each of ``found`` beside the line on which confidence and truth are the same.

    The band is where the truth lies with a chance of 95 %, by the number of suggestions.
    """
    end = max((max(one.confidence, _interval(one)[1]) for points in found.values() for one in points), default=1.0)
    curves = [
        Series(
            f"{name} ({sum(one.count for one in points):,} suggestions)",
            [one.confidence for one in points],
            [one.right for one in points],
            band=[_interval(one) for one in points],
        )
        for name, points in found.items()
    ]
    exact = Series("right as often as said", [0.0, end], [0.0, end])
    return LineChart(title, "confidence", "part that was right", [*curves, exact], y_zero=True)


def _interval(one: Reliability) -> tuple[float, float]:
    """Wilson's interval, which stays between 0 and 1 and has a width also where all or none were right."""
    spread = _ERRORS**2 / one.count
    middle = (one.right + spread / 2) / (1 + spread)
    half = math.sqrt(spread * one.right * (1 - one.right) + spread**2 / 4) / (1 + spread)
    return max(middle - half, 0.0), min(middle + half, 1.0)
