from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.build_once import build_once
from tests.support.saved_models import random_annotator
from vse_ens.annotator import Annotator
from vse_ens.curate.audit.wrong import (
    Auditor,
    images_of,
    total_step_size,
    without_label,
    wrong_by_evidence,
    wrong_confidences,
)
from vse_ens.curate.label_ranking import GAIN_TOP, LabelRanker
from vse_ens.data.datasets.scenes import scenes
from vse_ens.kernels.arrays import Csr

PRESETS = {
    "context": Annotator(epochs=3, dimensions=8),
    "own vectors": Annotator("vse-ens", epochs=3, dimensions=8),
    "no confidences": Annotator(epochs=2, dimensions=8, validate=False),
}


@pytest.fixture(scope="module", params=list(PRESETS))
def annotator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Annotator:
    def train(path: Path) -> None:
        PRESETS[request.param].fit(scenes(images=300)).save(path)

    return Annotator.load(build_once(tmp_path_factory, f"label-first/{request.param}", train))


@pytest.fixture(scope="module")
def ranker(annotator: Annotator) -> LabelRanker:
    ranker = annotator.label_ranker()
    assert list(ranker.scan.steps())[-1] == 300
    return ranker


def test_missing_images_match_search_and_suggestions(annotator: Annotator, ranker: LabelRanker) -> None:
    known = annotator.known_
    for label in ("sea", "tree", "dog"):
        found = ranker.missing(known.labels.number(label))
        # A search is ordered by score; the grid by the confidence, which its slider selects.
        searched = sorted(annotator.search([label], 300), key=lambda one: -(one.confidence or 0.0))
        assert found.total == len(found.images) == len(searched)
        assert known.images.ids(found.images[:20]) == [one.image for one in searched[:20]]
        if found.confidences is None:
            assert annotator.calibration_ is None
            assert found.above == {}
            continue
        suggested = annotator.annotate(known.images.ids(found.images[:20]), top=1, allow=[label])
        expected = [one[0].confidence for one in suggested]
        np.testing.assert_allclose(found.confidences[:20], expected, atol=1e-5)
        assert (np.diff(found.confidences) <= 0).all()
        assert found.above == {threshold: int((found.confidences >= threshold).sum()) for threshold in found.above}


def test_the_gain_is_the_expected_number_of_right_suggestions(annotator: Annotator, ranker: LabelRanker) -> None:
    if annotator.calibration_ is None:
        assert (ranker.scan.gains > 0).all()
        return
    images = annotator.known_.images.ids(np.arange(20))
    suggested = annotator.annotate(images, top=GAIN_TOP)
    expected = [sum(one.confidence or 0.0 for one in row) for row in suggested]
    np.testing.assert_allclose(ranker.scan.gains[:20], expected, atol=1e-5)


@pytest.mark.unhurried
def test_wrong_labels_have_the_confidences_of_the_audit(annotator: Annotator, ranker: LabelRanker) -> None:
    known = annotator.known_
    size = total_step_size(annotator.config_, annotator.training_)
    audited = wrong_confidences(Auditor(annotator.loaded_, size))
    label = known.labels.number("person")
    pairs = np.flatnonzero(known.indices == label)
    likely = pairs[audited[pairs] > 0.02]
    expected = likely[np.argsort(-audited[likely], kind="stable")]
    found = ranker.wrong(label)
    np.testing.assert_allclose(found.confidences, audited[expected], atol=1e-5)
    assert set(found.images.tolist()) == set(known.image_numbers()[expected].tolist())
    assert found.total == len(expected)


def test_changed_images_are_scored_by_their_labels_now(annotator: Annotator, ranker: LabelRanker) -> None:
    known = annotator.known_
    sea, sand, images = known.labels.number("sea"), known.labels.number("sand"), np.array([7, 3, 120])
    rows = [sorted({*known.label_numbers(image).tolist()[1:], sand}) for image in images.tolist()]
    indptr = np.cumsum([0, *map(len, rows)])
    relabeled = ranker.relabel(images, Csr(indptr, np.concatenate(rows).astype(np.int32)))

    found = ranker.missing_again(sea, relabeled)
    lacking = [n for n, image in enumerate(images.tolist()) if sea not in known.label_numbers(image)]
    assert found.images.tolist() == images[lacking].tolist()
    for key, image, row in zip(found.keys, images[lacking], [rows[n] for n in lacking], strict=True):
        scores = annotator.label_scores(known.labels.ids(row), known.images.id(int(image))).astype(np.float64)
        scores /= annotator.loaded_.temperature(np.array([len(row)]))
        scores[[label for label in row if label != sea]] = -np.inf
        expected = np.float32(np.exp(scores[sea]) / np.exp(scores).sum())
        if calibration := annotator.calibration_:
            probabilities = calibration.probabilities_of_shares(np.array([expected]), np.array([len(row)]))
            expected = calibration.expected_counts(probabilities, np.array([len(row)]), np.array([sea]))[0]
        assert key == pytest.approx(expected, rel=1e-3)

    before = ranker.missing(sea)
    after = before.rescored(images, found)
    assert sorted(after.images.tolist()) == sorted(before.images.tolist())
    assert (np.diff(after.keys) <= 0).all()
    assert after.total == before.total
    if after.confidences is not None:
        assert after.above == {one: int((after.confidences >= one).sum()) for one in after.above}

    fewer = relabeled.updated(images[:2], ranker.relabel(images[:1], Csr(np.array([0, 1]), np.array([5], np.int32))))
    assert fewer.images.tolist() == [120, 7]
    assert fewer.rows.indices.tolist() == [*rows[2], 5]
    assert np.array_equal(fewer.log_totals[:1], relabeled.log_totals[2:])


