"""Labels that are taken for others, against the slow way."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.curate_models import KNOWN, LABELS
from tests.support.kernel_problems import annotations
from vse_ens.curate.audit.odds import CANDIDATES, mistake_probabilities


def slow_similarity(one: int, other: int) -> float:
    """The cosine of the numbers of images that two labels share with each label."""
    rows = [set(KNOWN.label_numbers(image).tolist()) for image in range(len(KNOWN.images))]
    first, second = (
        np.array([float(sum(label in row and a in row for row in rows) * (a != label)) for a in range(LABELS)])
        for label in (one, other)
    )
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


def test_a_label_is_taken_for_the_best_of_random_labels() -> None:
    found = mistake_probabilities(KNOWN)
    for right in range(LABELS):
        others = sorted((a for a in range(LABELS) if a != right), key=lambda a: -slow_similarity(right, a))
        for rank, chosen in enumerate(others):
            expected = ((LABELS - rank) ** CANDIDATES - (LABELS - rank - 1) ** CANDIDATES) / LABELS**CANDIDATES
            assert found[chosen, right] == pytest.approx(expected, rel=1e-4, abs=1e-7)
        assert found[right, right] == 0.0


def test_a_label_is_taken_for_one_with_the_same_companions() -> None:
    # 0 and 1 are never together, and both are with 2; 3 is with 4.
    found = mistake_probabilities(annotations([[0, 2], [0, 2], [1, 2], [3, 4], [3, 4]], 5))
    assert found[:, 0].argmax() == 1
    assert found[:, 1].argmax() == 0
    assert found[1, 0] > 0.9
