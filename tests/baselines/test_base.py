"""What every baseline promises, whatever it computes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given

from tests.support.baseline_cases import Matrix, annotations, everything, matrices
from vse_ens.baselines.base import Baseline
from vse_ens.baselines.registry import make_baseline
from vse_ens.data.annotations import Annotations
from vse_ens.errors import DataError
from vse_ens.evaluate.rank import Scorer

BASELINES = [
    make_baseline("popularity"),
    make_baseline("cooccurrence"),
    make_baseline("cooccurrence", aggregation="vote", candidates=2),
    make_baseline("ease", regularization=0.5),
    make_baseline("image-knn", power=3.0),
]


def _of(baselines: list[Baseline]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("baseline", baselines, ids=lambda one: f"{one.name}-{one.to_dict()}")


every_baseline = _of(BASELINES)


def scorer_of(baseline: Baseline, data: Annotations) -> Scorer:
    return baseline.fit(data)


@every_baseline
@given(matrix=matrices)
def test_scores_are_fresh_finite_rows(baseline: Baseline, matrix: Matrix) -> None:
    data = annotations(matrix)
    scorer = scorer_of(baseline, data)
    assert (scorer.images, scorer.labels) == (data.images, data.labels)
    scores = scorer.scores(everything(data))
    assert scores.shape == matrix.shape
    assert scores.dtype == np.float32
    assert scores.flags.c_contiguous
    assert np.isfinite(scores).all()
    again = scorer.scores(everything(data))
    scores[:] = -1.0
    np.testing.assert_array_equal(scorer.scores(everything(data)), again)


@every_baseline
@given(matrix=matrices)
def test_an_image_scores_alike_alone_and_among_others(baseline: Baseline, matrix: Matrix) -> None:
    data = annotations(matrix)
    fitted = baseline.fit(data)
    all_scores = fitted.scores(everything(data))
    order = np.concatenate([everything(data)[::-1], [0, 0]])
    np.testing.assert_array_equal(fitted.scores(order), all_scores[order])
    assert fitted.scores(np.empty(0, np.int64)).shape == (0, len(data.labels))


@_of(BASELINES[:-1])  # an image is not its own neighbor
@given(matrix=matrices)
def test_a_new_image_scores_as_a_known_one_with_the_same_labels(baseline: Baseline, matrix: Matrix) -> None:
    data = annotations(matrix)
    fitted = baseline.fit(data)
    expected = fitted.scores(everything(data))
    np.testing.assert_array_equal(fitted.score_labels(data.indptr, data.indices), expected)
    turned = annotations(matrix[::-1])
    np.testing.assert_array_equal(fitted.knowing(turned).scores(everything(data)), expected[::-1])


@every_baseline
def test_other_labels_than_those_fitted_are_refused(baseline: Baseline) -> None:
    fitted = baseline.fit(annotations(np.eye(3, dtype=bool)))
    with pytest.raises(DataError, match="the 4 labels of the pairs differ from the 3 labels"):
        fitted.knowing(annotations(np.eye(4, dtype=bool)))


@every_baseline
def test_settings_survive_json(baseline: Baseline) -> None:
    settings = json.loads(json.dumps(baseline.to_dict()))
    assert make_baseline(baseline.name, **settings) == baseline


@given(matrix=matrices)
def test_rows_are_those_of_the_images_asked_for(matrix: Matrix) -> None:
    data = annotations(matrix)
    images = np.array([len(matrix) - 1, 0, 0])
    indptr, indices = data.rows(images)
    assert (indptr.dtype, indices.dtype) == (np.int64, np.int32)
    for place, image in enumerate(images):
        assert indices[indptr[place] : indptr[place + 1]].tolist() == np.flatnonzero(matrix[image]).tolist()
