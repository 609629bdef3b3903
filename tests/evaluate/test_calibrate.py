from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.top_labels import top_labels
from vse_ens.data.annotations import Annotations, Split
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.splits import leave_one_out
from vse_ens.errors import DataError
from vse_ens.evaluate import calibrate as calibrate_module
from vse_ens.evaluate.calibrate import (
    bin_rates,
    calibrate,
    confidence_from_rate,
    fit_curve,
    fit_temperature,
    mask_known,
    top_outcomes,
)
from vse_ens.evaluate.reliability import binned_calibration_error, reliability
from vse_ens.kernels.arrays import Csr
from vse_ens.model.calibration import LABELS, Calibration, Temperature
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.model import Model
from vse_ens.streams import Streams


def drawn(temperature: float, images: int, labels: int = 40, name: str = "a") -> tuple[Floats, NDArray[np.int64]]:
    """Random scores, and a label of each row drawn with the chances that their softmax gives."""
    streams = Streams(0).child("test", "calibrator", name)
    scores = (6 * streams.uniforms(images * labels).reshape(images, labels)).astype(np.float32)
    scores[:, 0] = -np.inf
    chances = np.exp(scores.astype(np.float64) / temperature)
    ends = np.cumsum(chances, axis=1)
    draws = streams.child("draws").uniforms(images)[:, None] * ends[:, -1:]
    return scores, (ends <= draws).sum(axis=1)


def learnt(scores: Floats, targets: NDArray[np.int64], temperature: float, blocks: int = 1) -> Calibration:
    heat = Temperature(temperature, 0.0)
    gathered = [
        top_outcomes(scores[rows], np.ones(len(rows), np.int64), targets[rows], heat)
        for rows in np.array_split(np.arange(len(scores)), blocks)
    ]
    return Calibration({LABELS: fit_curve(heat, *map(np.concatenate, zip(*gathered, strict=True)))})


def confidences(calibration: Calibration, scores: Floats, counts: NDArray[np.integer] | None = None) -> Floats:
    known = np.ones(len(scores), np.int64) if counts is None else counts
    return calibration.held_out_probabilities(scores, calibration.log_totals(scores, known)[:, None], known[:, None])


def best_base(scores: Floats, targets: NDArray[np.int64]) -> float:
    """The best temperature, where all images have one known label."""
    return fit_temperature(scores, np.ones(len(scores), np.int64), targets).base


