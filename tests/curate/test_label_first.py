from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.build_once import build_once
from vse_ens.annotator import Annotator
from vse_ens.curate.audit.wrong import Auditor, total_step_size, wrong_confidences
from vse_ens.curate.label_first import GAIN_TOP, LabelRanker
from vse_ens.data.datasets.scenes import scenes

PRESETS = {
    "context": Annotator(epochs=3, dimensions=16),
    "own vectors": Annotator("vse-ens", epochs=3, dimensions=16),
    "no confidences": Annotator(epochs=2, dimensions=16, validate=False),
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


def test_missing_images_are_those_of_a_search_with_the_confidences_of_suggestions(
    annotator: Annotator, ranker: LabelRanker
) -> None:
    known = annotator.known_
    for label in ("sea", "tree", "dog"):
        found = ranker.missing(known.labels.number(label))
        searched = annotator.search([label], 300)
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


def test_wrong_labels_have_the_confidences_of_the_audit(annotator: Annotator, ranker: LabelRanker) -> None:
    known = annotator.known_
    size = total_step_size(annotator.config_, annotator.training_["best_epoch"])
    fold_in = None if annotator.embeddings_.has_context else annotator._vectors_by_labels
    audited = wrong_confidences(Auditor(annotator.model_, known, size, fold_in))
    label = known.labels.number("person")
    pairs = np.flatnonzero(known.indices == label)
    likely = pairs[audited[pairs] > 0.02]
    expected = likely[np.argsort(-audited[likely], kind="stable")]
    found = ranker.wrong(label)
    np.testing.assert_allclose(found.confidences, audited[expected], atol=1e-5)
    assert set(found.images.tolist()) == set(known.image_numbers()[expected].tolist())
    assert found.total == len(expected)


def test_a_scan_that_has_not_finished_ranks_the_images_it_has(
    annotator: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vse_ens.model.topk._TASKS_PER_BLOCK", 1)
    monkeypatch.setattr("vse_ens.model.topk.LARGE_PRODUCT_ROWS", 64)
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


def test_a_finished_scan_saves_the_first_search_from_scoring_all_images(
    annotator: Annotator, ranker: LabelRanker
) -> None:
    expected = annotator.search(["sea", "-person"], 10)
    fresh = Annotator.load(annotator._saved[0].path)
    fresh.use_scan(ranker.scan)
    fresh._searcher()._search._totals_of = None  # type: ignore[assignment,method-assign]  # would be called
    assert fresh.search(["sea", "-person"], 10) == expected


def test_searches_are_sorted_by_the_number_that_is_shown(annotator: Annotator) -> None:
    found = annotator.search(["sea", "sand", "-person"], 30, tagged=True)
    if annotator.calibration_ is None:
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
        return
    confidences = [one.confidence or 0.0 for one in found]
    assert confidences == sorted(confidences, reverse=True)
    assert [one.image for one in annotator.search(["sea", "sand", "-person"], 5, tagged=True)] == [
        one.image for one in found[:5]
    ]
