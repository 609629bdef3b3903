from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.support.baseline_cases import Matrix, annotations, everything, matrices
from vse_ens.baselines import image_knn
from vse_ens.baselines.image_knn import ImageKnn

powers = st.sampled_from([0.5, 4.0, 10.0])


def slow_share(row: NDArray[np.bool_], others: Matrix, weights: NDArray[np.float64], label: int, power: float) -> float:
    """The share of a label that the image lacks, from the cosines of dense rows."""
    having, lacking = 0.0, 0.0
    for other in others:
        left = other & (np.arange(len(other)) != label)
        norms = (weights[row] ** 2).sum() * (weights[left] ** 2).sum()
        cosine = (weights[row & left] ** 2).sum() / norms**0.5 if norms else 0.0
        if other[label]:
            having += cosine**power
        else:
            lacking += cosine**power
    return float(having / (having + lacking)) if having else 0.0


def weights_of(matrix: Matrix) -> NDArray[np.float64]:
    return np.sqrt(np.log1p(len(matrix) / np.maximum(matrix.sum(axis=0), 1)))


@given(matrix=matrices, power=powers)
def test_scores_are_shares_among_the_other_images(matrix: Matrix, power: float) -> None:
    data, weights = annotations(matrix), weights_of(matrix)
    scores = ImageKnn(power).fit(data).scores(everything(data))
    for image, label in product(*map(range, matrix.shape)):
        if not matrix[image, label]:
            expected = slow_share(matrix[image], np.delete(matrix, image, axis=0), weights, label, power)
            assert scores[image, label] == pytest.approx(expected, rel=1e-5, abs=2e-9)


@given(matrix=matrices, new=matrices, power=powers)
def test_a_new_image_has_all_images_as_neighbors(matrix: Matrix, new: Matrix, power: float) -> None:
    new = np.resize(new, (len(new), matrix.shape[1]))
    known = annotations(new)
    scores = ImageKnn(power).fit(annotations(matrix)).score_labels(known.indptr, known.indices)
    weights = weights_of(matrix)
    for image, label in product(*map(range, new.shape)):
        if not new[image, label]:
            expected = slow_share(new[image], matrix, weights, label, power)
            assert scores[image, label] == pytest.approx(expected, rel=1e-5, abs=2e-9)


def test_a_case_by_hand() -> None:
    # Each label is on two of four images: all weigh the same, and cancel.
    data = annotations(np.array([[1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]], bool))
    scores = ImageKnn(power=2.0).fit(data).scores(np.array([0]))
    # Image 0 has labels 0 and 2. Image 1 without label 1 has label 0: a squared cosine of 1/2. Image 2 shares nothing.
    # Image 3 lacks label 1: 1/4. Label 3 is the mirror image of label 1.
    assert scores[0, [1, 3]] == pytest.approx([2 / 3, 2 / 3])


@given(matrix=matrices)
def test_an_image_whose_labels_changed_is_not_its_neighbor(matrix: Matrix) -> None:
    data = annotations(matrix)
    fitted = ImageKnn().fit(data)
    np.testing.assert_array_equal(fitted.knowing(data).scores(everything(data)), fitted.scores(everything(data)))
    without = annotations(matrix & (np.arange(matrix.shape[1]) > 0))
    scores, weights = fitted.knowing(without).scores(everything(data)), weights_of(matrix)
    for image in range(len(matrix)):
        row = matrix[image] & (np.arange(matrix.shape[1]) > 0)
        expected = slow_share(row, np.delete(matrix, image, axis=0), weights, 0, 6.0)
        assert scores[image, 0] == pytest.approx(expected, rel=1e-5, abs=2e-9)


def test_popularity_ranks_labels_that_no_neighbor_has() -> None:
    matrix = np.zeros((7, 5), bool)
    matrix[[0, 1], 0] = matrix[1, 1] = True
    matrix[2:4, 2] = matrix[2:5, 3] = matrix[5, 4] = True
    scores = ImageKnn().fit(annotations(matrix)).scores(np.array([0]))
    assert np.argsort(-scores[0, 1:]).tolist() == [0, 2, 1, 3]
    assert scores[0, 2:].max() < 1e-8


def test_blocks_do_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    data = annotations(np.random.default_rng(0).random((40, 12)) < 0.3)
    fitted = ImageKnn().fit(data)
    whole = fitted.scores(everything(data))
    monkeypatch.setattr(image_knn, "_BLOCK_BYTES", 1)
    np.testing.assert_array_equal(fitted.scores(everything(data)), whole)
