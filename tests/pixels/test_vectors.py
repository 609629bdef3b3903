"""Vectors of many pictures: nothing is computed twice, nothing is lost by an interruption, damage is counted."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.support.small_networks import WEIGHTS, write_network
from vse_ens.errors import DataError
from vse_ens.pixels import Encoder, VectorCache, Vectors, embed

PLAIN = {"size": {"height": 6, "width": 6}, "image_mean": [0.0] * 3, "image_std": [1.0] * 3}


class Counting(Encoder):
    """Counts the pictures of each batch, and stops at one of them."""

    def __init__(self, path: Path, stop_at: int = -1) -> None:
        super().__init__(path)
        self.batches: list[int] = []
        self.stop_at = stop_at

    def __call__(self, pictures: list[np.ndarray]) -> np.ndarray:
        if len(self.batches) == self.stop_at:
            raise KeyboardInterrupt
        self.batches.append(len(pictures))
        return super().__call__(pictures)


@pytest.fixture
def network(tmp_path: Path) -> Path:
    (tmp_path / "net").mkdir()
    (tmp_path / "net/preprocessor_config.json").write_text(json.dumps(PLAIN))
    return write_network(tmp_path / "net/model.onnx", size=6)


def color(number: int) -> tuple[int, int, int]:
    return (number % 256, 7 * number % 256, 13 * number % 256)


@pytest.fixture
def pictures(tmp_path: Path) -> dict[str, str]:
    """75 pictures of one color each: two batches and a part."""
    found = {}
    for number in range(75):
        path = tmp_path / f"{number:02}.png"
        Image.new("RGB", (8, 8), color(number)).save(path)
        found[path.name] = str(path)
    return found


def run(pictures: dict[str, str], encoder: Encoder, folder: Path) -> tuple[Vectors, np.ndarray]:
    with VectorCache(encoder.key, folder) as cache:
        vectors = embed(pictures, encoder, cache)
        return vectors, np.concatenate(list(vectors.blocks()))


def test_every_picture_has_its_own_vector(pictures: dict[str, str], network: Path, tmp_path: Path) -> None:
    encoder = Counting(network)
    done: list[int] = []
    with VectorCache(encoder.key, tmp_path / "cache") as cache:
        vectors = embed(dict(reversed(pictures.items())), encoder, cache, done.append)
        matrix = np.concatenate(list(vectors.blocks()))
    assert list(vectors.images) == sorted(pictures)
    wanted = np.array([color(number) for number in range(75)]) / 255 @ WEIGHTS
    np.testing.assert_allclose(matrix, wanted, atol=1e-5)
    assert (vectors.computed, vectors.dimensions, encoder.batches) == (75, 4, [32, 32, 11])
    assert done == sorted(done)


def test_second_run_computes_what_is_new_or_changed(pictures: dict[str, str], network: Path, tmp_path: Path) -> None:
    run(pictures, Counting(network), tmp_path / "cache")
    Image.new("RGB", (8, 8), (255, 0, 0)).save(tmp_path / "03.png")
    Path(pictures["04.png"]).rename(tmp_path / "moved.png")
    more = {**pictures, "04.png": str(tmp_path / "moved.png")}
    encoder = Counting(network)
    vectors, matrix = run(more, encoder, tmp_path / "cache")
    assert (encoder.batches, vectors.computed) == ([1], 1)
    np.testing.assert_allclose(matrix[3], WEIGHTS[0], atol=1e-6)
    np.testing.assert_allclose(matrix[4], np.array(color(4)) / 255 @ WEIGHTS, atol=1e-6)


def test_a_file_of_unchanged_size_and_times_is_not_read_again(
    pictures: dict[str, str], network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(pictures, Encoder(network), tmp_path / "cache")
    monkeypatch.setattr("vse_ens.pixels.vectors.read_regular", lambda *_: pytest.fail("a file was read"))
    assert run(pictures, Encoder(network), tmp_path / "cache")[0].computed == 0


def test_a_stopped_run_continues(pictures: dict[str, str], network: Path, tmp_path: Path) -> None:
    whole = run(pictures, Encoder(network), tmp_path / "whole")[1]
    with pytest.raises(KeyboardInterrupt):
        run(pictures, Counting(network, stop_at=1), tmp_path / "cache")
    encoder = Counting(network)
    vectors, matrix = run(pictures, encoder, tmp_path / "cache")
    assert (encoder.batches, vectors.computed) == ([32, 11], 43)
    np.testing.assert_allclose(matrix, whole, atol=1e-6)


def test_another_network_has_another_cache(pictures: dict[str, str], network: Path, tmp_path: Path) -> None:
    run(pictures, Encoder(network), tmp_path / "cache")
    other = Counting(write_network(tmp_path / "net/model.onnx", "map", size=6))
    assert run(pictures, other, tmp_path / "cache")[0].computed == 75


def test_pictures_that_cannot_be_read_are_counted_and_named(
    pictures: dict[str, str], network: Path, tmp_path: Path
) -> None:
    Path(pictures["01.png"]).write_bytes(Path(pictures["01.png"]).read_bytes()[:40])
    Path(pictures["02.png"]).write_text("no picture")
    Path(pictures["03.png"]).unlink()
    Path(pictures["04.png"]).unlink()
    os.mkfifo(pictures["04.png"])
    vectors, matrix = run(pictures, Encoder(network), tmp_path / "cache")
    assert list(vectors.faults) == ["01.png", "02.png", "03.png", "04.png"]
    assert len(matrix) == len(vectors.images) == 71
    assert "4 files" in vectors.faults.notes()[0]
    assert "01.png" in vectors.faults.notes()[0]
    with pytest.raises(DataError, match="none of 4 pictures can be read"):
        run({name: pictures[name] for name in vectors.faults}, Encoder(network), tmp_path / "cache")


def test_vectors_that_are_not_finite_are_faults(pictures: dict[str, str], network: Path, tmp_path: Path) -> None:
    class Infinite(Encoder):
        def __call__(self, pictures: list[np.ndarray]) -> np.ndarray:
            vectors = super().__call__(pictures)
            vectors[vectors[:, 0] == 0.0] = np.nan
            return vectors

    vectors, matrix = run(pictures, Infinite(network), tmp_path / "cache")
    assert vectors.faults == {"00.png": "the network returns no finite numbers"}
    assert np.isfinite(matrix).all()
    assert run(pictures, Encoder(network), tmp_path / "cache")[0].computed == 1


def test_a_cache_that_is_no_database_is_named(network: Path, tmp_path: Path) -> None:
    encoder = Encoder(network)
    (tmp_path / f"{encoder.key}.sqlite").write_text("no database" * 1000)
    with pytest.raises(DataError, match=r"\.sqlite cannot be used \(file is not a database\); delete it"):
        VectorCache(encoder.key, tmp_path)
