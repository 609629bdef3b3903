"""Search and look-alikes through the façade, against slow twins."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vse_ens.annotator import Annotator
from vse_ens.data.datasets.scenes import scenes
from vse_ens.errors import ConfigError, UnknownIdError


@pytest.fixture(scope="module")
def model(small_model: Path) -> Annotator:
    return Annotator.load(small_model)


def test_untagged_images_are_ranked_by_their_chance(model: Annotator) -> None:
    known = model.known_
    [one, other] = known.labels.ids([3, 5])
    found = model.search([one, f"-{other}"], top=5)
    scores = [image.score for image in found]
    assert scores == sorted(scores, reverse=True)
    for image in found:
        labels = model.known_labels(image.image)
        assert one not in labels
        assert other not in labels
        [wanted] = model.annotate(image.image, top=1, allow=[one])
        [unwanted] = model.annotate(image.image, top=1, allow=[other])
        assert image.confidence == pytest.approx(wanted.confidence * (1.0 - unwanted.confidence), rel=1e-4)  # type: ignore[operator]


def test_tagged_images_come_first_and_are_certain(model: Annotator) -> None:
    label = model.known_.labels.id(3)
    tagged = [image for image in model.known_.images if label in model.known_labels(image)]
    found = model.search([label], top=len(tagged) + 3, tagged=True)
    assert sorted(one.image for one in found[: len(tagged)]) == tagged
    assert {one.confidence for one in found[: len(tagged)]} == {1.0}
    assert found[len(tagged) :] == model.search([label], top=3)


def test_without_held_out_labels_there_is_no_confidence() -> None:
    model = Annotator("opt-auc", epochs=1, dimensions=4).fit(scenes(images=100, labels=50, seed=0))
    assert model.search([model.known_.labels.id(0)], top=1)[0].confidence is None


def test_growing_forgets_what_was_kept_for_searches() -> None:
    data = scenes(images=200, labels=50, seed=0)
    model = Annotator(epochs=1, dimensions=4, validate=False).fit(data)
    label = data.labels.id(0)
    model.search([label])
    model.partial_fit(type(data).from_pairs([("a new one", label), ("a new one", data.labels.id(1))]))
    assert "a new one" in [one.image for one in model.search([label], top=200, tagged=True)]


def test_the_nearest_are_those_of_the_largest_cosine(model: Annotator) -> None:
    vectors = model.embeddings_.vectors(np.arange(len(model.known_.images)), known=model.known_).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-30
    cosines = vectors @ vectors[7]
    cosines[7] = -2
    found = model.similar_images(model.known_.images.id(7), top=4)
    assert [one.similarity for one in found] == pytest.approx(np.sort(cosines)[::-1][:4].tolist(), abs=1e-5)
    assert model.known_.labels.id(2) not in [one.id for one in model.similar_labels(model.known_.labels.id(2), top=99)]


def test_an_impossible_search_is_refused(model: Annotator, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="search takes a list of label ids, got the text 'sky'"):
        model.search("sky")
    with pytest.raises(UnknownIdError, match="unknown label 'skj'"):
        model.search(["skj"])
    with pytest.raises(ConfigError, match="what must be 'labels' or 'images', got 'both'"):
        model.export_vectors(tmp_path / "x.npy", "both")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="explain cannot be used for a file of all suggestions"):
        model.annotate_all(tmp_path / "x.csv", explain=True)
    with pytest.raises(ConfigError, match="this Annotator has not been fitted"):
        Annotator().search(["sky"])
