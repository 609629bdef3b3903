"""Images are ranked by the chance that they have what is wanted and nothing of what is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.kernel_problems import annotations
from tests.support.random_models import KINDS, Case, random_case, scores_of_unknown, warm
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError, UnknownIdError
from vse_ens.model import search
from vse_ens.model.embeddings import Embeddings
from vse_ens.model.model import Model
from vse_ens.model.search import ImageSearch, LabelColumns, Query


def query(wanted: list[int], unwanted: list[int]) -> Query:
    return Query(np.array(wanted, np.int64), np.array(unwanted, np.int64))


def brute_force(case: Case, asked: Query, top: int, tagged: bool) -> list[int]:
    """Image by image, label by label, as the definition reads."""
    scores = scores_of_unknown(case).astype(np.float64) / warm(case.known.labels_per_image[:, None])
    mean = case.known.pairs / np.count_nonzero(case.known.labels_per_image)
    ranked = []
    for image, row in enumerate(scores):
        has = set(case.known.label_numbers(image).tolist())
        if has & set(asked.exclude.tolist()):
            continue
        if not tagged and len(asked.include) and set(asked.include.tolist()) <= has:
            continue
        shares = np.exp(row) / np.exp(row).sum() if np.isfinite(row).any() else row
        total = sum(np.log(1 - np.exp(-mean * shares[label])) for label in asked.include if label not in has)
        total += sum(-mean * shares[label] for label in asked.exclude)
        ranked.append((-total, image))
    return [image for _, image in sorted(ranked)[:top]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tagged", [False, True])
def test_it_is_what_the_definition_says(kind: str, tagged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_BLOCK", 13)
    case = random_case(kind)
    engine = ImageSearch(case.model, case.known, temperature=warm)
    for asked in (query([4], []), query([4, 9], [1]), query([], [2, 30]), query([1, 2, 3], [])):
        found = engine.find(asked, 12, tagged=tagged)
        assert found.images.tolist() == brute_force(case, asked, 12, tagged)
        assert (np.diff(found.scores) <= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_those_of_all_scores(kind: str) -> None:
    model, known = random_case(kind)
    labels, images = np.array([7, 0, 39]), np.array([59, 3, 0, 17])
    columns = LabelColumns(model, labels)
    np.testing.assert_allclose(columns.scores(images, known), model.scores(images, known)[:, labels], atol=1e-5)
    expected = [[label in known.label_numbers(image) for label in labels] for image in images]
    assert columns.known(images, known).tolist() == expected


def test_an_image_that_fits_both_beats_one_that_fits_one_very_well() -> None:
    # Image 0 is all beach; image 1 fits beach and sunset; image 2 fits neither. All scores of image 3 are high alike.
    vectors = np.array([[9.0, 0, 0], [4.0, 4, 0], [0, 0, 5], [20, 20, 20]], np.float32)
    empty = np.empty((0, 3), np.float32)
    model = Model(Embeddings(np.eye(3, dtype=np.float32), np.zeros(3, np.float32), vectors, empty))
    known = annotations([[], [], [], [2]], 3)
    found = ImageSearch(model, known).find(query([0, 1], []), 4)
    assert found.images.tolist()[0] in (1, 3)
    assert found.images.tolist().index(1) < found.images.tolist().index(0)
    # By raw scores image 3 would win any search; by its shares it is no better a beach than image 1.
    known = annotations([[], [], [], []], 3)
    assert ImageSearch(model, known).find(query([0], []), 1).images.tolist() == [0]


def test_a_label_the_image_is_known_to_have_is_certain() -> None:
    case = random_case("context")
    engine = ImageSearch(case.model, case.known)
    owners = np.flatnonzero([7 in case.known.label_numbers(image) for image in range(60)])
    assert not np.isin(engine.find(query([7], []), 60).images, owners).any()
    tagged = engine.find(query([7], []), 60, tagged=True)
    assert tagged.images[: len(owners)].tolist() == owners.tolist()
    assert tagged.scores[: len(owners)].tolist() == [0.0] * len(owners)
    assert np.isposinf(tagged.label_scores[: len(owners), 0]).all()
    assert not np.isin(engine.find(query([5], [7]), 60, tagged=True).images, owners).any()


def test_among_some_images_the_order_is_that_among_all() -> None:
    case = random_case("context with weights")
    some = np.arange(5, 60, 3)
    every = ImageSearch(case.model, case.known).find(query([3], [8]), 60)
    found = ImageSearch(case.model, case.known).find(query([3], [8]), 60, among=some)
    assert found.images.tolist() == [image for image in every.images if image in some]
    np.testing.assert_allclose(found.scores, every.scores[np.isin(every.images, some)], rtol=1e-5)


def test_a_query_is_read_from_text() -> None:
    labels = Vocabulary.from_ids(["beach", "people", "-odd", "Ωmega"], "label")
    asked = Query.parse(["Ωmega", "-people", "beach", "-odd", "beach"], labels)
    assert labels.ids(asked.include) == ["-odd", "beach", "Ωmega"]
    assert labels.ids(asked.exclude) == ["people"]
    with pytest.raises(UnknownIdError, match="no label 'peple' is known; the nearest known: 'people'"):
        Query.parse(["-peple"], labels)
    with pytest.raises(ConfigError, match="'beach' is both included and excluded"):
        Query.parse(["beach", "-beach"], labels)
    with pytest.raises(ConfigError, match="at least one label"):
        Query.parse([], labels)


def test_no_images_are_found_where_there_are_none() -> None:
    model, known = random_case("context")
    nobody = replace(
        known, images=Vocabulary.from_ids([], "image"), indptr=np.zeros(1, np.int64), indices=known.indices[:0]
    )
    assert len(ImageSearch(model, nobody).find(query([1], []), 5).images) == 0
    with pytest.raises(ConfigError, match="top must be at least 1, got 0"):
        ImageSearch(model, known).find(query([1], []), 0)
