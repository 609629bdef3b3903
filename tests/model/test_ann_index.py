"""The index proposes most of what the exact search finds, and never another score."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.random_models import random_case, warm
from vse_ens.errors import MissingPartError, ModelError
from vse_ens.model import ann_index
from vse_ens.model.ann_index import ImageIndex
from vse_ens.model.search import ImageSearch, Query


def query(wanted: list[int], unwanted: list[int]) -> Query:
    return Query(np.array(wanted, np.int64), np.array(unwanted, np.int64))


@pytest.mark.parametrize("kind", ["id", "context", "context with weights"])
def test_most_of_the_exact_answer_is_found_with_the_same_scores(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("usearch")
    monkeypatch.setattr(ann_index, "_MIN_CANDIDATES", 100)
    monkeypatch.setattr(ann_index, "_CANDIDATES", 10)
    case = random_case(kind, images=2_000)
    exact = ImageSearch(case.model, case.known, temperature=warm)
    ImageIndex.build(exact, threads=1).save(tmp_path / "images.index")
    loaded = ImageIndex.load(tmp_path / "images.index", ImageSearch(case.model, case.known, temperature=warm))
    shares = []
    for asked in [query([label], [39]) for label in range(12)] + [query([label, 20], []) for label in range(12)]:
        expected, found = exact.find(asked, 10), loaded.find(asked, 10)
        shares.append(np.isin(expected.images, found.images).mean())
        scores = dict(zip(expected.images.tolist(), expected.scores, strict=True))
        for image, score in zip(found.images.tolist(), found.scores, strict=True):
            assert score == pytest.approx(scores.get(image, score), rel=1e-4)
    assert np.mean(shares) > 0.9
    assert [path.name for path in tmp_path.iterdir()] == ["images.index"]


def test_where_candidates_do_not_do_all_images_are_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("usearch")
    case = random_case("context")
    search = ImageSearch(case.model, case.known)
    made = ImageIndex.build(search, threads=1)
    for asked in (query([3], []), query([], [3])):
        np.testing.assert_array_equal(made.find(asked, 5).images, search.find(asked, 5).images)
    # Few candidates are known to lack the label, so that there must be more and more of them.
    monkeypatch.setattr(ann_index, "_MIN_CANDIDATES", 2)
    monkeypatch.setattr(ann_index, "_CANDIDATES", 0)
    assert len(made.find(query([3], []), 20).images) == 20


def test_another_models_index_and_no_index_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("usearch")
    case, other = random_case("id"), random_case("id", images=61)
    ImageIndex.build(ImageSearch(case.model, case.known), threads=1).save(tmp_path / "index")
    search = ImageSearch(other.model, other.known)
    with pytest.raises(ModelError, match="is the index of another model"):
        ImageIndex.load(tmp_path / "index", search)
    with pytest.raises(ModelError, match="there is no image index"):
        ImageIndex.load(tmp_path / "nothing", search)
    (tmp_path / "text").write_text("no index at all, and long enough to be looked at as one" * 10)
    with pytest.raises(ModelError, match="is not an image index"):
        ImageIndex.load(tmp_path / "text", search)


def test_without_the_library_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    case = random_case("id")
    with pytest.raises(MissingPartError, match=r"pip install 'vse-ens\[index\]'"):
        ImageIndex.build(ImageSearch(case.model, case.known))
