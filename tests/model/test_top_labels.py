"""The best labels of a row equal the head of a full sort, ties and all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from tests.support.top_labels import top_labels

tied = st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 0.5, 2.0])
scores_of = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=tied)


@given(scores_of, st.integers(1, 12))
def test_equals_a_full_sort(scores: NDArray[np.float32], count: int) -> None:
    labels, values = top_labels(scores, count)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    assert (labels == expected).all()
    assert (values == np.take_along_axis(scores, expected, axis=1)).all()


def test_labels_left_out_come_last() -> None:
    labels, values = top_labels(np.array([[1.0, -np.inf, 3.0, -np.inf]], np.float32), 3)
    assert labels.tolist() == [[2, 0, 1]]
    assert values.tolist() == [[3.0, 1.0, -np.inf]]


@pytest.mark.parametrize("count", [1, 5])
def test_no_rows(count: int) -> None:
    labels, values = top_labels(np.empty((0, 3), np.float32), count)
    assert labels.shape == values.shape == (0, min(count, 3))


def test_leaves_the_scores_alone() -> None:
    scores = np.array([[3.0, 1.0, 2.0]], np.float32)
    top_labels(scores, 2)
    assert scores.tolist() == [[3.0, 1.0, 2.0]]
