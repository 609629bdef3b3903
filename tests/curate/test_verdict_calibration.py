"""Verdicts: the regression against a slow twin, labels that were accepted since, and what to ask for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.support.saved_models import random_annotator
from vse_ens.annotator import Annotator
from vse_ens.curate.verdict_calibration import (
    MIN_VERDICTS,
    Judged,
    doubt,
    fit_correction,
    judged_counts,
    spread_sample,
    with_verdicts,
)
from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError


@pytest.fixture(scope="module")
def model() -> Annotator:
    made = random_annotator("context with weights")
    assert made.calibration_ is not None
    return made.calibrate(completeness=0.6)


def some_image(model: Annotator) -> str:
    """An image with a few labels."""
    counts = model.known_.labels_per_image
    return model.known_.images.id(int(np.flatnonzero((counts > 1) & (counts < 6))[0]))


def test_the_regression_finds_the_maximum_of_the_posterior() -> None:
    draws = np.random.default_rng(0)
    counts = np.exp(draws.normal(-2, 1, 300))
    accepted = draws.random(300) < -np.expm1(-2.0 * counts**0.8)

    def loss(values: np.ndarray) -> float:
        numbers = np.exp(values[0] + values[1] * np.log(counts))
        right = -np.expm1(-numbers)
        likelihood = np.where(accepted, np.log(right), -numbers).sum()
        return float(-likelihood + (values[0] / 0.7) ** 2 / 2 + ((values[1] - 1) / 0.3) ** 2 / 2)

    found = fit_correction(counts, accepted)
    assert found[:2] == pytest.approx(minimize(loss, [0.0, 1.0]).x, abs=1e-3)
    assert found.verdicts == 300


@pytest.mark.parametrize("accepted", [True, False])
def test_verdicts_that_all_agree_give_finite_numbers(accepted: bool) -> None:
    found = fit_correction(np.full(60, 0.5), np.full(60, accepted))
    assert np.isfinite(found[:2]).all()
    assert (found.shift > 0) == accepted


def test_many_verdicts_correct_any_completeness() -> None:
    draws = np.random.default_rng(1)
    counts = np.exp(draws.normal(-2, 1, 5_000))
    for factor in (0.2, 5.0):
        accepted = draws.random(5_000) < -np.expm1(-factor * counts)
        found = fit_correction(counts, accepted)
        said = -np.expm1(-np.exp(found.shift) * counts**found.slope)
        assert said.mean() == pytest.approx(accepted.mean(), abs=0.01)


def test_the_counts_are_those_of_suggestions(model: Annotator) -> None:
    images = model.known_.images.ids(np.flatnonzero(model.known_.labels_per_image < 10)[:3])
    found = [(image, one) for image in images for one in model.annotate(image, top=4)]
    judged = Judged.of([(image, one.label, False) for image, one in found], model.loaded_)
    counts = judged_counts(model.loaded_, judged)
    assert -np.expm1(-counts) == pytest.approx([one.confidence for _, one in found], rel=1e-4)


def test_an_accepted_label_in_the_model_is_left_out_of_its_image(model: Annotator) -> None:
    image = some_image(model)
    before = model.annotate(image, top=2)
    assert len(before) == 2
    grown = Annotator.__new__(Annotator)
    grown.__dict__.update(model.__dict__)
    known = model.known_.joined(Annotations.from_pairs([(image, one.label) for one in before]))
    grown.loaded_ = replace(model.loaded_, known=known)
    judged = Judged.of([(image, one.label, True) for one in before], grown.loaded_)
    assert judged_counts(grown.loaded_, judged) == pytest.approx(
        [-np.log1p(-(one.confidence or 0.0)) for one in before], rel=1e-4
    )


def test_verdicts_on_other_labels_do_not_count(model: Annotator) -> None:
    image = some_image(model)
    known = model.known_labels(image)[0]
    new = model.annotate(image, top=1)[0].label
    judged = Judged.of(
        [(image, known, False), (image, new, False), ("nobody", new, True), (image, "nothing", True)], model.loaded_
    )
    assert model.known_.labels.ids(judged.labels) == [new]


def test_fifty_verdicts_correct_confidences_and_fewer_do_not(model: Annotator) -> None:
    asked = model.suggestions_to_judge(MIN_VERDICTS + 40)
    said = [(image, label, True) for image, label, _ in asked]
    assert with_verdicts(model.loaded_, said[: MIN_VERDICTS - 1]) is model.loaded_
    before = model.annotate(asked[0][0], top=1)[0]
    model.calibrate(completeness=0.6, verdicts=said)
    after = model.annotate(asked[0][0], top=1)[0]
    assert (after.label, after.score, after.hit) == (before.label, before.score, before.hit)
    assert after.confidence > before.confidence  # type: ignore[operator]
    assert model.calibration_.completeness.correction.verdicts == len(said)  # type: ignore[union-attr]
    model.calibrate(completeness=0.6)
    assert model.annotate(asked[0][0], top=1)[0] == before


def test_verdicts_asked_for_are_spread_and_new(model: Annotator) -> None:
    first = model.suggestions_to_judge(60)
    assert first == model.suggestions_to_judge(60)
    assert len({(image, label) for image, label, _ in first}) == len(first) > 50
    confidences = [confidence for _, _, confidence in first]
    every = [one.confidence or 0.0 for found in model.annotate(model.known_.images) for one in found]
    assert np.mean(confidences) > np.mean(every)  # the doubtful ones come more often
    assert min(confidences) < np.median(every)
    others = model.suggestions_to_judge(60, verdicts=[(image, label, True) for image, label, _ in first])
    assert not {pair[:2] for pair in first} & {pair[:2] for pair in others}
    assert model.suggestions_to_judge(60, seed=1) != first


def test_a_sample_is_proportional_to_its_weights() -> None:
    values = np.linspace(0, 1, 10_000, dtype=np.float32)
    weights = np.where(values < 0.5, np.float32(3.0), np.float32(1.0))
    chosen = values[spread_sample(values, weights, 400)]
    assert (chosen < 0.5).mean() == pytest.approx(0.75, abs=0.01)
    assert (chosen[:100] < 0.5).mean() == pytest.approx(0.75, abs=0.15)  # the first ones, too
    assert not len(spread_sample(values, np.zeros_like(values), 10))
    assert doubt(np.array([0.0, 0.5, 1.0], np.float32)).tolist() == [0.0, 0.5, 0.0]


def test_a_model_without_confidences_says_so() -> None:
    made = random_annotator("id")
    made.loaded_ = replace(made.loaded_, calibration=None)
    with pytest.raises(ConfigError, match="no confidences"):
        made.calibrate(completeness=0.5)


def test_workers_of_a_cluster_need_the_calibrated_model_on_disk(tmp_path: Path) -> None:
    made = random_annotator("id")
    made.save(tmp_path / "model")
    made.calibrate(completeness=0.5)
    with pytest.raises(ConfigError, match="call save first"):
        made.annotate_all(tmp_path / "all.csv", cluster="ray")
