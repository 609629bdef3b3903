from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vse_ens.annotator import Annotator
from vse_ens.curate import label_map as label_map_module
from vse_ens.curate.label_map import layout_2d, make_label_map
from vse_ens.streams import Streams


def clustered(clusters: int, size: int, noise: float = 0.3) -> np.ndarray:
    """Unit vectors around some centres."""
    numbers = Streams(1).child("clusters")
    centres = numbers.child("centres").uniforms(clusters * 16).reshape(clusters, 16) - 0.5
    vectors = np.repeat(centres, size, axis=0)
    vectors += noise * (numbers.child("noise").uniforms(vectors.size).reshape(vectors.shape) - 0.5)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def nearest(distances: np.ndarray, count: int) -> np.ndarray:
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1)[:, :count]


def distances(places: np.ndarray) -> np.ndarray:
    return np.linalg.norm(places[:, None] - places[None], axis=2)


@pytest.fixture(scope="module")
def laid_out() -> tuple[np.ndarray, np.ndarray]:
    vectors = clustered(12, 20)
    return vectors, layout_2d(vectors, lambda _: None)


def test_neighbours_stay_neighbours(laid_out: tuple[np.ndarray, np.ndarray]) -> None:
    vectors, places = laid_out
    expected, found = nearest(1.0 - vectors @ vectors.T, 10), nearest(distances(places), 10)
    kept = np.mean([len(set(one) & set(other)) / 10 for one, other in zip(expected, found, strict=True)])
    assert kept > 0.6


def test_clusters_lie_apart(laid_out: tuple[np.ndarray, np.ndarray]) -> None:
    _, places = laid_out
    cluster = np.arange(len(places)) // 20
    found = nearest(distances(places), 5)
    assert np.mean(cluster[found] == cluster[:, None]) > 0.97


def test_nothing_heaps_up_and_the_frame_is_filled(laid_out: tuple[np.ndarray, np.ndarray]) -> None:
    _, places = laid_out
    assert (places.min(axis=0).tolist(), places.max(axis=0).tolist()) == ([0, 0], [1, 1])
    apart = distances(places)
    np.fill_diagonal(apart, np.inf)
    assert apart.min() > 0.2 / np.sqrt(len(places))
    crowd = np.histogram2d(*places.T, bins=4, range=[[0, 1], [0, 1]])[0]
    assert crowd.max() < 0.25 * len(places)


def test_the_same_vectors_have_the_same_map_and_it_tells_how_far_it_is(laid_out: tuple[np.ndarray, np.ndarray]) -> None:
    vectors, places = laid_out
    told: list[float] = []
    assert np.array_equal(layout_2d(vectors, told.append), places)
    assert told == sorted(told)
    assert 0 <= told[0] < 0.01 < 0.98 < told[-1] <= 1


@pytest.mark.parametrize("count", [1, 2, 3, 15])
def test_few_or_equal_labels_have_places_too(count: int) -> None:
    for vectors in (clustered(count, 1), np.ones((count, 4), np.float32), np.zeros((count, 4), np.float32)):
        places = layout_2d(vectors, lambda _: None)
        assert places.shape == (count, 2)
        assert np.isfinite(places).all()
        assert ((places >= 0) & (places <= 1)).all()
        assert len(np.unique(places, axis=0)) == count


def test_only_the_most_frequent_labels_are_on_the_map(
    model: Path, other_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vse_ens.curate.label_map._MOST_LABELS", 30)
    monkeypatch.setattr(label_map_module, "_ROUNDS", 5)
    for path in (model, other_model):
        annotator = Annotator.load(path)
        found = make_label_map(annotator, lambda _: None)
        assert len(found.labels) == len(found.places) == 30
        counts = annotator.known_.images_per_label
        assert counts[found.labels].min() >= np.sort(counts)[-30]
