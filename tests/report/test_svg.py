from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.errors import ConfigError
from vse_ens.report.svg import Axis, tick_text

numbers = st.floats(-1e9, 1e9).filter(lambda x: x == 0 or abs(x) > 1e-6)


@given(st.lists(numbers, min_size=1, max_size=5), st.booleans())
def test_all_values_lie_on_an_even_axis_with_a_few_round_ticks(values: list[float], zero: bool) -> None:
    axis = Axis.around(values, zero=zero)
    assert all(-1e-6 <= axis.position(value) <= 1 + 1e-6 for value in values)
    assert 2 <= len(axis.ticks) <= 9
    assert not zero or axis.low <= 0 <= axis.high


@given(st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=5))
def test_all_values_lie_on_a_logarithmic_axis(values: list[float]) -> None:
    axis = Axis.around(values, log=True)
    assert all(-1e-6 <= axis.position(value) <= 1 + 1e-6 for value in values)
    assert all(axis.low * 0.99 <= tick <= axis.high * 1.01 for tick in axis.ticks)


def test_ticks_are_round() -> None:
    assert Axis.around([0.0, 0.58], max_ticks=7).ticks == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    assert Axis.around([0.01, 1000], log=True).ticks == pytest.approx((0.01, 0.1, 1, 10, 100, 1000))
    assert Axis.around([1, 12], log=True).ticks == pytest.approx((1, 2, 5, 10))


def test_steps_of_a_logarithmic_axis_are_alike() -> None:
    axis = Axis.around([1, 10000], log=True)
    assert [axis.position(10.0**power) for power in range(5)] == pytest.approx([0, 0.25, 0.5, 0.75, 1])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_refused(value: float) -> None:
    with pytest.raises(ConfigError, match="cannot show"):
        Axis.around([1.0, value])


def test_zero_has_no_logarithm() -> None:
    with pytest.raises(ConfigError, match=r"cannot show 0\.0 on a logarithmic axis"):
        Axis.around([0.0, 1.0], log=True)


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (0.25, "0.25"), (1000.0, "1,000"), (2e6, "2e6"), (1e-5, "1e-5"), (-0.5, "-0.5")]
)
def test_ticks_in_few_characters(value: float, text: str) -> None:
    assert tick_text(value) == text
