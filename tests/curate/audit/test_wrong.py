"""Labels left out, one by one, against the slow way; and wrong ones that were planted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.curate_models import IMAGES, KNOWN, LABELS, MODELS, without
from tests.support.kernel_problems import annotations
from vse_ens.annotator import Annotator
from vse_ens.curate.audit import wrong
from vse_ens.curate.audit.odds import fit_logistic_regression, mistake_probabilities
from vse_ens.curate.audit.wrong import (
    Auditor,
    EvidenceWeights,
    LabelEvidence,
    choose_controls,
    images_of,
    log_ratios,
    random_negatives,
    sample_images,
    sample_pairs,
    sample_weights,
    total_step_size,
    without_label,
    wrong_by_evidence,
    wrong_confidences,
    wrong_given,
)
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.kernels.arrays import Csr
from vse_ens.model import topk
from vse_ens.model.calibration import LABELS as BY_LABELS
from vse_ens.model.calibration import Calibration, Curve, Temperature
from vse_ens.model.embeddings import Floats
from vse_ens.model.loaded import LoadedModel
from vse_ens.presets import configure
from vse_ens.streams import Streams

PAIRS = np.arange(KNOWN.pairs)
MISTAKES = mistake_probabilities(KNOWN).astype(float)


CALIBRATION = Calibration({BY_LABELS: Curve(Temperature(1.5, 0.25), *np.array([[0.0, 1.0], [0.0, 1.0]], np.float32))})


def test_left_out_rows_are_those_without_the_label() -> None:
    images, rows = images_of(KNOWN, PAIRS), without_label(KNOWN, PAIRS)
    assert (images == KNOWN.image_numbers()).all()
    for place in PAIRS:
        expected = without(KNOWN, place).label_numbers(images[place])
        assert rows.indices[rows.indptr[place] : rows.indptr[place + 1]].tolist() == expected.tolist()


def slow_evidence(scores: Floats, others: list[int], label: int) -> tuple[float, float, float]:
    """Of one label in the company of all but the others."""
    company = [a for a in range(LABELS) if a not in others]
    heat = 1.5 * max(1, len(others)) ** 0.25
    z_score = (scores[label] - np.mean(scores[company])) / (np.std(scores[company]) + 1e-6)
    total = sum(np.exp(scores[a] / heat) for a in company)
    in_place = sum(MISTAKES[label, a] * np.exp(scores[a] / heat) / total for a in company)
    share = np.exp(scores[label] / heat) / total
    return float(np.log(share)), float(z_score), float(np.log(in_place + 1e-6) - np.log(share))


@pytest.mark.parametrize("name", MODELS)
def test_evidence_is_of_a_model_without_the_label(name: str) -> None:
    model = MODELS[name]
    draws = Streams(0).uniforms(KNOWN.pairs)
    images = images_of(KNOWN, PAIRS)
    controls = random_negatives(KNOWN.rows(images), LABELS, draws)
    auditor = Auditor(LoadedModel(model, KNOWN, CALIBRATION))
    evidence = auditor.evidence(PAIRS, controls)
    for place, image in enumerate(images):
        rest = without(KNOWN, place)
        scores = model.scores(np.array([image]), rest)[0].astype(float)
        others = rest.label_numbers(image).tolist()
        assert evidence.known[place] == pytest.approx(
            slow_evidence(scores, others, KNOWN.indices[place]), rel=1e-3, abs=1e-3
        )
        elsewhere = sum(KNOWN.indices[place] in rest.label_numbers(other) for other in range(IMAGES))
        assert evidence.trust[place] == pytest.approx(elsewhere / (elsewhere + 1))
        assert evidence.log_size_odds[place] == auditor.log_size_odds(np.array([len(others) + 1]))[0]
        assert evidence.has_control[place] == (len(others) < LABELS - 1)
        if evidence.has_control[place]:
            assert evidence.control[place] == pytest.approx(
                slow_evidence(scores, others, controls[place]), rel=1e-3, abs=1e-3
            )


def test_a_free_vector_is_found_anew_where_it_can_be() -> None:
    model = MODELS["id with weights"]
    asked: list[Csr] = []

    def fold_in(rows: Csr) -> Floats:
        asked.append(rows)
        return np.zeros((len(rows.indptr) - 1, model.embeddings.dimensions), np.float32)

    some = PAIRS[:9]
    evidence = Auditor(LoadedModel(model, KNOWN, fold_in=fold_in)).evidence(some, np.zeros(9, np.int64))
    nothing = replace(model, embeddings=replace(model.embeddings, image_vectors=np.zeros((IMAGES, 6), np.float32)))
    np.testing.assert_allclose(
        evidence.known, Auditor(LoadedModel(nothing, KNOWN)).evidence(some, np.zeros(9, np.int64)).known, rtol=1e-5
    )
    assert asked[0].indices.tolist() == without_label(KNOWN, some).indices.tolist()


def test_the_effect_of_a_pair_on_its_own_score_is_taken_back() -> None:
    model, steps, floored = MODELS["context"], 0.3, 0
    e = model.embeddings
    auditor = Auditor(LoadedModel(model, KNOWN, CALIBRATION), steps)
    taken = auditor.evidence(PAIRS, np.zeros(KNOWN.pairs, np.int64))
    for place, image in enumerate(images_of(KNOWN, PAIRS)):
        rest, label = without(KNOWN, place), KNOWN.indices[place]
        others = rest.label_numbers(image)
        vector = e.vectors(np.array([image]), known=rest)[0].astype(float)
        scores = model.scores(np.array([image]), rest)[0].astype(float)
        # A step along the slope of the loss, for the label's vector and for the inputs of single labels.
        slope = 1.0 - np.exp(scores[label]) / np.exp(np.delete(scores, others)).sum()
        by_label = vector @ vector / np.sqrt(e.label_squares[label])
        wanted = e.label_vectors[label].astype(float)
        by_inputs = sum(wanted @ wanted / len(others) / np.sqrt(e.input_squares[b]) for b in others)
        back = scores[label] - steps * slope * (by_label + by_inputs)
        floored += back < scores.min()
        scores[label] = max(back, scores.min())
        expected = slow_evidence(scores, others.tolist(), label)
        assert taken.known[place] == pytest.approx(expected, rel=1e-3, abs=1e-3)
    assert 0 < floored < KNOWN.pairs / 2


def test_an_image_with_many_labels_likely_has_one_too_many() -> None:
    rows = [[0, 1]] * 5 + [[0, 1, 2]] * 8 + [[0, 1, 2, 3]]
    auditor = Auditor(LoadedModel(MODELS["context"], annotations(rows, LABELS)))
    # Labels of images with this many, over labels of images with one less; every number of images plus 1.
    expected = [2 * 6 / (1 * 1), 3 * 9 / (2 * 6), 4 * 2 / (3 * 9), 5 * 1 / (4 * 2), 6 * 1 / (5 * 1), 20 * 1 / (19 * 1)]
    assert np.exp(auditor.log_size_odds(np.array([2, 3, 4, 5, 6, 20]))) == pytest.approx(expected)


def test_without_a_matrix_all_labels_are_equally_likely_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrong, "MAX_LABELS", LABELS - 1)
    evidence = Auditor(LoadedModel(MODELS["context"], KNOWN)).evidence(PAIRS, np.zeros(KNOWN.pairs, np.int64))
    np.testing.assert_allclose(evidence.known[:, 2], -evidence.known[:, 0], atol=1e-5)


def test_slips_and_mistakes_are_fitted_to_their_own_controls() -> None:
    auditor = Auditor(LoadedModel(MODELS["context"], KNOWN))
    sample = sample_pairs(KNOWN)
    known, control, has_control, *_ = auditor.evidence(sample, choose_controls(auditor, sample))
    even, odd = (np.flatnonzero(has_control & (np.arange(len(sample)) % 2 == turn)) for turn in (0, 1))
    weights = sample_weights(auditor, sample)
    every = np.ones(len(sample), bool)
    slip = fit_logistic_regression(known[even][:, :2], control[even][:, :2], every[even])
    mistake = fit_logistic_regression(known[odd][:, 2:], control[odd][:, 2:], every[odd])
    np.testing.assert_allclose(weights.slip, slip, rtol=1e-6)
    np.testing.assert_allclose(weights.mistake, mistake, rtol=1e-6)


def test_odds_of_slips_and_mistakes_are_mixed() -> None:
    known, sizes, trust = np.array([[1.0, 2.0, 0.5], [-3.0, 0.0, 4.0]]), np.array([0.7, -1.5]), np.array([0.8, 0.3])
    weights = EvidenceWeights(np.array([0.4, 0.3, 0.1]), np.array([-0.8, 0.2]), np.zeros(0))
    found = log_ratios(LabelEvidence(known, known, np.ones(2, bool), sizes, trust), weights)
    for (share, z_score, mistake), size, power, ratio in zip(known, sizes, trust, found, strict=True):
        slips = 1.0 / np.exp(0.4 * share + 0.3 * z_score + 0.1 + size)
        mistakes = 1.0 / np.exp(-0.8 * mistake + 0.2)
        assert np.exp(ratio) == pytest.approx((0.7 * slips + 0.3 * mistakes) ** power)


def test_random_images_are_whole_and_have_several_labels() -> None:
    several = np.flatnonzero(KNOWN.labels_per_image > 1)
    some = sample_images(KNOWN, 40)
    assert set(some) < set(several)
    assert (np.diff(some) > 0).all()
    assert 20 < KNOWN.labels_per_image[some].sum() <= 40
    assert sample_images(KNOWN, KNOWN.pairs).tolist() == several.tolist()
    assert len(sample_images(KNOWN, 0)) == 1


@pytest.mark.parametrize("share", [0.005, 0.02, 0.3])
def test_confidences_add_up_to_the_expected_number(share: float) -> None:
    auditor = Auditor(LoadedModel(MODELS["context"], KNOWN), 0.1)
    found, others = wrong_confidences(auditor, share), wrong_confidences(auditor, 0.1)
    assert found.mean() == pytest.approx(share, rel=1e-4)
    order = np.argsort(others[KNOWN.labels_per_image[KNOWN.image_numbers()] > 1], kind="stable")
    assert (np.diff(found[KNOWN.labels_per_image[KNOWN.image_numbers()] > 1][order]) >= 0).all()


def test_some_pairs_are_scored_as_in_a_whole_audit() -> None:
    auditor = Auditor(LoadedModel(MODELS["context"], KNOWN), 0.1)
    audited = wrong_confidences(auditor, 0.05)
    some = np.flatnonzero((KNOWN.labels_per_image[KNOWN.image_numbers()] > 1) & (PAIRS % 3 == 1))
    weights = sample_weights(auditor, sample_pairs(KNOWN))
    found = wrong_given(auditor, some, weights, 0.05)
    assert ((found > 0.05) == (audited[some] > 0.05)).all()
    likely = found > 0.05
    assert 10 < likely.sum() < len(some)
    np.testing.assert_allclose(found[likely], audited[some[likely]], rtol=1e-4)
    by_itself = wrong_by_evidence(auditor.evidence(some, KNOWN.indices[some].astype(np.int64)), weights, 0.05)
    assert (by_itself >= found * (1 - 1e-4)).all()
    assert (by_itself[likely] > 1.01 * found[likely]).any()


def test_steps_are_twice_the_sum_of_the_rates() -> None:
    config = configure("context", learning_rate=0.1, learning_rate_decay=0.5)
    assert total_step_size(config, {"model_epochs": 3, "best_epoch": 9}) == pytest.approx(2 * (0.1 + 0.05 + 0.025))
    assert total_step_size(config, {"best_epoch": 3}) == pytest.approx(2 * (0.1 + 0.05 + 0.025))  # of version 0.2
    assert total_step_size(config, {"model_epochs": 0, "best_epoch": 9}) == 0.0


def test_controls_are_uniform_among_labels_the_image_has_not() -> None:
    rows = Csr(np.array([0, 3, 3, 5]), np.array([0, 2, 3, 1, 4], np.int32))
    count = 3_000
    draws = np.concatenate([np.full(3, (n + 0.5) / count) for n in range(count)])
    many = Csr(np.concatenate([[0], np.cumsum(np.tile(np.diff(rows.indptr), count))]), np.tile(rows.indices, count))
    found = random_negatives(many, 5, draws).reshape(count, 3)
    for row, absent in enumerate(([1, 4], [0, 1, 2, 3, 4], [0, 2, 3])):
        values, counts = np.unique(found[:, row], return_counts=True)
        assert values.tolist() == absent
        assert (counts == count / len(absent)).all()


def test_every_other_control_is_a_label_like_the_known_one() -> None:
    model = MODELS["context"]
    controls = choose_controls(Auditor(LoadedModel(model, KNOWN)), PAIRS)
    lacking = [np.setdiff1d(np.arange(LABELS), KNOWN.label_numbers(image)) for image in images_of(KNOWN, PAIRS)]
    vectors = model.embeddings.label_vectors.astype(float)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    similarity = vectors @ vectors.T
    places = []
    for pair, (control, others) in enumerate(zip(controls, lacking, strict=True)):
        if len(others):
            assert control in others
            order = similarity[KNOWN.indices[pair], others]
            places.append((pair % 2, (order > similarity[KNOWN.indices[pair], control]).mean()))
    by_turn = [np.mean([place for turn, place in places if turn == wanted]) for wanted in (0, 1)]
    assert by_turn[0] > 0.3  # random: in the middle on average
    assert by_turn[1] < 0.05


def test_an_image_with_all_labels_has_no_control() -> None:
    full = Csr(np.array([0, 3]), np.array([0, 1, 2], np.int32))
    assert random_negatives(full, 3, np.array([0.7])).tolist() == [0]
    statistics = np.zeros((1, 2))
    assert fit_logistic_regression(statistics, statistics, np.array([False])).tolist() == [0.0, 0.0, 0.0]


def test_a_label_alone_cannot_be_judged() -> None:
    confidences = wrong_confidences(Auditor(LoadedModel(MODELS["context with weights"], KNOWN)), 0.1)
    alone = KNOWN.labels_per_image[KNOWN.image_numbers()] == 1
    assert alone.any()
    assert (confidences[alone] == np.float32(0.1)).all()
    assert (
        wrong_confidences(Auditor(LoadedModel(MODELS["context"], KNOWN.with_pairs(alone)))) == np.float32(0.02)
    ).all()


def test_blocks_give_what_one_table_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    auditor, counts = Auditor(LoadedModel(MODELS["context+id with weights"], KNOWN), 0.1), list[int]()
    whole = wrong_confidences(auditor, progress=counts.append)
    assert counts == [int((KNOWN.labels_per_image[KNOWN.image_numbers()] > 1).sum())]
    monkeypatch.setattr(topk, "_BLOCK_BYTES", 4 * LABELS * 7)
    np.testing.assert_allclose(wrong_confidences(auditor, progress=counts.append), whole, rtol=1e-3)
    assert max(counts[1:]) == 7
    assert sum(counts[1:]) == counts[0]


def plant(data: Annotations, share: float) -> tuple[Annotations, np.ndarray]:
    """A share of labels that their images have not, and which pairs they are."""
    streams = Streams(5).child("plant")
    count = round(share * data.pairs)
    images = data.image_numbers()[np.argsort(streams.words(data.pairs))[:count]].astype(np.int64)
    labels = random_negatives(data.rows(images), len(data.labels), streams.child("labels").uniforms(count))
    planted = Annotations.from_numbers(data.images, data.labels, images, labels)
    noisy = data.joined(planted)
    keys = noisy.image_numbers().astype(np.int64) * len(noisy.labels) + noisy.indices
    return noisy, np.isin(keys, images * len(noisy.labels) + labels)


def test_planted_labels_come_first() -> None:
    noisy, planted = plant(scenes(2_000, 80, seed=1), 0.02)
    model = Annotator(seed=0, workers=1, epochs=6).fit(noisy)
    steps = total_step_size(model.config_, model.training_)
    confidences = wrong_confidences(Auditor(LoadedModel(model.model_, noisy, model.calibration_), steps))
    order = np.argsort(-confidences, kind="stable")
    assert planted[order[:50]].mean() > 10 * planted.mean()
    places = np.empty(noisy.pairs)
    places[order] = np.arange(noisy.pairs)
    assert (places[planted][:, None] < places[~planted][None, :]).mean() > 0.85
