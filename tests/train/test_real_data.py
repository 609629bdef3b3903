"""The default, without options, keeps its accuracy on real pairs."""

from __future__ import annotations

from pathlib import Path

import pytest

from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations


@pytest.mark.shared_data
def test_the_default_holds_its_figures_on_corel5k(shared_data: Path) -> None:
    """Leave-one-out on 5,000 images and 374 labels; two seconds on two cores.

    Three seeds gave recall@10 0.747 to 0.752, MRR 0.500 to 0.504 and AUC 0.956 to 0.960, and another CPU changes
    recall@10 by 0.004. The floors of the first two are just above EASE, the strongest baseline, with its regularization
    tuned on the test labels themselves (0.7351 at 20, 0.4949 at 5): chance does not take the default below them, and a
    default that is no better than EASE is broken. The ceilings catch a test label that leaks into training.
    """
    train, test = Annotations.read(shared_data / "corel5k" / "pairs.tsv.gz").leave_one_out(seed=0)
    report = Annotator(seed=0).fit(train).evaluate(test)
    assert 0.7365 < report["recall@10"] < 0.78
    assert 0.495 < report["mrr"] < 0.53
    assert 0.944 < report["auc"] < 0.975
