"""A shuffle is a permutation, and every permutation is as likely as any other."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from tests.support.drawing import assert_drawn_from
from tests.support.kernel_problems import JIT, random_state
from tests.support.kernel_twins import SplitMix
from vse_ens.kernels.random import shuffle


@pytest.mark.parametrize("count", [0, 1, 2, 3, 1000])
def test_is_a_permutation(count: int) -> None:
    items = np.arange(count)
    shuffle(items, random_state(5))
    assert sorted(items.tolist()) == list(range(count))


@pytest.mark.parametrize("count", [3, 4])
def test_every_order_is_equally_likely(count: int) -> None:
    state = random_state(6)
    orders = {order: number for number, order in enumerate(permutations(range(count)))}
    found = []
    for _ in range(12_000 if JIT else 2_400):
        items = np.arange(count)
        shuffle(items, state)
        found.append(orders[tuple(items.tolist())])
    assert_drawn_from(np.array(found), np.full(len(orders), 1.0 / len(orders)))


def test_is_fisher_and_yates_from_the_end() -> None:
    items, twin, expected = np.arange(20), SplitMix(11), list(range(20))
    shuffle(items, random_state(11))
    for last in range(19, 0, -1):
        other = twin.below(last + 1)
        expected[last], expected[other] = expected[other], expected[last]
    assert items.tolist() == expected
