"""What compiling saves: references that are not counted, functions that Python cannot call, a collector that pauses."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
import pytest

from tests.support.compiled import compiled
from vse_ens.kernels.jit import allocating_kernel, inline, kernel

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


@pytest.fixture
def collector() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def seen_while_compiling(decorate: Callable[[Any], Any]) -> list[bool]:
    """Return whether the collector was on when a function was typed, inside a kernel that was being compiled."""
    seen = []

    def number() -> None: ...

    @numba.extending.overload(number)
    def typed() -> Callable[[], int]:
        seen.append(gc.isenabled())
        return lambda: 3

    inner = inline(lambda: number())
    assert decorate(lambda: inner() + number())() == 6
    return seen


def test_a_kernel_allocates_nothing_unless_it_says_so() -> None:
    # Two functions: the cache on disk would take one for the other.
    assert allocating_kernel(lambda size: np.empty(size).shape[0])(4) == 4
    with pytest.raises(numba.core.errors.NumbaError, match="NRT required but not enabled"):
        kernel(lambda size: np.empty(size, np.int8).shape[0])(4)


def test_kernels_leave_the_reference_counts_of_arguments() -> None:
    @kernel
    def total(pair: Any) -> float:
        sum_ = 0.0
        for row in range(pair[0].shape[0]):
            view = pair[0][row]
            for n in range(view.shape[0]):
                sum_ += view[n] * pair[1][n]
        return sum_

    table, row = np.ones((50, 3)), np.arange(3.0)
    pair = (table, row)
    before = sys.getrefcount(table), sys.getrefcount(row)
    for _ in range(10):
        assert total(pair) == 150.0
    assert (sys.getrefcount(table), sys.getrefcount(row)) == before


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 2), (2, 1), (np.int32(-3), 4), (np.int64(5), np.float32(2.5)), (0.5, np.nan), (np.nan, 0.5), (0.0, -0.0)],
)
def test_max_and_min_of_two_numbers_are_as_in_python(one: Any, other: Any) -> None:
    @kernel
    def extremes(first: Any, second: Any) -> tuple[Any, Any]:
        return max(first, second), min(first, second)

    expected = max(one, other), min(one, other)
    np.testing.assert_array_equal(extremes(one, other), expected)
    assert np.signbit(extremes(one, other)).tolist() == np.signbit(expected).tolist()


def test_python_cannot_call_an_inlined_function() -> None:
    double = inline(lambda number: 2 * number)
    assert compiled(double)(3) == 6
    with pytest.raises(TypeError, match="only a kernel can call it"):
        double(3)


def test_the_collector_pauses_while_kernels_compile(collector: None) -> None:
    assert seen_while_compiling(kernel)[0] is False
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off(collector: None) -> None:
    gc.disable()
    seen_while_compiling(kernel)
    assert not gc.isenabled()


def test_the_collector_goes_on_after_an_error_of_the_compiler(collector: None) -> None:
    with pytest.raises(numba.core.errors.TypingError):
        kernel(lambda number: number.missing)(1)
    assert gc.isenabled()
