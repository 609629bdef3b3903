"""The errors that are planted to compare the audit with cleanlab."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.accuracy.audit_rivals import KINDS, _nearest, compare

from vse_ens.data.datasets.scenes import scenes

DATA = scenes(images=300, labels=50, seed=0)
TRUTH = DATA.to_matrix().toarray() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_planted_errors_are_the_difference_to_the_truth(kind: str) -> None:
    planted = KINDS[kind](TRUTH, np.random.default_rng(0))
    assert (planted.wrong == (planted.pairs & ~TRUTH)).all()
    assert (planted.missing == (TRUTH & ~planted.pairs)).all()
    expected = {"random": (0.02, 0.0), "confusable": (0.02, 0.02), "swapped": (0.02, 0.02), "missing": (0.0, 0.05)}
    shares = [errors.sum() / TRUTH.sum() for errors in (planted.wrong, planted.missing)]
    assert shares == pytest.approx(expected[kind], abs=2 / TRUTH.sum())


def test_a_swapped_label_goes_to_an_image_that_shares_one() -> None:
    planted = KINDS["swapped"](TRUTH, np.random.default_rng(0))
    assert (planted.pairs.sum(axis=0) == TRUTH.sum(axis=0)).all()
    assert (planted.pairs.sum(axis=1) == TRUTH.sum(axis=1)).all()


def test_a_confusable_label_is_used_like_the_one_it_replaces() -> None:
    together = TRUTH.T.astype(np.float32) @ TRUTH.astype(np.float32)
    np.fill_diagonal(together, 0.0)
    alike = _nearest(together)
    planted = KINDS["confusable"](TRUTH, np.random.default_rng(0))
    for image, label in np.argwhere(planted.wrong):
        assert any(label in alike[other] for other in np.flatnonzero(planted.missing[image]))


def test_all_methods_rank_the_same_pairs() -> None:
    pytest.importorskip("cleanlab", reason="cleanlab is not installed")
    planted = KINDS["random"](TRUTH, np.random.default_rng(0))
    found = compare(DATA, planted, "random", epochs=1)
    assert len(found) == 3
    chance = planted.wrong.sum() / planted.pairs.sum()
    assert all(chance < values["average_precision"] < 1.0 for values in found.values())
