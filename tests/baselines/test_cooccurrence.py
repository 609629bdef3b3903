from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.baseline_cases import Matrix, annotations, everything, matrices
from vse_ens.baselines.cooccurrence import Cooccurrence
from vse_ens.data.annotations import Annotations

parameters = st.sampled_from([0.0, 0.5, 3.0, 11.0])
settings = st.builds(
    Cooccurrence,
    aggregation=st.sampled_from(["sum", "vote"]),
    candidates=st.integers(1, 10),
    stability=parameters,
    descriptiveness=parameters,
    rank=parameters,
)


def slow_scores(baseline: Cooccurrence, matrix: Matrix) -> list[list[float]]:
    """The paper's formulas, one label at a time."""
    labels = range(matrix.shape[1])
    count = [int(matrix[:, label].sum()) for label in labels]
    scores = [[0.0 for _ in labels] for _ in matrix]
    for image, row in enumerate(matrix):
        for u in np.flatnonzero(row):
            together = {c: int((matrix[:, u] & matrix[:, c]).sum()) for c in labels if c != u}
            ranked = sorted((c for c in together if together[c]), key=lambda c: (-together[c], c))
            for place, c in enumerate(ranked[: baseline.candidates]):
                given_by_u = together[c] / count[u] if baseline.aggregation == "sum" else 1.0
                if baseline.stability:
                    given_by_u *= baseline.stability / (baseline.stability + abs(baseline.stability - log(count[u])))
                if baseline.descriptiveness:
                    k = baseline.descriptiveness
                    given_by_u *= k / (k + abs(k - log(count[c])))
                if baseline.rank:
                    given_by_u *= baseline.rank / (baseline.rank + place)
                scores[image][c] += given_by_u
    return scores


@given(baseline=settings, matrix=matrices)
def test_scores_equal_the_slow_twin(baseline: Cooccurrence, matrix: Matrix) -> None:
    data = annotations(matrix)
    scores = baseline.fit(data).scores(everything(data))
    np.testing.assert_allclose(scores, slow_scores(baseline, matrix), rtol=1e-5)


def test_a_worked_example() -> None:
    data = Annotations.from_pairs(
        [("1", "sea"), ("1", "sand"), ("2", "sea"), ("2", "sand"), ("3", "sea"), ("3", "boat"), ("4", "sea")]
    )
    plain = Cooccurrence(stability=0, descriptiveness=0, rank=0).fit(data)
    # sea occurs in 4 images: with sand in 2 of them, with boat in 1; boat and sand are never without the sea.
    (scores,) = plain.scores(np.array([data.images.number("4")]))
    assert dict(zip(data.labels, scores, strict=True)) == {"boat": 0.25, "sand": 0.5, "sea": 0.0}
    (scores,) = plain.scores(np.array([data.images.number("3")]))
    assert dict(zip(data.labels, scores, strict=True)) == {"boat": 0.25, "sand": 0.5, "sea": 1.0}


@pytest.mark.parametrize("aggregation", ["sum", "vote"])
def test_a_label_nobody_puts_forward_has_score_zero(aggregation: str) -> None:
    data = annotations(np.array([[1, 1, 0], [1, 1, 0], [1, 0, 1]], dtype=bool))
    (scores,) = Cooccurrence(aggregation=aggregation, candidates=1).fit(data).scores(np.array([0]))
    assert scores[2] == 0.0
    assert (scores[:2] > 0.0).all()


def test_memory_does_not_grow_with_the_square_of_the_labels() -> None:
    ids = [f"{number:05d}" for number in range(20_000)]
    ring = [(one, label) for one, after in zip(ids, ids[1:] + ids[:1], strict=True) for label in (one, after)]
    fitted = Cooccurrence().fit(Annotations.from_pairs(ring))
    assert fitted.partners.shape == fitted.weights.shape == (20_000, 25)
    assert sorted(fitted.partners[7, :2].tolist()) == [6, 8]
    assert (fitted.partners[7, 2:] == -1).all()
