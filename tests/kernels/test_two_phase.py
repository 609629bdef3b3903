"""The order of two-phase batches: no phase begins before the one before it is done by all workers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.context_problems import compute, make_context_problem
from tests.support.kernel_problems import make_batch, random_annotations
from vse_ens.config import Config
from vse_ens.kernels.jit import kernel
from vse_ens.kernels.two_phase import (
    CHUNKS_DONE,
    COUNTERS,
    INPUTS,
    RANGES_DONE,
    RANGES_TAKEN,
    BatchCursor,
    are_gradients_computed,
    is_batch_before_applied,
)


@kernel
def computed(cursor: BatchCursor) -> bool:
    return are_gradients_computed(cursor)


@kernel
def before_applied(cursor: BatchCursor) -> bool:
    return is_batch_before_applied(cursor)


def make_cursor() -> BatchCursor:
    """Of a batch of three chunks, with three row ranges."""
    data = random_annotations(3, 6, 3)
    chunks = [np.array([image]) for image in range(3)]
    return make_batch(data.rows(np.arange(3)), chunks, [0] * 3, [[(0, 2), (2, 6)], [(0, 9)]]).cursor


def test_every_counter_has_a_place_of_its_own() -> None:
    assert len({CHUNKS_DONE, RANGES_DONE, RANGES_TAKEN}) == 3
    assert RANGES_TAKEN + INPUTS == COUNTERS - 1


def test_gradients_are_computed_once_all_chunks_are() -> None:
    cursor = make_cursor()
    for done in (0, 2):
        cursor.counters[CHUNKS_DONE] = done
        assert not computed(cursor)
    cursor.counters[CHUNKS_DONE] = 3
    assert computed(cursor)


def test_a_batch_begins_once_the_one_before_is_applied() -> None:
    cursor = make_cursor()
    assert before_applied(cursor), "there is none before the first one"
    for done in (0, 2):
        cursor.before[RANGES_DONE] = done
        assert not before_applied(cursor)
    cursor.before[RANGES_DONE] = 3
    assert before_applied(cursor)


@pytest.mark.parametrize("loss", ["softmax", "hinge"])
def test_no_gradient_is_applied_while_a_chunk_is_missing(loss: str) -> None:
    data = random_annotations(12, 8, 4).with_features(np.random.default_rng(0).random((12, 5), np.float32))
    config = Config(tower="context+features", sampler="uniform", loss=loss, label_pairs=5)
    problem = make_context_problem(config, data)
    batch = compute(problem, np.array_split(np.arange(12), 3), [1, 2, 3])
    before = {name: array.copy() for name, array in problem.trained.items()}
    batch.cursor.counters[CHUNKS_DONE] -= 1
    assert batch.try_to_apply() == [False, False, False]
    for name, array in problem.trained.items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)
    batch.cursor.counters[CHUNKS_DONE] += 1
    batch.apply()
    assert batch.cursor.counters[RANGES_DONE] == batch.cursor.ranges, "every row range once"
    for name, array in problem.trained.items():
        assert (array != before[name]).any() or not array.size, name
