"""The kernels of the memory against what NumPy makes of the same numbers; run without the compiler too."""

from __future__ import annotations

import numpy as np
import pytest

from vse_ens.kernels.memory import (
    SharedSums,
    Sources,
    Supports,
    add_dense,
    add_sparse,
    find_supports,
    solve_supports,
    sum_labels,
    sum_rows,
    turn_pairs,
    turn_weights,
)
from vse_ens.kernels.tables import Pairs

LABELS, IMAGES, WIDTH, REGULARIZATION = 12, 40, 4, 2.0
_numbers = np.random.default_rng(5)
MATRIX = _numbers.random((IMAGES, LABELS)) < 0.35
WEIGHTS = _numbers.uniform(0.5, 2.0, IMAGES)  # no two sums are equal
GRAM = MATRIX.T @ (MATRIX * WEIGHTS[:, None])


def _pairs(matrix: np.ndarray) -> Pairs:
    return Pairs(np.concatenate([[0], np.cumsum(matrix.sum(axis=1))]), np.nonzero(matrix)[1].astype(np.int32))


SOURCES = Sources(_pairs(MATRIX), _pairs(MATRIX.T), WEIGHTS)
RANKS = np.empty(LABELS, np.int32)
RANKS[np.argsort(-GRAM.diagonal())] = np.arange(LABELS)


def found(room: int, first: int = 0, last: int = LABELS) -> tuple[Supports, SharedSums]:
    supports = Supports(np.zeros(LABELS, np.int32), np.full((LABELS, WIDTH), -1, np.int32), np.zeros((LABELS, WIDTH)))
    shared = SharedSums(
        np.arange(LABELS + 1, dtype=np.int64) * room,
        np.zeros(LABELS, np.int32),
        np.full(LABELS * room, -1, np.int32),
        np.zeros(LABELS * room),
        np.zeros(LABELS),
    )
    find_supports(SOURCES, GRAM.diagonal().copy(), RANKS, REGULARIZATION, supports, shared, first, last)
    return supports, shared


def test_pairs_are_turned() -> None:
    images = np.empty(MATRIX.sum(), np.int32)
    turn_pairs(SOURCES.by_image, SOURCES.by_label.indptr[:-1].copy(), images)
    np.testing.assert_array_equal(images, SOURCES.by_label.indices)


def test_sums_of_labels_and_rows() -> None:
    diagonal, meetings = np.empty(LABELS), np.empty(LABELS, np.int64)
    sum_labels(SOURCES, diagonal, meetings)
    np.testing.assert_allclose(diagonal, GRAM.diagonal())
    assert meetings.tolist() == [int((MATRIX[MATRIX[:, label]].sum(axis=1) - 1).sum()) for label in range(LABELS)]
    gram = np.zeros((LABELS, LABELS))
    sum_rows(SOURCES, gram, 3, 7)
    np.testing.assert_allclose(gram[3:7], GRAM[3:7])
    assert not gram[:3].any()
    assert not gram[7:].any()


def test_supports_are_the_best_and_shared_sums_the_largest_with_commoner_labels() -> None:
    room = 3
    supports, shared = found(room)
    for label in range(LABELS):
        gain = GRAM[label] ** 2 / (GRAM.diagonal() + REGULARIZATION)
        gain[label] = 0
        best = supports.labels[label, : supports.sizes[label]]
        assert sorted(best) == sorted(np.argsort(-gain)[:WIDTH])
        np.testing.assert_allclose(supports.together[label], GRAM[label, best])
        sums = np.where(RANKS[label] > RANKS, GRAM[label], 0)
        size = min(room, np.count_nonzero(sums))
        assert shared.sizes[label] == size
        kept = shared.labels[label * room : label * room + size]
        assert sorted(kept) == sorted(np.argsort(-sums)[:size])
        np.testing.assert_allclose(shared.values[label * room : label * room + size], GRAM[label, kept])
        assert shared.left_out[label] == pytest.approx(np.sort(sums)[::-1][room])


def test_only_the_labels_asked_for_are_touched_and_a_range_is_as_the_whole() -> None:
    whole, part = found(LABELS), found(LABELS, 4, 9)
    for all_rows, some_rows in ((whole[0].labels, part[0].labels), (whole[0].together, part[0].together)):
        np.testing.assert_array_equal(all_rows[4:9], some_rows[4:9])
    assert (part[0].labels[:4] == -1).all()
    assert (part[0].labels[9:] == -1).all()


