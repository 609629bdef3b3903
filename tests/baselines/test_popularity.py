from __future__ import annotations

from hypothesis import given

from tests.support.baseline_cases import Matrix, annotations, everything, matrices
from vse_ens.baselines.base import Popularity


@given(matrix=matrices)
def test_the_score_is_the_number_of_images(matrix: Matrix) -> None:
    data = annotations(matrix)
    scores = Popularity().fit(data).scores(everything(data))
    assert scores.tolist() == [[matrix[:, label].sum() for label in range(matrix.shape[1])]] * len(matrix)
