"""Twenty questions: the wanted image is found, also after wrong answers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.curate_models import KNOWN, MODELS
from vse_ens.annotator import Annotator
from vse_ens.curate import questions
from vse_ens.curate.questions import Question, next_question
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.errors import ConfigError, UnknownIdError
from vse_ens.model.loaded import LoadedModel


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    annotator = Annotator(epochs=2, dimensions=8, workers=1).fit(scenes(images=1_000))
    return annotator.loaded_


def ask(loaded: LoadedModel, image: str, most: int, wrong: int | None = None) -> tuple[Question, list[str]]:
    """Answer questions by the labels of an image; the answer number ``wrong`` is wrong."""
    labels = set(loaded.known.labels_of(image))
    yes: list[str] = []
    no: list[str] = []
    for number in range(most):
        question = next_question(loaded, yes, no)
        if question.label is None:
            break
        assert question.label not in yes + no
        (yes if (question.label in labels) is (number != wrong) else no).append(question.label)
    return next_question(loaded, yes, no), yes


def rank(question: Question, loaded: LoadedModel, image: str) -> int:
    same = set(loaded.known.labels_of(image))
    fits = [place for place, one in enumerate(question.images) if set(loaded.known.labels_of(one.image)) == same]
    return min(fits, default=99)


def test_twenty_answers_find_an_image_among_a_thousand(loaded: LoadedModel) -> None:
    images = loaded.known.images.ids(range(3, 1_000, 100))
    places = [rank(ask(loaded, image, 20)[0], loaded, image) for image in images]
    assert sum(place < 3 for place in places) >= 8, places


def test_a_wrong_answer_is_survived(loaded: LoadedModel) -> None:
    images = loaded.known.images.ids(range(3, 1_000, 100))
    places = [rank(ask(loaded, image, 20, wrong=1)[0], loaded, image) for image in images]
    assert sum(place < 12 for place in places) >= 6, places  # 0 if wrong answers ruled images out


def test_every_answer_leaves_fewer_images(loaded: LoadedModel) -> None:
    first = next_question(loaded, [], [])
    assert first.remaining == pytest.approx(1_000)
    assert first.label is not None
    assert first.share is not None
    assert 0.2 < first.share < 0.8
    assert next_question(loaded, [first.label], []).remaining < 1_000
    assert next_question(loaded, [], [first.label]).remaining < 1_000
    assert next_question(loaded, [], [], [first.label]).label != first.label
    assert next_question(loaded, [], [], [first.label]).remaining == pytest.approx(1_000)


@pytest.mark.parametrize("name", MODELS)
def test_weights_and_gains_are_those_of_the_definition(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All images scored by the model, one by one, in a few lines."""
    monkeypatch.setattr(questions, "_BLOCK", 7)
    model = LoadedModel(MODELS[name], KNOWN, None)
    images, labels = len(KNOWN.images), len(KNOWN.labels)
    has = np.zeros((images, labels), bool)
    for image in range(images):
        has[image, KNOWN.label_numbers(image)] = True
    scores = MODELS[name].scores(np.arange(images), KNOWN).astype(np.float64)
    powers = np.where(has, 0.0, np.exp(scores - scores.max(axis=1, keepdims=True)))
    shares = powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-300)  # an image may have all labels
    present = np.where(has, 1.0, questions.UNLABELED * (1 - np.exp(-KNOWN.pairs / images * shares)))
    frequency = has.mean(axis=0)
    says_yes = (1 - questions.SLIP) * present + questions.SLIP * np.maximum(frequency, 1 / images)
    weights = says_yes[:, 3] * (1 - says_yes[:, 5])
    weights /= weights.sum()

    def entropy(share: np.ndarray) -> np.ndarray:
        share = np.clip(share, 1e-12, 1 - 1e-12)
        return -(share * np.log(share) + (1 - share) * np.log(1 - share))

    gains = entropy(weights @ says_yes) - weights @ entropy(says_yes)
    gains[[3, 5]] = -np.inf
    ids = KNOWN.labels.ids([3, 5])
    found = next_question(model, ids[:1], ids[1:], top=images)
    assert found.label == KNOWN.labels.id(int(gains.argmax()))
    assert found.share == pytest.approx((weights @ says_yes)[gains.argmax()], rel=1e-4)
    assert found.remaining == pytest.approx(np.exp(-(weights * np.log(weights)).sum()), rel=1e-4)
    got = {one.image: one.probability for one in found.images}
    assert [got[image] for image in KNOWN.images] == pytest.approx(weights.tolist(), rel=1e-3)
    assert [one.probability for one in found.images] == sorted(got.values(), reverse=True)


def test_with_one_image_or_equal_images_there_is_nothing_to_ask() -> None:
    data = Annotations.from_pairs([("a", "sea"), ("a", "sand"), ("b", "sea"), ("b", "sand")])
    annotator = Annotator(epochs=1, dimensions=4, validate=False, workers=1).fit(data)
    found = next_question(LoadedModel(annotator.model_, data, None), [], [])
    assert (found.label, found.share) == (None, None)
    assert found.remaining == pytest.approx(2)


def test_what_cannot_be_is_a_sentence(loaded: LoadedModel) -> None:
    with pytest.raises(ConfigError, match="'sea' was answered with yes and with no"):
        next_question(loaded, ["sea"], ["sea"])
    with pytest.raises(UnknownIdError, match="unknown label 'seaa'"):
        next_question(loaded, ["seaa"], [])