def test_equal_gains_are_taken_in_the_order_of_meeting() -> None:
    matrix = np.ones((2, 6), dtype=bool)
    sources = Sources(_pairs(matrix), _pairs(matrix.T), np.ones(2))
    supports = Supports(np.zeros(6, np.int32), np.zeros((6, 2), np.int32), np.zeros((6, 2)))
    shared = SharedSums(
        np.zeros(7, np.int64), np.zeros(6, np.int32), np.empty(0, np.int32), np.empty(0), np.full(6, -1.0)
    )
    find_supports(sources, np.full(6, 2.0), np.arange(6, dtype=np.int32), 1.0, supports, shared, 0, 6)
    assert supports.labels.tolist() == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1], [0, 1]]
    assert shared.left_out.tolist() == [0, 2, 2, 2, 2, 2]  # the most common label has nothing to hold


def test_small_regressions_are_solved_and_turned_to_rows() -> None:
    supports, shared = found(LABELS)
    weights = np.zeros((LABELS, WIDTH), np.float32)
    assert solve_supports(supports, GRAM.diagonal().copy(), RANKS, shared, REGULARIZATION, weights, 0, LABELS) == 0
    expected = np.zeros((LABELS, LABELS))
    for label in range(LABELS):
        chosen = supports.labels[label]
        matrix = GRAM[np.ix_(chosen, chosen)] + REGULARIZATION * np.eye(WIDTH)
        expected[chosen, label] = np.linalg.solve(matrix, GRAM[chosen, label])
        np.testing.assert_allclose(weights[label], expected[chosen, label], rtol=1e-5, atol=1e-6)

    sizes = np.count_nonzero(expected, axis=1)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    indices, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
    turn_weights(supports, weights, indptr[:-1].copy(), indices, values)
    np.testing.assert_array_equal(indices, np.nonzero(expected)[1])
    np.testing.assert_allclose(values, expected[expected != 0], rtol=1e-5, atol=1e-6)


def test_a_sum_left_out_is_a_zero_that_both_labels_pay_for() -> None:
    # Label 0 from 1 and 2, of which 2 is the rarer: it had no room for its sum with 1, which is 5 at most.
    supports = Supports(np.array([2], np.int32), np.array([[1, 2]], np.int32), np.array([[6.0, 4.0]]))
    shared = SharedSums(
        np.zeros(4, np.int64), np.zeros(3, np.int32), np.empty(0, np.int32), np.empty(0), np.array([0.0, 0.0, 5.0])
    )
    weights = np.zeros((1, 2), np.float32)
    diagonal, ranks = np.array([20.0, 10.0, 8.0]), np.array([0, 1, 2], np.int32)
    assert solve_supports(supports, diagonal, ranks, shared, 2.0, weights, 0, 1) == 0
    np.testing.assert_allclose(weights, [[6 / (10 + 2 + 5), 4 / (8 + 2 + 5)]], rtol=1e-6)


def test_a_matrix_that_is_not_positive_is_counted() -> None:
    supports = Supports(np.array([2], np.int32), np.array([[1, 2]], np.int32), np.array([[6.0, 4.0]]))
    shared = SharedSums(
        np.array([0, 0, 0, 1]), np.array([0, 0, 1], np.int32), np.array([1], np.int32), np.array([9.0]), np.zeros(3)
    )
    diagonal, ranks = np.full(3, 8.0), np.array([0, 1, 2], np.int32)
    assert solve_supports(supports, diagonal, ranks, shared, 0.5, np.zeros((1, 2), np.float32), 0, 1) == 1


@pytest.mark.parametrize("labels", [1, 7, 130])  # around the width of a vector unit
def test_dense_and_sparse_rows_are_added(labels: int) -> None:
    numbers = np.random.default_rng(labels)
    weights = (numbers.normal(size=(labels, labels)) * (numbers.random((labels, labels)) < 0.5)).astype(np.float32)
    matrix = numbers.random((5, labels)) < 0.4
    scales = numbers.normal(size=5).astype(np.float32)
    start = numbers.normal(size=(5, labels)).astype(np.float32)
    expected = start + scales[:, None] * (matrix @ weights)
    dense, sparse = start.copy(), start.copy()
    add_dense(_pairs(matrix), scales, weights, dense)
    rows = _pairs(weights != 0)
    add_sparse(_pairs(matrix), scales, rows.indptr, rows.indices, weights[weights != 0], sparse)
    np.testing.assert_allclose(dense, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(sparse, expected, rtol=1e-4, atol=1e-4)
