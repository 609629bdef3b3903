"""The order of two-phase batches: no phase begins before the one before it is done by all workers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.context_problems import compute, make_context_problem
from tests.support.kernel_problems import make_round, random_annotations
from vse_ens.config import Config
from vse_ens.kernels.context import apply_input_gradients
from vse_ens.kernels.context_pairwise import apply_pairwise_gradients
from vse_ens.kernels.context_softmax import apply_softmax_gradients
from vse_ens.kernels.jit import kernel
from vse_ens.kernels.two_phase import (
    Round,
    apply_feature_gradients,
    are_gradients_computed,
    is_batch_before_applied,
    take_range,
)


@kernel
def computed(round_: Round, number: int) -> bool:
    return are_gradients_computed(round_, number)


@kernel
def before_applied(round_: Round, number: int) -> bool:
    return is_batch_before_applied(round_, number)


@kernel
def take(round_: Round, number: int, table: int) -> tuple[int, int]:
    return take_range(round_, number, table)


def two_batches() -> Round:
    """Of three chunks and of one; two tables, with two row ranges and with one."""
    data = random_annotations(4, 6, 3)
    chunks = [np.array([image]) for image in range(4)]
    round_ = make_round(data.rows(np.arange(4)), chunks, [0] * 4, [[(0, 2), (2, 6)], [(0, 9)]])
    fields = {name: getattr(round_, name) for name in Round._fields[:-4]}
    return Round.begin(**fields | {"first_chunks": np.array([0, 3, 4]), "first_images": np.array([0, 3, 4])})


def test_gradients_are_computed_once_all_chunks_are() -> None:
    round_ = two_batches()
    round_.chunks_done[:] = [2, 1]
    assert [computed(round_, number) for number in (0, 1)] == [False, True]
    round_.chunks_done[0] = 3
    assert computed(round_, 0)


def test_a_batch_begins_once_all_row_ranges_of_the_one_before_are_applied() -> None:
    round_ = two_batches()
    assert before_applied(round_, 0)
    for done in (0, 2):
        round_.ranges_done[0] = done
        assert not before_applied(round_, 1)
    round_.ranges_done[0] = 3
    assert before_applied(round_, 1)


def test_every_row_range_of_a_batch_is_taken_once() -> None:
    round_ = two_batches()
    for number in (1, 0):
        assert [take(round_, number, 0) for _ in range(4)] == [(0, 2), (2, 6), (0, 0), (0, 0)]
        assert [take(round_, number, 1) for _ in range(2)] == [(0, 9), (0, 0)]


@pytest.mark.parametrize("loss", ["softmax", "logistic"])
def test_no_gradient_is_applied_while_a_chunk_is_missing(loss: str) -> None:
    data = random_annotations(12, 8, 4).with_features(np.random.default_rng(0).random((12, 5), np.float32))
    config = Config(tower="context+features", sampler="uniform", loss=loss, label_pairs=5)
    problem = make_context_problem(config, data)
    batch = compute(problem, np.array_split(np.arange(12), 3), [1, 2, 3])
    tables, context, round_, changes, scratch = (
        problem.tables,
        problem.context,
        batch.layout,
        batch.changes,
        batch.scratch,
    )
    before = {name: array.copy() for name, array in problem.trained.items()}
    round_.chunks_done[0] -= 1
    if loss == "softmax":
        assert not apply_softmax_gradients(
            tables, context, problem.pairs, round_, 0, changes, batch.step, problem.sharing, scratch
        )
    else:
        assert not apply_pairwise_gradients(tables, context, round_, 0, changes, batch.step, scratch)
    assert not apply_input_gradients(context, round_, 0, changes, batch.step, scratch)
    assert not apply_feature_gradients(tables, problem.features, round_, 0, batch.moves)
    for name, array in problem.trained.items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)
    round_.chunks_done[0] += 1
    batch.apply()
    assert (tables.labels != before["labels"]).any()