@pytest.mark.parametrize("temperature", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("exponent", [0.0, 0.25])
def test_the_temperature_that_made_the_labels_is_found(temperature: float, exponent: float) -> None:
    counts = np.arange(6_000) % 12 + 1
    scores, targets = drawn(temperature, 6_000)
    found = fit_temperature(scores * (counts[:, None] ** exponent).astype(np.float32), counts, targets)
    assert found.exponent == exponent
    assert found.base == pytest.approx(temperature, rel=0.05)


def test_the_temperature_is_the_likeliest() -> None:
    scores, targets = drawn(0.7, 300)

    def likelihood(temperature: float) -> float:
        chances = np.exp(scores.astype(np.float64) / temperature)
        return float(np.log(chances[np.arange(300), targets] / chances.sum(axis=1)).mean())

    found = best_base(scores, targets)
    assert likelihood(found) == pytest.approx(max(likelihood(found * factor) for factor in np.geomspace(0.5, 2, 201)))


def drawn_twice(images: int, name: str) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Random scores, and two labels that each image lacks, every two with the product of their e^score as chance."""
    scores, _ = drawn(1.0, images, name=name)
    chances = np.exp(scores.astype(np.float64))
    streams = Streams(0).child("test", "twice", name)

    def draw(weights: NDArray[np.float64], which: str) -> NDArray[np.int64]:
        ends = np.cumsum(weights, axis=1)
        return np.asarray((ends <= streams.child(which).uniforms(images)[:, None] * ends[:, -1:]).sum(axis=1))

    first = draw(chances * (chances.sum(axis=1, keepdims=True) - chances), "first")
    chances[np.arange(images), first] = 0
    return scores, first, draw(chances, "second")


@pytest.mark.parametrize("assumed", [0.7, 1.0])
def test_confidences_are_the_chances_of_missing_labels(assumed: float) -> None:
    # At another temperature, the shares are wrong: what makes them right is the part that was learnt.
    held_out, lacking, _ = drawn_twice(20_000, "learnt")
    calibration = learnt(held_out, lacking, assumed)
    scores, known, lacking = drawn_twice(20_000, "in use")
    scores[np.arange(20_000), known] = -np.inf
    labels, _ = top_labels(scores, 10)
    said = np.take_along_axis(confidences(calibration, scores), labels, axis=1)
    for top, most in ((1, 0.012), (10, 0.004)):
        assert binned_calibration_error(reliability(said[:, :top], (labels == lacking[:, None])[:, :top])) < most
    if assumed == 1.0:
        chances = np.exp(scores.astype(np.float64))
        chances /= chances.sum(axis=1, keepdims=True)
        assert np.abs(said - np.take_along_axis(chances, labels, axis=1)).mean() < 0.003


def test_confidence_by_hand() -> None:
    # f / (1 - f) while that is below the middle of f and 1.
    assert confidence_from_rate(np.array([0.0, 0.2, 0.4, 0.5, 1.0])) == pytest.approx([0, 0.25, 2 / 3, 0.75, 1])


def test_bins_worked_by_hand() -> None:
    # Four hits: two bins, the first up to and including the second hit. Each rate has a prior with the weight of one.
    shares = np.arange(1, 9, dtype=np.float32) / 10
    means, rates, counts = bin_rates(shares, np.arange(8) % 2 == 1)
    assert counts.tolist() == [5, 3]
    assert means == pytest.approx([0.3, 0.7])
    assert rates == pytest.approx([(2 + 0.3 / 1.3) / 6, (2 + 0.7 / 1.7) / 4])


def test_the_function_of_one_bin_worked_by_hand() -> None:
    # The rate is (2 + 0.25 / 1.25) / 5 = 0.44: a confidence of 0.72, half-way to 1; at a share of 1, half-way again.
    made = fit_curve(Temperature(1.0, 0.0), np.array([0.1, 0.2, 0.3, 0.4], np.float32), np.array([0, 1, 0, 1], bool))
    assert made.shares == pytest.approx([0, 0.25, 1])
    assert made.values == pytest.approx([0, 0.72, 0.86])
    # A small rate grows in proportion to the share.
    made = fit_curve(Temperature(1.0, 0.0), np.full(4, 0.9, np.float32), np.array([0, 0, 0, 1], bool))
    rate = (1 + 0.9 / 1.9) / 5
    assert made.values == pytest.approx([0, rate / (1 - rate), rate / (1 - rate) / 0.9])


def test_the_function_rises_from_nothing_within_0_and_1() -> None:
    _, shares, values = learnt(*drawn(1.0, 2_000), 1.0).curves[LABELS]
    for array in (shares, values):
        assert array.dtype == np.float32
        assert array[0] == 0
        assert array[-1] <= 1
    assert (np.diff(shares) > 0).all()
    assert (np.diff(values) > 0).all()
    assert 10 < len(shares) < 60


def minimax(values: NDArray[np.float64], weights: NDArray[np.float64]) -> list[float]:
    """Isotonic regression the slow way: at each index the maximum of the minima of all means of ranges around it."""
    count = len(values)

    def mean(first: int, last: int) -> float:
        return float(np.average(values[first : last + 1], weights=weights[first : last + 1]))

    return [
        max(min(mean(first, last) for last in range(index, count)) for first in range(index + 1))
        for index in range(count)
    ]


@pytest.mark.parametrize("seed", range(8))
def test_the_map_is_the_nearest_increasing_one(seed: int) -> None:
    numbers = np.random.default_rng(seed)
    shares = numbers.random(600).astype(np.float32)
    hits = numbers.random(600) < numbers.permutation(shares) * shares
    curve = fit_curve(Temperature(1.0, 0.0), shares, hits)
    means, rates, counts = bin_rates(shares, hits)
    levels = np.array(minimax(rates, counts))
    knots, starts = np.unique(levels.round(12), return_index=True)
    assert 3 < len(knots) < len(rates)
    # Between 0 and the last knot, which extends the function to a share of 1.
    assert curve.values[1:-1] == pytest.approx(confidence_from_rate(knots), rel=1e-6)
    for level, some in zip(knots, np.split(np.arange(len(rates)), starts[1:]), strict=True):
        assert np.average(rates[some], weights=counts[some]) == pytest.approx(level)
    assert curve.shares[1:-1] == pytest.approx(
        [np.average(means[some], weights=counts[some]) for some in np.split(np.arange(len(rates)), starts[1:])],
        rel=1e-6,
    )


def test_blocks_make_no_difference() -> None:
    scores, targets = drawn(1.0, 500)
    one, many = learnt(scores, targets, 1.3), learnt(scores, targets, 1.3, blocks=7)
    assert one.arrays().keys() == many.arrays().keys()
    assert all(np.array_equal(array, many.arrays()[name]) for name, array in one.arrays().items())


def test_without_hits_confidences_are_small_but_not_zero() -> None:
    scores = np.tile(np.arange(30, dtype=np.float32), (200, 1))
    calibration = learnt(scores, np.zeros(200, np.int64), 1.0)
    found = confidences(calibration, scores[:1])[0]
    assert 0 < found[-1] < 0.001


def test_where_the_best_was_always_right_it_is_sure() -> None:
    scores = np.tile(np.array([0.0, 0.0, 9.0], np.float32), (400, 1))
    targets = np.full(400, 2)
    calibration = learnt(scores, targets, best_base(scores, targets))
    assert confidences(calibration, scores[:1])[0] == pytest.approx([0, 0, 1], abs=0.01)


@pytest.mark.parametrize("scores", [[[1.0, 3.0, 2.0]], [[1.0, 1.0, 1.0]], [[-np.inf, 2.0, -np.inf]]])
def test_one_image_is_enough_to_go_on(scores: list[list[float]]) -> None:
    row, target = np.array(scores, np.float32), np.array([1])
    found = confidences(learnt(row, target, best_base(row, target)), row)
    assert np.isfinite(found).all()
    assert 0 < found[0, 1] <= 1


def test_shares_too_small_for_a_float_make_no_knot() -> None:
    scores = np.tile(np.array([0.0, 1.0, 200.0], np.float32), (30, 1))
    calibration = learnt(scores, np.arange(30) % 3, 1.0)
    assert (np.diff(calibration.curves[LABELS].shares) > 0).all()
    assert confidences(calibration, scores)[0] == pytest.approx([0, 0, 1 / 2], abs=0.03)


def test_equal_scores_share_alike() -> None:
    row = np.zeros((50, 5), np.float32)
    found = confidences(learnt(row, np.arange(50) % 5, 1.0), row)
    assert found == pytest.approx(np.full((50, 5), 0.2), abs=0.001)


def a_model(data: Annotations, dimensions: int = 4) -> Model:
    """Random vectors, labels that are common being likelier."""
    streams = Streams(0).child("test", "model")

    def vectors(count: int, name: str) -> Floats:
        return (streams.child(name).uniforms(count * dimensions).reshape(count, dimensions) - 0.5).astype(np.float32)

    bias = np.log(data.images_per_label + 1.0).astype(np.float32)
    nothing = np.empty((0, dimensions), np.float32)
    return Model(Embeddings(vectors(len(data.labels), "labels"), bias, vectors(len(data.images), "images"), nothing))


def test_a_model_is_calibrated_by_what_was_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    split = leave_one_out(scenes(1_500, 60))
    model = a_model(split.train)
    calibration = calibrate(model, split)
    images = np.flatnonzero(split.test.labels_per_image)
    scores = mask_known(model.scores(images, split.train), Csr(*split.train.rows(images)))
    counts = split.train.labels_per_image[images]
    labels, _ = top_labels(scores, 20)
    before = confidences(calibration, scores, counts)
    hits = labels == split.test.indices[:, None]
    assert binned_calibration_error(reliability(np.take_along_axis(before, labels, axis=1), hits)) < 0.01
    # In blocks of other sizes, products may round in another way.
    monkeypatch.setattr(calibrate_module, "_BLOCK_SCORES", 60 * 300)
    assert confidences(calibrate(model, split), scores, counts) == pytest.approx(before, abs=1e-4)


def test_the_temperature_is_fitted_on_images_spread_over_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids often follow time or source: the first images alone would be another population."""
    split = leave_one_out(scenes(1_500, 60))
    images = np.flatnonzero(split.test.labels_per_image)
    given: list[tuple[NDArray[np.integer], NDArray[np.int64]]] = []

    def note(scores: Floats, counts: NDArray[np.integer], targets: NDArray[np.int64]) -> Temperature:
        assert len(scores) == len(counts) == len(targets)
        given.append((counts, targets))
        return Temperature(1.0, 0.0)

    monkeypatch.setattr(calibrate_module, "fit_temperature", note)
    calibrate(a_model(split.train), split)
    monkeypatch.setattr(calibrate_module, "_SAMPLE_SCORES", 60 * 300)
    calibrate(a_model(split.train), split)
    (_, every), (counts, sample) = given
    np.testing.assert_array_equal(every, split.test.indices, "a sample of all, where they are few")
    # At most 300 images at equal distances, from the first to within one distance of the last.
    distance = -(-len(images) // 300)
    assert distance > 1
    chosen = np.arange(0, len(images), distance)
    assert len(images) - distance <= chosen[-1]
    np.testing.assert_array_equal(sample, split.test.indices[chosen])
    np.testing.assert_array_equal(counts, split.train.labels_per_image[images[chosen]])


def test_the_block_of_scores_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    split = leave_one_out(scenes(800, 60))
    asked: list[int] = []
    scores_of = Model.scores_of

    def counting(model: Model, vectors: Floats, *known: NDArray[Any]) -> Floats:
        asked.append(len(vectors))
        return scores_of(model, vectors, *known)

    monkeypatch.setattr(Model, "scores_of", counting)
    for name, rows in (("_BLOCK_SCORES", 100), ("_SAMPLE_SCORES", 200)):
        monkeypatch.setattr(calibrate_module, name, rows * len(split.train.labels))
    calibrate(a_model(split.train), split)
    sample, *blocks = asked
    assert 100 < sample <= 200
    assert max(blocks) == 100
    assert sum(blocks) == split.test.pairs


def test_several_held_out_labels_of_an_image_are_refused() -> None:
    data = scenes(50, 60)
    with pytest.raises(DataError, match="one held-out label per image"):
        calibrate(a_model(data), Split(data.with_pairs(np.zeros(data.pairs, bool)), data))
