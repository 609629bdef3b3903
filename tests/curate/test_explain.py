"""Shares add up to the score, and each is what its definition says."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.curate_models import KNOWN, LABELS, MODELS
from vse_ens.curate.explain import Reason, contributions
from vse_ens.kernels.arrays import Csr
from vse_ens.model.embeddings import Floats
from vse_ens.model.loaded import LoadedModel
from vse_ens.model.model import Model

EVERY = np.arange(len(KNOWN.images))


def own_vectors(model: Model, images: np.ndarray) -> Floats | None:
    return LoadedModel(model, KNOWN).own_vectors(images)


def all_reasons(model: Model, rows: Csr, labels: np.ndarray, own: Floats | None = None) -> list[tuple[Reason, ...]]:
    return [one.reasons(KNOWN.labels) for one in contributions(model, rows, labels, own)]


def all_cells() -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(EVERY, LABELS), np.tile(np.arange(LABELS), len(EVERY))


@pytest.mark.parametrize("name", MODELS)
def test_shares_add_up_to_the_score(name: str) -> None:
    model = MODELS[name]
    scores = model.scores(EVERY, KNOWN)
    images, labels = all_cells()
    found = contributions(model, KNOWN.rows(images), labels, own_vectors(model, images))
    sizes = [abs(one.by_label).sum() + abs(one.by_pair).sum() + abs(one.image) + abs(one.bias) for one in found]
    wrong = np.array([one.score for one in found]) - scores[images, labels]
    assert (abs(wrong) <= 1e-5 * np.array(sizes)).all()


@pytest.mark.parametrize("name", ["context with weights", "context+id with weights"])
def test_every_share_is_what_the_definition_says(name: str) -> None:
    model = MODELS[name]
    e, memory = model.embeddings, model.label_weights
    assert memory is not None
    pairs = {tuple(pair): number for number, pair in enumerate(e.label_pairs.tolist())}
    for image, label in ((0, 3), (7, 0), (3, 2), (5, 4)):
        (found,) = contributions(
            model, KNOWN.rows(np.array([image])), np.array([label]), own_vectors(model, np.array([image]))
        )
        owned = KNOWN.label_numbers(image).tolist()
        wanted = e.label_vectors[label].astype(float)
        for place, known in enumerate(owned):
            by_context = e.input_vectors[known] @ wanted / np.sqrt(len(owned))
            by_memory = model.label_weights_scale * memory.values[known, label]
            assert found.by_label[place] == pytest.approx(by_context + by_memory, rel=1e-5, abs=1e-6)
        has = [(a, b) for a in owned for b in owned if (a, b) in pairs]
        assert [tuple(pair) for pair in found.label_pairs.tolist()] == has
        for pair, share in zip(has, found.by_pair, strict=True):
            expected = e.input_vectors[LABELS + pairs[pair]] @ wanted / np.sqrt(len(has))
            assert share == pytest.approx(expected, rel=1e-5, abs=1e-6)
        assert found.bias == e.label_bias[label]


def test_many_are_explained_as_one_is() -> None:
    model = MODELS["context with sparse weights"]
    images, labels = all_cells()
    together = all_reasons(model, KNOWN.rows(images), labels)
    alone = [
        all_reasons(model, KNOWN.rows(images[row : row + 1]), labels[row : row + 1])[0]
        for row in range(0, len(images), 37)
    ]
    assert together[::37] == alone


def test_reasons_have_ids_and_the_largest_comes_first() -> None:
    model = MODELS["context+id with weights"]
    rows = KNOWN.rows(np.array([0]))
    (found,) = contributions(model, rows, np.array([2]), own_vectors(model, np.array([0])))
    reasons = found.reasons(KNOWN.labels)
    *by_labels, image, bias = reasons
    assert (image.source, image.labels, bias.source, bias.labels) == ("image", (), "bias", ())
    sizes = [abs(reason.share) for reason in by_labels]
    assert sizes == sorted(sizes, reverse=True)
    assert {reason.labels for reason in by_labels if len(reason.labels) == 1} == {
        (label,) for label in KNOWN.labels_of("image-00000")
    }
    assert sum(reason.share for reason in reasons) == pytest.approx(found.score)


def test_of_an_image_without_labels_the_bias_is_all() -> None:
    model = MODELS["context with weights"]
    (found,) = contributions(model, KNOWN.rows(np.array([3])), np.array([1]), None)
    assert [reason.source for reason in found.reasons(KNOWN.labels)] == ["bias"]
    assert found.score == model.embeddings.label_bias[1]


def test_without_a_context_only_the_memory_speaks_label_by_label() -> None:
    model = MODELS["id with weights"]
    assert model.label_weights is not None
    (found,) = contributions(model, KNOWN.rows(np.array([0])), np.array([1]), own_vectors(model, np.array([0])))
    expected = model.label_weights_scale * model.label_weights.values[KNOWN.label_numbers(0), 1]
    np.testing.assert_allclose(found.by_label, expected, rtol=1e-6)
    assert not len(found.label_pairs)
    assert found.image == pytest.approx(model.embeddings.image_vectors[0] @ model.embeddings.label_vectors[1], rel=1e-5)
