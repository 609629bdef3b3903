"""The towers `features` and `id+features`, from a matrix to suggestions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from vse_ens.annotator import Annotator
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations, Split
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError
from vse_ens.evaluate.rank import mean_metrics
from vse_ens.streams import Streams
from vse_ens.train.checkpoint import fingerprint
from vse_ens.train.tables import features_of, initial_embeddings

IMAGES, TOPICS, LABELS_PER_TOPIC, LABELS_PER_IMAGE = 1_000, 12, 8, 4
TOWERS = ("features", "id+features")


def topic_pairs() -> tuple[Annotations, NDArray[np.int64]]:
    """Every image has a topic, and four of its labels; nothing but the topic tells which."""
    streams = Streams(3).child("test", "features")
    topics = streams.child("topics").below(np.full(IMAGES, TOPICS))
    words = streams.child("labels").words(IMAGES * LABELS_PER_TOPIC).reshape(IMAGES, LABELS_PER_TOPIC)
    chosen = np.argsort(words, axis=1)[:, :LABELS_PER_IMAGE]
    return (
        Annotations.from_numbers(
            Vocabulary.from_ids((f"img{number:04}" for number in range(IMAGES)), "image"),
            Vocabulary.from_ids((f"label{number:03}" for number in range(TOPICS * LABELS_PER_TOPIC)), "label"),
            np.repeat(np.arange(IMAGES), LABELS_PER_IMAGE),
            (topics[:, None] * LABELS_PER_TOPIC + chosen).ravel(),
        ),
        topics,
    )


def with_features(kind: str, scale: float = 1.0) -> Annotations:
    data, topics = topic_pairs()
    one_hot = np.eye(TOPICS)[topics]
    if kind == "sparse":
        return data.with_features(sparse.csr_array(scale * one_hot))
    # Mixed up, noisy, and with a large part that all images share.
    streams = Streams(4).child("test", "features")
    mixing = streams.child("mixing").normals(TOPICS * 24).reshape(TOPICS, 24)
    noise = streams.child("noise").normals(IMAGES * 24).reshape(IMAGES, 24)
    return data.with_features(scale * (one_hot @ mixing + 0.3 * noise + 1.0))


def halves(data: Annotations) -> Split:
    """One label of every image held out, and all labels of every fifth image, of which only the features are left."""
    train, test = data.leave_one_out(seed=0)
    learnt = train.image_numbers() % 5 != 0
    return Split(train.with_pairs(learnt), test)


def popularity(split: Split) -> float:
    counts = split.train.images_per_label.astype(np.float32)
    return mean_metrics(lambda images: np.tile(counts, (len(images), 1)), *split)["recall@10"]


def annotator(tower: str, **settings: Any) -> Annotator:
    return Annotator("opt-auc", seed=0, **{"tower": tower, "dimensions": 8, "epochs": 25, **settings})


@pytest.mark.parametrize("tower", TOWERS)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_labels_are_learnt_from_features_and_survive_saving(kind: str, tower: str, tmp_path: Path) -> None:
    split = halves(with_features(kind))
    model = annotator(tower).fit(split.train)
    assert popularity(split) < 0.25
    assert model.evaluate(split.test)["recall@10"] > 0.95

    model.save(tmp_path / "model")
    loaded = Annotator.load(tmp_path / "model")
    images = list(split.train.images)[:200]
    assert loaded.annotate(images, top=3) == model.annotate(images, top=3)
    assert loaded.evaluate(split.test) == model.evaluate(split.test)


@pytest.mark.unhurried
@pytest.mark.parametrize(
    ("preset", "tower", "settings"),
    [
        ("opt-auc", "features", {"loss": "softmax", "negatives": 8}),
        ("opt-auc", "id+features", {"loss": "softmax", "negatives": 8}),
        ("opt-auc", "id+features", {"slices": 4}),
        ("vse-ens", "features", {}),
    ],
)
def test_every_way_of_training_learns_from_features(preset: str, tower: str, settings: dict[str, Any]) -> None:
    split = halves(with_features("dense"))
    model = Annotator(preset, tower=tower, dimensions=8, epochs=25, **settings).fit(split.train)
    assert model.evaluate(split.test)["recall@10"] > 0.95


@pytest.mark.parametrize("tower", TOWERS)
def test_softmax_learns_from_features_that_share_a_large_part(tower: str) -> None:
    data = with_features("dense")
    # With pictures, as here, most of a vector is common to all; a batch of many images adds it up.
    split = halves(data.with_features(data.features + 3.0))
    model = Annotator("opt-auc", tower=tower, loss="softmax", dimensions=8, epochs=12).fit(split.train)
    assert model.evaluate(split.test)["recall@10"] > 0.9


@pytest.mark.parametrize("tower", TOWERS)
def test_the_unit_of_the_features_does_not_matter(tower: str) -> None:
    def vectors(scale: float) -> NDArray[np.float32]:
        data = with_features("dense", scale)
        return annotator(tower, epochs=5).fit(data).embeddings_.image_vectors

    # A power of two scales float32 without rounding.
    np.testing.assert_allclose(vectors(2.0**12), vectors(1.0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("settings", [{}, {"loss": "softmax"}])
def test_dense_and_sparse_features_give_equal_bytes(settings: dict[str, Any]) -> None:
    dense = with_features("dense")
    dense.features[:, 3] *= dense.features[:, 3] > 0
    as_sparse = dense.with_features(sparse.coo_matrix(dense.features))

    def feature_map(data: Annotations, workers: int) -> bytes:
        model = Annotator("opt-auc", workers=workers, tower="features", dimensions=8, epochs=2, **settings).fit(data)
        return model.embeddings_.feature_map.tobytes()

    assert feature_map(dense, 1) == feature_map(as_sparse, 1) == feature_map(dense, 3)


def test_one_image_and_one_label_against_the_formula() -> None:
    # Image a has x, of two labels; the negative can only be y. One logistic step, by hand.
    data = Annotations.from_pairs([("a", "x"), ("b", "y")]).with_features(np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0]]))
    data = data.with_pairs(np.array([True, False]))
    config = {"tower": "id+features", "dimensions": 8, "init_scale": 0.5, "regularization": 0.0, "label_bias": False}
    model = Annotator("opt-auc", workers=1, epochs=1, learning_rate=0.1, **config).fit(data)

    start = initial_embeddings(model.config_, data)
    x, labels = data.features[0], start.label_vectors
    before = start.image_vectors[0] + x @ start.feature_map
    slope = 1.0 / (1.0 + np.exp(before @ (labels[0] - labels[1])))
    change = 0.1 * slope * (labels[0] - labels[1])
    # |x|^2 is 25, above the mean of 12.5: the map takes x / 25 of the change, the free vector all of it.
    moved = start.feature_map + np.outer(x / 25.0, change)
    np.testing.assert_allclose(model.embeddings_.feature_map, moved, rtol=1e-5)
    np.testing.assert_allclose(
        model.embeddings_.image_vectors[0], start.image_vectors[0] + change + x @ moved, rtol=1e-5
    )


def test_kernels_get_what_the_matrix_holds() -> None:
    matrix = np.array([[0.0, 3.0, 4.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    data = Annotations.from_pairs([(image, "x") for image in "abc"])
    config = Config(tower="features")
    for given in (matrix, np.asfortranarray(matrix), sparse.csr_matrix(matrix), sparse.csc_array(matrix)):
        features = features_of(config, data.with_features(given))
        assert [array.dtype for array in features] == [np.int64, np.int32, np.float32, np.float32]
        assert features.indptr.tolist() == [0, 2, 2, 3]
        assert features.indices.tolist() == [1, 2, 2]
        assert features.values.tolist() == [3.0, 4.0, 1.0]
        # The mean of 25, 0 and 1 is 26 / 3: the least that is divided by.
        np.testing.assert_allclose(features.step_scale, [1 / 25, 3 / 26, 3 / 26], rtol=1e-6)


@pytest.mark.parametrize("matrix", [np.zeros((3, 2)), sparse.csr_array((3, 2))])
def test_features_of_zero_change_nothing(matrix: Any) -> None:
    data = Annotations.from_pairs([("a", "x"), ("b", "y"), ("c", "x")]).with_features(matrix)
    model = annotator("features", epochs=2).fit(data)
    assert not model.embeddings_.image_vectors.any()


@pytest.mark.parametrize("tower", [*TOWERS, "context+features"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_an_update_keeps_the_map_of_features(tower: str, kind: str, tmp_path: Path) -> None:
    data = with_features(kind)
    settings: dict[str, Any] = {"epochs": 6, "dimensions": 8, "tower": tower}
    model = Annotator("context" if "context" in tower else "opt-auc", **settings).fit(data)
    model.save(tmp_path / "model")
    grown = Annotator.load(tmp_path / "model")
    before, own = grown.embeddings_, grown.embeddings_.mapped(grown.known_.features)
    more = Annotations.from_pairs([("new", "label001"), ("other", "label002")])
    grown.partial_fit(more, features={"new": data.features[[0]].toarray()[0] if kind == "sparse" else data.features[0]})
    after, known = grown.embeddings_, grown.known_
    mapped, old = after.mapped(known.features), known.images.translate(data.images)
    assert not mapped[known.images.number("other")].any()
    if "id" not in tower:  # all vectors are mapped features, those of old images as well
        np.testing.assert_array_equal(after.image_vectors, mapped)
    moved = np.linalg.norm(after.image_vectors[old] - mapped[old] - (before.image_vectors - own), axis=1)
    assert np.median(moved) < 0.1 * np.median(np.linalg.norm(before.image_vectors, axis=1))
    grown.save(tmp_path / "grown")
    images = ["new", *list(data.images)[:9]]
    assert Annotator.load(tmp_path / "grown").annotate(images) == grown.annotate(images)


def test_a_tower_of_features_needs_features() -> None:
    data = Annotations.from_pairs([("a", "x"), ("b", "y")])
    with pytest.raises(ConfigError, match="tower features needs image features"):
        annotator("features").fit(data)


def test_the_fingerprint_sees_where_sparse_features_stand() -> None:
    data = Annotations.from_pairs([("a", "x"), ("b", "y")])
    one, other = sparse.csr_array([[1.0, 0.0], [0.0, 1.0]]), sparse.csr_array([[0.0, 1.0], [1.0, 0.0]])
    assert fingerprint(data.with_features(one)) != fingerprint(data.with_features(other))
    assert fingerprint(data.with_features(one)) == fingerprint(data.with_features(sparse.coo_matrix(one)))
