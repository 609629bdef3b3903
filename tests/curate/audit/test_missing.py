"""The best suggestions of all images together, against one sorted list of all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.curate_models import KNOWN, LABELS, MODELS
from tests.support.saved_models import random_annotator
from vse_ens.curate.audit.missing import likely_missing
from vse_ens.model import topk
from vse_ens.model.calibration import LABELS as BY_LABELS
from vse_ens.model.calibration import Calibration, Curve, Temperature
from vse_ens.model.loaded import LoadedModel
from vse_ens.model.model import Model

EVERY = np.arange(len(KNOWN.images))
PLAIN = Temperature(1.0, 0.0)
# Above a share of 0.3 it grows no surer.
CURVE = Curve(Temperature(2.0, 0.5), np.array([0.0, 0.1, 0.3], np.float32), np.array([0.0, 0.2, 0.9], np.float32))
CALIBRATION = Calibration({BY_LABELS: CURVE})
# Scores so large that a share is as good as 1 would not tell one order from another.
CONTEXT = replace(MODELS["context with weights"], label_weights_scale=0.3)


def slow_missing(model: Model, heat: Temperature) -> list[tuple[float, float, int, int]]:
    """Share, score, image and label of all pairs that are not known."""
    scores = model.scores(EVERY, KNOWN).astype(float)
    found = []
    for image in EVERY.tolist():
        temperature = float(heat.of(KNOWN.labels_per_image[[image]])[0])
        absent = [a for a in range(LABELS) if a not in KNOWN.label_numbers(image)]
        powers = {a: np.exp(scores[image, a] / temperature) for a in absent}
        found += [(float(powers[a] / sum(powers.values())), scores[image, a], image, a) for a in absent]
    return found


def in_order(found: list[tuple[float, float, int, int]]) -> list[tuple[float, float, int, int]]:
    """The surest first, then the highest scores; some images have the same labels and with them the same scores."""
    return sorted(found, key=lambda one: (-one[0], -one[1], one[2], one[3]))


@pytest.mark.parametrize("model", [CONTEXT, MODELS["id"]])
@pytest.mark.parametrize("rows", [1, 7, 1_000])
def test_the_best_of_all_images(model: Model, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topk, "_BLOCK_BYTES", 4 * LABELS * rows)
    counts = list[int]()
    found = likely_missing(LoadedModel(model, KNOWN), 25, progress=counts.append)
    expected = in_order(slow_missing(model, PLAIN))[:25]
    assert list(zip(found.images, found.labels, strict=True)) == [(image, label) for _, _, image, label in expected]
    np.testing.assert_allclose(found.confidences, [share for share, _, _, _ in expected], rtol=1e-4)
    assert sum(counts) == len(EVERY)
    assert max(counts) <= rows


@pytest.mark.parametrize("rows", [3, 1_000])
@pytest.mark.parametrize("top", [5, 60])
def test_confidences_equal_suggestions_and_scores_break_ties(
    rows: int, top: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topk, "_BLOCK_BYTES", 4 * LABELS * rows)
    found = likely_missing(LoadedModel(CONTEXT, KNOWN, CALIBRATION), top)
    judged = [
        (float(np.interp(share, *CURVE[1:])), score, image, label)
        for share, score, image, label in slow_missing(CONTEXT, CURVE.temperature)
    ]
    expected = in_order(judged)[:top]
    assert expected[4][0] == pytest.approx(0.9)
    assert list(zip(found.images, found.labels, strict=True)) == [(image, label) for _, _, image, label in expected]
    np.testing.assert_allclose(found.confidences, [sure for sure, _, _, _ in expected], rtol=1e-4)


def test_no_more_than_there_are_and_never_a_known_label() -> None:
    found = likely_missing(LoadedModel(MODELS["context"], KNOWN), 10_000)
    assert len(found.images) == len(EVERY) * LABELS - KNOWN.pairs
    known = set(zip(KNOWN.image_numbers().tolist(), KNOWN.indices.tolist(), strict=True))
    assert not known & set(zip(found.images.tolist(), found.labels.tolist(), strict=True))


def test_the_surest_are_found_whatever_each_image_lacks() -> None:
    model = random_annotator("context with weights", images=60, labels=40)
    draws = np.random.default_rng(0).uniform(0.05, 0.95, len(model.known_.labels))
    model.calibrate(completeness=dict(zip(model.known_.labels, draws.tolist(), strict=True)))
    every = [
        one.confidence or 0.0
        for found in model.annotate(model.known_.images, top=len(model.known_.labels))
        for one in found
    ]
    missing = likely_missing(model.loaded_, 30)
    assert missing.confidences == pytest.approx(sorted(every, reverse=True)[:30], rel=1e-4)
