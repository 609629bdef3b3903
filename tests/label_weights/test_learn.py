from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.baseline_cases import annotations
from tests.support.ridge_twin import gram_by_products, ridge_by_columns
from vse_ens.data.annotations import Annotations
from vse_ens.data.splits import leave_one_out
from vse_ens.errors import ConfigError
from vse_ens.evaluate.rank import FunctionScorer, evaluate
from vse_ens.evaluate.report import summarize
from vse_ens.kernels.arrays import Csr
from vse_ens.label_weights.learn import (
    ROW_POWER,
    learn_label_weights,
)
from vse_ens.model.weights import LabelWeights
from vse_ens.run.pool import LocalPool
from vse_ens.run.threads import Workers

DATA = annotations(np.random.default_rng(0).random((200, 30)) < 0.2)


def test_few_labels_get_the_closed_form_with_weighed_images() -> None:
    with Workers(1) as worker:
        memory = learn_label_weights(DATA, 4.0, LocalPool(worker))
    assert memory.is_dense
    expected = ridge_by_columns(gram_by_products(DATA, ROW_POWER), 4.0)
    np.testing.assert_allclose(memory.values, expected, rtol=1e-4, atol=1e-6)


def test_more_labels_get_the_sparse_form() -> None:
    with Workers(1) as worker:
        memory = learn_label_weights(DATA, 4.0, LocalPool(worker), dense_labels=29, support=3)
    assert not memory.is_dense
    assert np.bincount(memory.indices).tolist() == [3] * 30


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_a_regularization_that_cannot_work_is_refused(value: float) -> None:
    with (
        Workers(1) as worker,
        pytest.raises(ConfigError, match="regularization of the label weights must be a number above"),
    ):
        learn_label_weights(DATA, value, LocalPool(worker))


@pytest.mark.parametrize("images", [0, 3])
def test_pairs_of_lonely_labels_say_nothing(images: int) -> None:
    data = annotations(np.eye(3, dtype=bool)[:images].reshape(images, 3))
    with Workers(1) as worker:
        assert not learn_label_weights(data, 1.0, LocalPool(worker)).values.any()
        assert not len(learn_label_weights(data, 1.0, LocalPool(worker), dense_labels=0).values)


@pytest.mark.shared_data
def test_the_sparse_form_is_near_the_closed_one_on_real_pairs(shared_data: Path) -> None:
    train, _ = Annotations.read(shared_data / "iaprtc12" / "pairs.tsv.gz", header=False).leave_one_out(seed=0)
    known, held_out = leave_one_out(train, 1, name="validation", max_images=5_000)

    def recall(memory: LabelWeights) -> float:
        def scores(images: np.ndarray) -> np.ndarray:
            made = np.zeros((len(images), len(known.labels)), np.float32)
            memory.add_scores(Csr(*known.rows(images)), np.ones(len(images), np.float32), made)
            return made

        found = evaluate(FunctionScorer(known.images, known.labels, scores), known, held_out)
        return float(summarize(found)["recall@10"])

    with Workers(1) as worker:
        dense = recall(learn_label_weights(known, 10.0, LocalPool(worker)))
        sparse = recall(learn_label_weights(known, 10.0, LocalPool(worker), dense_labels=0))
    assert dense == pytest.approx(0.590, abs=0.008)
    assert dense - 0.02 < sparse < dense + 0.01
