from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.baseline_cases import Matrix, annotations, matrices
from tests.support.ridge_twin import gram_by_products
from vse_ens.label_weights import gram as gram_module
from vse_ens.label_weights.gram import gram_matrix, size_weights
from vse_ens.run.pool import LocalPool
from vse_ens.run.threads import Workers


@given(matrix=matrices, row_power=st.sampled_from([0.0, 0.5, 1.0]))
def test_sums_over_common_images_are_products(matrix: Matrix, row_power: float) -> None:
    data = annotations(matrix)
    with Workers(1) as worker:
        np.testing.assert_allclose(
            gram_matrix(data, LocalPool(worker), row_power), gram_by_products(data, row_power), rtol=1e-12, atol=1e-12
        )


def test_counts_without_a_power_are_whole() -> None:
    data = annotations(np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0]], dtype=bool))
    with Workers(1) as worker:
        assert gram_matrix(data, LocalPool(worker)).tolist() == [[3, 2, 1], [2, 2, 1], [1, 1, 1]]


def test_pairs_count_one_on_average() -> None:
    # One image of four labels, two of one, one of none: 1/2 and 1 before the scale, so pairs sum to 4 x 1/2 + 2 x 1.
    starts = np.array([0, 4, 5, 5, 6])
    np.testing.assert_allclose(size_weights(starts, 9, 0.5)[[0, 1, 4]], [1.5, 1.5, 0.75])


def test_no_images_have_no_weights_to_scale() -> None:
    assert size_weights(np.zeros(1, np.int64), 3, 0.5).tolist() == [1.0]
    assert size_weights(np.zeros(4, np.int64), 3, 0.5).tolist() == [1.0]


@pytest.mark.parametrize("block", [1, 2, 3])
def test_weights_do_not_depend_on_blocks(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    starts = np.array([0, 4, 5, 5, 7, 8, 11])
    whole = size_weights(starts, 5, 0.5)
    monkeypatch.setattr(gram_module, "_BLOCK", block)
    assert size_weights(starts, 5, 0.5).tobytes() == whole.tobytes()
