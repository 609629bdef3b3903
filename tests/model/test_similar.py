from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.random_models import KINDS, label_pairs_of, random_case
from vse_ens.errors import ConfigError
from vse_ens.model import similar
from vse_ens.model.embeddings import Embeddings
from vse_ens.model.similar import ImageSimilarity, similar_images, similar_labels


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    length = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / length if length else 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_similar_images_have_the_nearest_vectors(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similar, "_BLOCK", 7)
    model, known = random_case(kind)
    vectors = model.embeddings.vectors(np.arange(60), known=known).astype(np.float64)
    expected = sorted((-round(cosine(vectors[5], vectors[n]), 5), n) for n in range(60) if n != 5)
    found = similar_images(model.embeddings, known, 5, 9)
    assert found.numbers.tolist() == [n for _, n in expected[:9]]
    np.testing.assert_allclose(found.similarities, [-value for value, _ in expected[:9]], atol=1e-5)


@pytest.mark.unhurried
@pytest.mark.parametrize("kind", KINDS)
def test_label_pairs_change_no_bit_of_similar_images(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similar, "_BLOCK", 7)
    model, known = random_case(kind)
    embeddings = model.embeddings
    if not embeddings.has_context:
        embeddings.image_vectors[20] = embeddings.image_vectors[5]  # as similar as it gets
        embeddings.image_vectors[30] = 0.0
    with_pairs = ImageSimilarity(embeddings, known)
    with_pairs.use_label_pairs(label_pairs_of(embeddings, known))
    with_pairs._lengths *= 1 + np.random.default_rng(0).uniform(-4e-5, 4e-5, 60).astype(np.float32)  # nobody sees it
    computed = []

    def vectors(self: Embeddings, images: np.ndarray, **more: Any) -> np.ndarray:
        computed.extend(images)
        return plain(self, images, **more)

    plain = Embeddings.vectors
    monkeypatch.setattr(Embeddings, "vectors", vectors)
    for image in range(60):
        for top in (1, 9, 58, 59, 100):
            expected = similar_images(embeddings, known, image, top)
            computed.clear()
            found = with_pairs.nearest(image, top)
            assert found.numbers.tolist() == expected.numbers.tolist()
            assert found.similarities.tobytes() == expected.similarities.tobytes()
            # Its own vector and few others; to a vector of zeros all others are equally similar.
            assert top > 1 or len(computed) < 10 or not found.similarities.any()


def test_similar_labels_are_alike_in_both_tables() -> None:
    embeddings = random_case("context").model.embeddings
    v, u = embeddings.label_vectors.astype(np.float64), embeddings.input_vectors.astype(np.float64)
    expected = sorted((-(cosine(v[3], v[n]) + cosine(u[3], u[n])) / 2, n) for n in range(40) if n != 3)
    found = similar_labels(embeddings, 3, 100)
    assert found.numbers.tolist() == [n for _, n in expected]
    np.testing.assert_allclose(found.similarities, [-value for value, _ in expected], atol=1e-6)


def test_without_a_context_tower_the_label_vectors_tell() -> None:
    embeddings = random_case("id").model.embeddings
    embeddings.label_vectors[8] = 2 * embeddings.label_vectors[3]
    embeddings.label_vectors[9] = 0.0
    found = similar_labels(embeddings, 3, 39)
    assert (found.numbers[0], round(float(found.similarities[0]), 5)) == (8, 1.0)
    assert found.similarities[found.numbers == 9] == 0.0
    with pytest.raises(ConfigError, match="top must be at least 1, got 0"):
        similar_labels(embeddings, 3, 0)


def test_equally_similar_ones_come_in_the_order_of_numbers() -> None:
    embeddings = random_case("id").model.embeddings
    embeddings.label_vectors[:] = 1.0
    assert similar_labels(embeddings, 2, 4).numbers.tolist() == [0, 1, 3, 4]
