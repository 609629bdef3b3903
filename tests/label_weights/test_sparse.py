from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.baseline_cases import Matrix, annotations, matrices
from tests.support.ridge_twin import gram_by_products, ridge_by_columns, supports_by_sorting
from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError
from vse_ens.label_weights.sparse import MAX_SUMS, sparse_label_weights
from vse_ens.model.weights import LabelWeights
from vse_ens.run.pool import LocalPool
from vse_ens.run.threads import Workers


def random_pairs(images: int, labels: int, share: float) -> Annotations:
    # The lower a number, the more common the label: no two gains are equal, so that the slow twin chooses the same.
    chance = share * np.linspace(2.0, 0.2, labels)
    return annotations(np.random.default_rng(3).random((images, labels)) < chance)


def learn(
    data: Annotations, regularization: float, support: int, *, row_power: float = 0.0, max_sums: int = MAX_SUMS
) -> LabelWeights:
    with Workers(1) as worker:
        pool = LocalPool(worker)
        return sparse_label_weights(data, regularization, support, pool, row_power=row_power, max_sums=max_sums)


def written_out(memory: LabelWeights) -> np.ndarray:
    labels = np.arange(memory.labels)
    return np.array([memory.weights_between(labels, label) for label in labels]).reshape(-1, memory.labels).T


@given(matrix=matrices, regularization=st.sampled_from([0.1, 1.0, 50.0]), row_power=st.sampled_from([0.0, 0.5]))
def test_full_supports_give_the_regression_on_cooccurring_labels(
    matrix: Matrix, regularization: float, row_power: float
) -> None:
    data = annotations(matrix)
    gram = gram_by_products(data, row_power)
    expected = ridge_by_columns(gram, regularization, supports_by_sorting(gram, regularization, len(gram)))
    memory = learn(data, regularization, len(gram), row_power=row_power)
    assert not memory.is_dense
    np.testing.assert_allclose(written_out(memory), expected, rtol=1e-4, atol=1e-5)


def test_where_all_labels_occur_together_it_is_the_closed_form() -> None:
    data = random_pairs(600, 40, 0.3)
    gram = gram_by_products(data)
    assert (gram > 0).all()
    np.testing.assert_allclose(written_out(learn(data, 5.0, 39)), ridge_by_columns(gram, 5.0), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("support", [1, 5, 20])
def test_a_support_holds_the_labels_that_alone_tell_most(support: int) -> None:
    data = random_pairs(400, 60, 0.1)
    gram = gram_by_products(data, 0.5)
    supports = supports_by_sorting(gram, 5.0, support)
    assert max(map(len, supports)) == support
    memory = learn(data, 5.0, support, row_power=0.5)
    np.testing.assert_allclose(written_out(memory), ridge_by_columns(gram, 5.0, supports), rtol=1e-4, atol=1e-6)


def test_any_number_of_workers_gives_the_same_bytes() -> None:
    data = random_pairs(300, 700, 0.02)
    with Workers(1) as one, Workers(3) as three:
        alone, together = (
            sparse_label_weights(data, 5.0, 16, LocalPool(team), row_power=0.5).arrays() for team in (one, three)
        )
    assert all(alone[name].tobytes() == together[name].tobytes() for name in alone)


def test_sums_that_do_not_fit_cost_little_by_little() -> None:
    data = random_pairs(600, 40, 0.3)
    exact, near, far = (written_out(learn(data, 5.0, 39, max_sums=most)) for most in (780, 700, 300))
    np.testing.assert_allclose(exact, ridge_by_columns(gram_by_products(data), 5.0), rtol=1e-4, atol=1e-6)
    assert 0 < np.abs(near - exact).mean() < np.abs(far - exact).mean() < np.abs(exact).mean()


@pytest.mark.parametrize("max_sums", [0, 40, 60])
def test_left_out_sums_cannot_make_weights_run_away(max_sums: int) -> None:
    # All labels are nearly one: taking some sums for 0 and no more would give a matrix with negative eigenvalues.
    matrix = np.ones((50, 12), dtype=bool)
    matrix[np.arange(12), np.arange(12)] = False
    weights = written_out(learn(annotations(matrix), 0.01, 11, max_sums=max_sums))
    assert np.abs(weights).max() < 1.0


def test_a_regularization_too_small_for_equal_labels_is_refused() -> None:
    with pytest.raises(ConfigError, match="regularization is too small for these pairs"):
        learn(annotations(np.ones((30, 8), dtype=bool)), 1e-300, 7)


def test_rows_are_sorted_and_a_lonely_label_has_none() -> None:
    data = annotations(np.array([[1, 1, 0, 1], [0, 0, 1, 0], [1, 1, 0, 0]], dtype=bool))
    memory = learn(data, 1.0, 3)
    assert memory.indptr.tolist() == [0, 2, 4, 4, 6]
    assert memory.indices.tolist() == [1, 3, 0, 3, 0, 1]
