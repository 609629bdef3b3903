"""SplitMix64: the published numbers, and uniform ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.support.drawing import assert_drawn_from
from tests.support.kernel_problems import JIT, random_state
from tests.support.kernel_twins import SplitMix
from vse_ens.kernels.jit import kernel
from vse_ens.kernels.random import next_below, next_uniform, next_word

# The first words of the reference implementation (Vigna, splitmix64.c) for two seeds.
KNOWN = {
    0: [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC],
    1234567: [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431],
}


@cache
def filler() -> Callable[..., None]:
    @kernel
    def fill(state: Any, words: Any, uniforms: Any, below: Any, bound: Any) -> None:
        for n in range(words.shape[0]):
            words[n] = next_word(state)
        for n in range(uniforms.shape[0]):
            uniforms[n] = next_uniform(state)
        for n in range(below.shape[0]):
            below[n] = next_below(state, bound)

    return fill


def numbers(seed: int, words: int = 0, uniforms: int = 0, below: int = 0, bound: int = 1) -> tuple[Any, Any, Any]:
    arrays = np.empty(words, np.uint64), np.empty(uniforms, np.float32), np.empty(below, np.int64)
    filler()(random_state(seed), *arrays, bound)
    return arrays


@pytest.mark.parametrize("seed", KNOWN)
def test_words_are_those_of_the_reference(seed: int) -> None:
    assert numbers(seed, words=4)[0].tolist() == KNOWN[seed]


@pytest.mark.parametrize("seed", [0, 1, 2**63 + 12345, 2**64 - 1])
def test_the_slow_twin_draws_the_same(seed: int) -> None:
    twin = SplitMix(seed)
    words, uniforms, below = numbers(seed, 50, 50, 50, bound=291)
    assert words.tolist() == [twin.word() for _ in range(50)]
    assert uniforms.tolist() == [twin.uniform() for _ in range(50)]
    assert below.tolist() == [twin.below(291) for _ in range(50)]


def test_uniforms_fill_the_unit_interval_and_leave_out_its_end() -> None:
    _, uniforms, _ = numbers(7, uniforms=40_000 if JIT else 4_000)
    assert uniforms.min() >= 0.0
    assert uniforms.max() < 1.0
    assert_drawn_from((uniforms * 50).astype(np.int64), np.full(50, 1 / 50))


@pytest.mark.parametrize("bound", [1, 2, 7, 1000])
def test_whole_numbers_are_uniform_below_their_bound(bound: int) -> None:
    _, _, below = numbers(8, below=40_000 if JIT else 4_000, bound=bound)
    assert_drawn_from(below, np.full(bound, 1.0 / bound))


def test_the_largest_bound_stays_in_bounds() -> None:
    _, _, below = numbers(9, below=1_000, bound=2**31 - 1)
    assert below.min() >= 0
    assert below.max() < 2**31 - 1
    assert below.max() > 2**30