def test_wrong_labels_are_measured_by_the_labels_of_now(annotator: Annotator, ranker: LabelRanker) -> None:
    known = annotator.known_
    size = total_step_size(annotator.config_, annotator.training_)
    auditor = Auditor(annotator.loaded_, size)
    likely = 0
    for label in known.labels.numbers(["person", "outdoors", "indoors", "daytime", "night"]).tolist():
        firsts = known.indptr[known.images_with(label)]
        firsts = firsts[known.indices[firsts] != label]
        now = known.with_pairs(~np.isin(np.arange(known.pairs), firsts))
        images = np.unique(known.image_numbers()[firsts]).astype(np.int64)
        found = ranker.wrong_again(label, ranker.relabel(images, now.rows(images)))

        pairs = np.flatnonzero((now.indices == label) & np.isin(now.image_numbers(), images))
        pairs = pairs[now.labels_per_image[now.image_numbers()[pairs]] > 1]
        numbers = np.full(len(pairs), label)
        evidence = auditor.evidence_of(images_of(now, pairs), numbers, without_label(now, pairs), numbers)
        audited = wrong_by_evidence(evidence, ranker._wrong_weights, 0.02)
        expected = dict(zip(now.image_numbers()[pairs].tolist(), audited.tolist(), strict=True))
        assert dict(zip(found.images.tolist(), found.keys.tolist(), strict=True)) == pytest.approx(
            {image: value for image, value in expected.items() if value > 0.02}, abs=1e-5
        )
        assert (np.diff(found.keys) <= 0).all()
        likely += found.total
    assert likely


def test_a_scan_that_has_not_finished_ranks_the_images_it_has(
    annotator: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vse_ens.model.topk._TASKS_PER_BLOCK", 1)
    monkeypatch.setattr("vse_ens.model.topk._TASK_ROWS", 64)
    ranker = annotator.label_ranker()
    steps = ranker.scan.steps()
    label = annotator.known_.labels.number("tree")
    assert ranker.missing(label).total == 0
    done = next(steps)
    assert done < 300
    first = ranker.missing(label)
    assert 0 < first.total < done
    assert first.images.max() < done
    for _ in steps:
        pass
    whole = ranker.missing(label)
    assert [image for image in whole.images.tolist() if image < done] == first.images.tolist()


def test_a_finished_scan_saves_the_first_search_scoring(annotator: Annotator, ranker: LabelRanker) -> None:
    expected = annotator.search(["sea", "-person"], 10)
    fresh = Annotator.load(annotator._saved[0].path)
    fresh.use_scan(ranker.scan)
    fresh._searcher()._search._totals_of = None  # type: ignore[assignment,method-assign]  # would be called
    assert fresh.search(["sea", "-person"], 10) == expected
    image = annotator.known_.images.ids([3])[0]
    assert fresh.similar_images(image, 7) == annotator.similar_images(image, 7)


def test_searches_are_sorted_by_score(annotator: Annotator) -> None:
    found = annotator.search(["sea", "sand", "-person"], 30, tagged=True)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert [one.image for one in annotator.search(["sea", "sand", "-person"], 5, tagged=True)] == [
        one.image for one in found[:5]
    ]


def test_a_relabeled_image_keeps_its_own_vector() -> None:
    annotator = random_annotator("id and context")
    images = np.array([5, 2])
    relabeled = annotator.label_ranker().relabel(images, Csr(*annotator.known_.rows(images)))
    expected = annotator.embeddings_.vectors(images, known=annotator.known_)
    np.testing.assert_allclose(relabeled.vectors, expected, rtol=1e-5, atol=1e-6)
