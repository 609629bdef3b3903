"""Counters that threads share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from tests.support.kernel_problems import JIT
from vse_ens.kernels.jit import kernel
from vse_ens.kernels.work_counters import count_up, wait_for

PIECES, THREADS = 300_000 if JIT else 3_000, 2


@kernel
def take_all(counters: NDArray[np.int64], pieces: int, taken: NDArray[np.int64]) -> None:
    """Once all threads are here, take pieces of counter 1 until there are none, and count how often each was taken."""
    count_up(counters, 0)
    while not wait_for(counters, 0, THREADS, 1_000):
        pass
    number = count_up(counters, 1)
    while number < pieces:
        taken[number] += 1
        number = count_up(counters, 1)


@kernel
def wait(counters: NDArray[np.int64], number: int, wanted: int) -> bool:
    return wait_for(counters, number, wanted, 1_000)


@kernel
def write_and_count(values: NDArray[np.int64], counters: NDArray[np.int64]) -> None:
    for number in range(values.shape[0]):
        values[number] = number + 1
    count_up(counters, 0)


def test_every_piece_is_taken_once() -> None:
    counters, taken = np.zeros(3, np.int64), np.zeros(PIECES, np.int64)
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda _: take_all(counters, PIECES, taken), range(THREADS)))
    assert (taken == 1).all()
    assert counters.tolist() == [THREADS, PIECES + THREADS, 0]


def test_waiting_ends_with_the_counter_or_after_a_while() -> None:
    counters = np.array([0, 2])
    assert wait(counters, 1, 2)
    assert wait(counters, 1, 1)
    assert not wait(counters, 1, 3)
    assert not wait(counters, 0, 1)


def test_who_sees_the_counter_sees_what_was_written_before() -> None:
    for _ in range(100 if JIT else 3):
        values, counters = np.zeros(1_000, np.int64), np.zeros(1, np.int64)
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write_and_count, values, counters)
            while not wait(counters, 0, 1):
                pass
            assert values.tolist() == list(range(1, 1_001))
            writing.result()
