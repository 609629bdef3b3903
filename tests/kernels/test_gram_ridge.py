"""The kernels of the memory against what NumPy makes of the same numbers; run without the compiler too.

Arrays are read-only where those of a training are: the compiled kernels are the same then, and compiled once.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.compiled import compiled
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.gram_ridge import (
    PairSums,
    Supports,
    WeightedPairs,
    _select,
    add_dense_weights,
    add_sparse_weights,
    find_supports,
    gram_diagonal,
    gram_rows,
    solve_supports,
    supports_to_csr,
    transpose_pairs,
)
from vse_ens.label_weights.pairs import read_only

LABELS, IMAGES, WIDTH, REGULARIZATION = 12, 40, 4, 2.0
_numbers = np.random.default_rng(5)
MATRIX = _numbers.random((IMAGES, LABELS)) < 0.35
WEIGHTS = _numbers.uniform(0.5, 2.0, LABELS + 1)
GRAM = MATRIX.T @ (MATRIX * WEIGHTS[MATRIX.sum(axis=1), None])


def _pairs(matrix: np.ndarray) -> Csr:
    starts = np.concatenate([[0], np.cumsum(matrix.sum(axis=1))])
    return Csr(read_only(starts), read_only(np.nonzero(matrix)[1].astype(np.int32)))


SOURCES = WeightedPairs(_pairs(MATRIX), _pairs(MATRIX.T), read_only(WEIGHTS))
RANKS = np.empty(LABELS, np.int32)
RANKS[np.argsort(-GRAM.diagonal())] = np.arange(LABELS)
RANKS = read_only(RANKS)
DIAGONAL = read_only(GRAM.diagonal().copy())


def found(room: int, first: int = 0, last: int = LABELS) -> tuple[Supports, PairSums]:
    labels = last - first
    supports = Supports(np.zeros(labels, np.int32), np.full((labels, WIDTH), -1, np.int32), np.zeros((labels, WIDTH)))
    shared = PairSums(
        np.arange(labels + 1, dtype=np.int64) * room,
        np.zeros(labels, np.int32),
        np.full(labels * room, -1, np.int32),
        np.zeros(labels * room),
        np.zeros(labels),
    )
    find_supports(SOURCES, DIAGONAL, RANKS, REGULARIZATION, supports, shared, first, last)
    return supports, shared


def solve(
    supports: Supports,
    diagonal: np.ndarray,
    ranks: np.ndarray,
    shared: PairSums,
    regularization: float,
    weights: np.ndarray,
) -> int:
    supports, shared = Supports(*map(read_only, supports)), PairSums(*map(read_only, shared))
    return solve_supports(supports, read_only(diagonal), read_only(ranks), shared, regularization, weights)


def test_pairs_are_turned() -> None:
    images = np.empty(MATRIX.sum(), np.int32)
    transpose_pairs(SOURCES.by_image, SOURCES.by_label.indptr[:-1].copy(), images)
    np.testing.assert_array_equal(images, SOURCES.by_label.indices)


def test_pairs_are_turned_block_by_block() -> None:
    images, places = np.empty(MATRIX.sum(), np.int32), SOURCES.by_label.indptr[:-1].copy()
    for first, last in ((0, 13), (13, 14), (14, IMAGES)):
        block = Csr(SOURCES.by_image.indptr[first : last + 1], SOURCES.by_image.indices)
        transpose_pairs(block, places, images, first)
    np.testing.assert_array_equal(images, SOURCES.by_label.indices)
    np.testing.assert_array_equal(places, SOURCES.by_label.indptr[1:])


def test_sums_of_labels_and_rows() -> None:
    diagonal, meetings = np.zeros(LABELS), np.zeros(LABELS, np.int64)
    gram_diagonal(SOURCES.by_image, WEIGHTS, diagonal, meetings)
    np.testing.assert_allclose(diagonal, GRAM.diagonal())
    assert meetings.tolist() == [int((MATRIX[MATRIX[:, label]].sum(axis=1) - 1).sum()) for label in range(LABELS)]
    rows = np.zeros((4, LABELS))
    gram_rows(SOURCES, rows, 3, 7)
    np.testing.assert_allclose(rows, GRAM[3:7])


def test_supports_and_pair_sums_keep_the_best_labels() -> None:
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
        assert shared.largest_dropped[label] == pytest.approx(np.sort(sums)[::-1][room])


def test_a_range_is_as_the_whole() -> None:
    (supports, shared), (some, sums) = found(LABELS), found(LABELS, 4, 9)
    for expected, own in zip(supports.part(slice(4, 9)), some, strict=True):
        np.testing.assert_array_equal(own, expected)
    np.testing.assert_array_equal(sums.sizes, shared.sizes[4:9])
    np.testing.assert_array_equal(sums.labels, shared.labels[4 * LABELS : 9 * LABELS])
    np.testing.assert_array_equal(sums.values, shared.values[4 * LABELS : 9 * LABELS])


def test_equal_gains_are_taken_in_the_order_of_meeting() -> None:
    matrix = np.ones((2, 6), dtype=bool)
    sources = WeightedPairs(_pairs(matrix), _pairs(matrix.T), read_only(np.ones(7)))
    supports = Supports(np.zeros(6, np.int32), np.zeros((6, 2), np.int32), np.zeros((6, 2)))
    shared = PairSums(
        np.zeros(7, np.int64), np.zeros(6, np.int32), np.empty(0, np.int32), np.empty(0), np.full(6, -1.0)
    )
    diagonal, ranks = read_only(np.full(6, 2.0)), read_only(np.arange(6, dtype=np.int32))
    find_supports(sources, diagonal, ranks, 1.0, supports, shared, 0, 6)
    assert supports.labels.tolist() == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1], [0, 1]]
    assert shared.largest_dropped.tolist() == [0, 2, 2, 2, 2, 2]  # the most common label has nothing to hold


@pytest.mark.parametrize("size", [1, 2, 3, 50, 300])
def test_selecting_is_sorting_and_taking_one(size: int) -> None:
    rng = np.random.default_rng(size)
    rising, select = np.arange(float(size)), compiled(_select)
    for values in (rng.random(size), rng.integers(0, 4, size) * 1.0, rising, -rising, np.zeros(size)):
        for place in sorted({0, size // 2, size - 1}):
            assert select(values.copy(), size, place) == np.sort(values)[place]


def test_small_regressions_are_solved_and_turned_to_rows() -> None:
    supports, shared = found(LABELS)
    weights = np.zeros((LABELS, WIDTH), np.float32)
    assert solve(supports, GRAM.diagonal().copy(), RANKS, shared, REGULARIZATION, weights) == 0
    expected = np.zeros((LABELS, LABELS))
    for label in range(LABELS):
        chosen = supports.labels[label]
        matrix = GRAM[np.ix_(chosen, chosen)] + REGULARIZATION * np.eye(WIDTH)
        expected[chosen, label] = np.linalg.solve(matrix, GRAM[chosen, label])
        np.testing.assert_allclose(weights[label], expected[chosen, label], rtol=1e-5, atol=1e-6)

    sizes = np.count_nonzero(expected, axis=1)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    indices, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
    supports_to_csr(supports, weights, indptr[:-1].copy(), indices, values)
    np.testing.assert_array_equal(indices, np.nonzero(expected)[1])
    np.testing.assert_allclose(values, expected[expected != 0], rtol=1e-5, atol=1e-6)


def test_a_sum_left_out_is_a_zero_that_both_labels_pay_for() -> None:
    # Label 0 from 1 and 2, of which 2 is the rarer: it had no room for its sum with 1, which is 5 at most.
    supports = Supports(np.array([2], np.int32), np.array([[1, 2]], np.int32), np.array([[6.0, 4.0]]))
    shared = PairSums(
        np.zeros(4, np.int64), np.zeros(3, np.int32), np.empty(0, np.int32), np.empty(0), np.array([0.0, 0.0, 5.0])
    )
    weights = np.zeros((1, 2), np.float32)
    diagonal, ranks = np.array([20.0, 10.0, 8.0]), np.array([0, 1, 2], np.int32)
    assert solve(supports, diagonal, ranks, shared, 2.0, weights) == 0
    np.testing.assert_allclose(weights, [[6 / (10 + 2 + 5), 4 / (8 + 2 + 5)]], rtol=1e-6)


def test_a_matrix_that_is_not_positive_is_counted() -> None:
    supports = Supports(np.array([2], np.int32), np.array([[1, 2]], np.int32), np.array([[6.0, 4.0]]))
    shared = PairSums(
        np.array([0, 0, 0, 1]), np.array([0, 0, 1], np.int32), np.array([1], np.int32), np.array([9.0]), np.zeros(3)
    )
    diagonal, ranks = np.full(3, 8.0), np.array([0, 1, 2], np.int32)
    assert solve(supports, diagonal, ranks, shared, 0.5, np.zeros((1, 2), np.float32)) == 1


@pytest.mark.parametrize("labels", [1, 7, 130])  # around the width of a vector unit
def test_dense_and_sparse_rows_are_added(labels: int) -> None:
    numbers = np.random.default_rng(labels)
    weights = (numbers.normal(size=(labels, labels)) * (numbers.random((labels, labels)) < 0.5)).astype(np.float32)
    matrix = numbers.random((5, labels)) < 0.4
    scales = numbers.normal(size=5).astype(np.float32)
    start = numbers.normal(size=(5, labels)).astype(np.float32)
    expected = start + scales[:, None] * (matrix @ weights)
    dense, sparse = start.copy(), start.copy()
    add_dense_weights(_pairs(matrix), scales, weights, dense)
    rows = _pairs(weights != 0)
    add_sparse_weights(_pairs(matrix), scales, rows.indptr, rows.indices, weights[weights != 0], sparse)
    np.testing.assert_allclose(dense, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(sparse, expected, rtol=1e-4, atol=1e-4)
