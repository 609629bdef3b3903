from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines.cases import Matrix, annotations, matrices
from memory.ridge import gram_by_products
from vse_ens.memory.counting import gram, images_by_label, pieces, sources
from vse_ens.run.threads import Workers


@given(matrix=matrices)
def test_the_images_of_a_label_are_those_that_have_it(matrix: Matrix) -> None:
    turned = images_by_label(annotations(matrix))
    for label, column in enumerate(matrix.T):
        images = turned.indices[turned.indptr[label] : turned.indptr[label + 1]]
        np.testing.assert_array_equal(images, np.flatnonzero(column))


@given(matrix=matrices, row_power=st.sampled_from([0.0, 0.5, 1.0]))
def test_sums_over_common_images_are_products(matrix: Matrix, row_power: float) -> None:
    data = annotations(matrix)
    with Workers(1) as worker:
        np.testing.assert_allclose(
            gram(sources(data, row_power), worker), gram_by_products(data, row_power), rtol=1e-12, atol=1e-12
        )


def test_counts_without_a_power_are_whole() -> None:
    data = annotations(np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0]], dtype=bool))
    with Workers(1) as worker:
        assert gram(sources(data), worker).tolist() == [[3, 2, 1], [2, 2, 1], [1, 1, 1]]


@pytest.mark.parametrize("labels", [0, 1, 256, 257, 1_000])
def test_pieces_are_all_labels_once(labels: int) -> None:
    met: list[int] = []
    for task in pieces(labels, lambda first, last: met.extend(range(first, last))):
        task(0)
    assert met == list(range(labels))
