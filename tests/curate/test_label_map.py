from __future__ import annotations

import numpy as np
import pytest

from tests.support.random_models import random_case
from vse_ens.curate import label_map as label_map_module
from vse_ens.curate.label_map import layout_2d, make_label_map
from vse_ens.streams import Streams


def clustered(clusters: int, size: int, noise: float = 0.3) -> np.ndarray:
    """Unit vectors around some centers."""
    numbers = Streams(1).child("clusters")
    centers = numbers.child("centers").uniforms(clusters * 16).reshape(clusters, 16) - 0.5
    vectors = np.repeat(centers, size, axis=0)
    vectors += noise * (numbers.child("noise").uniforms(vectors.size).reshape(vectors.shape) - 0.5)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def nearest(distances: np.ndarray, count: int) -> np.ndarray:
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1)[:, :count]


def distances(positions: np.ndarray) -> np.ndarray:
    return np.linalg.norm(positions[:, None] - positions[None], axis=2)


@pytest.fixture(scope="module")
def laid_out() -> tuple[np.ndarray, np.ndarray]:
    vectors = clustered(12, 20)
    return vectors, layout_2d(vectors, lambda _: None)


def test_neighbors_stay_neighbors(laid_out: tuple[np.ndarray, np.ndarray]) -> None:
    vectors, positions = laid_out
    expected, found = nearest(1.0 - vectors @ vectors.T, 10), nearest(distances(positions), 10)
    kept = np.mean([len(set(one) & set(other)) / 10 for one, other in zip(expected, found, strict=True)])
    assert kept > 0.6


def test_clusters_lie_apart(laid_out: tuple[np.ndarray, np.ndarray]) -> None:
    _, positions = laid_out
    cluster = np.arange(len(positions)) // 20
    found = nearest(distances(positions), 5)
    assert np.mean(cluster[found] == cluster[:, None]) > 0.97


def test_nothing_heaps_up_and_the_frame_is_filled(laid_out: tuple[np.ndarray, np.ndarray]) -> None:
    _, positions = laid_out
    assert (positions.min(axis=0).tolist(), positions.max(axis=0).tolist()) == ([0, 0], [1, 1])
    apart = distances(positions)
    np.fill_diagonal(apart, np.inf)
    assert apart.min() > 0.2 / np.sqrt(len(positions))
    crowd = np.histogram2d(*positions.T, bins=4, range=[[0, 1], [0, 1]])[0]
    assert crowd.max() < 0.25 * len(positions)


def test_the_same_vectors_have_the_same_map_and_it_tells_how_far_it_is(laid_out: tuple[np.ndarray, np.ndarray]) -> None:
    vectors, positions = laid_out
    reported: list[float] = []
    assert np.array_equal(layout_2d(vectors, reported.append), positions)
    assert reported == sorted(reported)
    assert 0 <= reported[0] < 0.01 < 0.98 < reported[-1] <= 1


@pytest.mark.parametrize("count", [1, 2, 3, 15])
def test_few_or_equal_labels_have_positions_too(count: int) -> None:
    for vectors in (clustered(count, 1), np.ones((count, 4), np.float32), np.zeros((count, 4), np.float32)):
        positions = layout_2d(vectors, lambda _: None)
        assert positions.shape == (count, 2)
        assert np.isfinite(positions).all()
        assert ((positions >= 0) & (positions <= 1)).all()
        assert len(np.unique(positions, axis=0)) == count


@pytest.mark.parametrize("kind", ["id", "context"])
def test_only_the_most_frequent_labels_are_on_the_map(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_map_module, "_MAX_LABELS", 30)
    monkeypatch.setattr(label_map_module, "_ITERATIONS", 5)
    model, known = random_case(kind, images=300, labels=50)
    found = make_label_map(model.embeddings, known, lambda _: None)
    assert len(found.labels) == len(found.positions) == 30
    counts = known.images_per_label
    assert counts[found.labels].min() >= np.sort(counts)[-30]
