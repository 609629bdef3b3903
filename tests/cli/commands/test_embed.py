"""`vse embed` and `vse train --embed`, with a small network, and with one on a stand-in of the Hub."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import tests.support.hub_stand_in as module
from tests.support.hub_stand_in import Repo, hub_stand_in, use_hub
from tests.support.small_networks import WEIGHTS, write_network
from vse_ens.data.annotations import Annotations
from vse_ens.data.features import read_features

Vse = Callable[..., Any]
PLAIN = {"size": {"height": 6, "width": 6}, "image_mean": [0.0] * 3, "image_std": [1.0] * 3}
COLORS = {"blue.png": (0, 0, 255), "trip/green.jpg": (0, 255, 0), "red.png": (255, 0, 0)}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def network(tmp_path: Path) -> Path:
    write_network(tmp_path / "net/model.onnx", size=6)
    (tmp_path / "net/preprocessor_config.json").write_text(json.dumps(PLAIN))
    return tmp_path / "net"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "photos/trip").mkdir(parents=True)
    for name, color in COLORS.items():
        Image.new("RGB", (8, 8), color).save(tmp_path / "photos" / name, quality=100)
    return tmp_path / "photos"


def test_a_folder_becomes_a_file_of_features(vse: Vse, folder: Path, network: Path, tmp_path: Path) -> None:
    for name in ("f.parquet", "f.npy"):
        answer = vse("embed", folder, "--out", tmp_path / name, "--model", network, "--json")
        assert answer.status == 0, answer.err
        table = read_features(tmp_path / name)
        assert list(table.images) == sorted(COLORS)
        np.testing.assert_allclose(table.matrix[0], WEIGHTS[2], atol=0.02)
        np.testing.assert_allclose(table.matrix[2], WEIGHTS[1], atol=0.02)
    assert answer.document == {
        "features": str(tmp_path / "f.npy"),
        "network": str(network / "model.onnx"),
        "dimensions": 4,
        "images": 3,
        "computed": 0,
        "skipped": 0,
    }


def test_damaged_pictures_are_named(vse: Vse, folder: Path, network: Path, tmp_path: Path) -> None:
    (folder / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    answer = vse("embed", folder, "--out", tmp_path / "f.npy", "--model", network)
    assert answer.status == 0, answer.err
    assert "broken.jpg" in answer.err
    assert "skipped   1" in answer.out


def test_pictures_of_a_collection_have_its_ids(vse: Vse, folder: Path, network: Path, tmp_path: Path) -> None:
    for name in COLORS:
        (folder / name).with_suffix(".txt").write_text("color, " + Path(name).stem)
    assert vse("embed", folder, "--out", tmp_path / "f.npy", "--model", network).status == 0
    assert read_features(tmp_path / "f.npy").images == Annotations.read(folder).images


def test_a_network_without_a_configuration_is_noted(vse: Vse, folder: Path, tmp_path: Path) -> None:
    path = write_network(tmp_path / "alone.onnx", size=6)
    answer = vse("embed", folder, "--out", tmp_path / "f.npy", "--model", path)
    assert "there is no preprocessor_config.json beside" in answer.err
    assert "used the usual side 7, crop 6x6, mean 0.485, 0.456, 0.406" in answer.err


def test_ctrl_c_says_how_to_continue(
    vse: Vse, folder: Path, network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("vse_ens.pixels.encoder.Encoder.__call__", stop)
        answer = vse("embed", folder, "--out", tmp_path / "f.npy", "--model", network)
    assert (answer.status, "stopped; the same command continues" in answer.err) == (130, True)
    assert not (tmp_path / "f.npy").exists()


def test_features_of_pictures_are_computed_before_training(
    vse: Vse, folder: Path, network: Path, tmp_path: Path
) -> None:
    for number in range(40):
        name = f"more{number:02}.png"
        kind = number % 2
        Image.new("RGB", (8, 8), (250 - number, 0, 0) if kind else (0, 0, 250 - number)).save(folder / name)
        if number < 30:
            (folder / name).with_suffix(".txt").write_text("warm, fire" if kind else "cold, ice")
    (folder / "broken.png").write_bytes(b"no picture")
    (folder / "broken.txt").write_text("warm, ash")
    arguments = ("--embed", network, "--dimensions", 8, "--epochs", 4)
    answer = vse("train", folder, "--out", tmp_path / "model", *arguments)
    assert answer.status == 0, answer.err
    assert "1 file" in answer.err
    assert "broken.png" in answer.err
    assert "1 of 44 images have no features" in answer.err
    found = vse("annotate", tmp_path / "model", "more33.png", "more34.png", "--top", 2, "--json").document
    assert [{one["label"] for one in image["suggestions"]} for image in found] == [{"warm", "fire"}, {"cold", "ice"}]


def test_mistakes_are_one_message(vse: Vse, folder: Path, network: Path, pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for arguments, message in (
        ((folder, "--out", tmp_path / "f.csv", "--model", network), "f.csv must end in .parquet, .npy"),
        ((folder, "--out", tmp_path / "f.npy", "--model", "none.onnx"), "none.onnx does not exist; give an .onnx file"),
        ((folder, "--out", tmp_path / "f.npy", "--model", network, "--revision", "v1"), "is not on the Hub"),
        ((tmp_path / "empty", "--out", tmp_path / "f.npy", "--model", network), "has no pictures"),
        ((pairs, "--out", tmp_path / "f.npy", "--model", network), "does not say where its pictures are"),
    ):
        answer = vse("embed", *arguments)
        assert answer.status != 0
        assert message in " ".join(answer.err.split())


@pytest.mark.filterwarnings("ignore:Use 'content=<:DeprecationWarning")
def test_a_network_on_the_hub(
    vse: Vse, folder: Path, network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "f.npy"
    with hub_stand_in() as hub:
        use_hub(monkeypatch, hub.url, str(tmp_path / "hub"))
        files = {
            "onnx/model.onnx": b"the whole model, which is not needed",
            "onnx/vision_model.onnx": (network / "model.onnx").read_bytes(),
            "onnx/vision_model.onnx_data": b"weights in a second file",
            "preprocessor_config.json": json.dumps(PLAIN).encode(),
            "README.md": b"a page",
        }
        hub.repos["org/clip"] = repo = Repo(lfs={"onnx/vision_model.onnx", "onnx/model.onnx"})
        commit = repo.commit("main", files, "first")
        answer = vse("embed", folder, "--out", out, "--model", "org/clip")
        assert answer.status == 0, answer.err
        assert commit in "".join(answer.out.split())
        np.testing.assert_allclose(read_features(out).matrix[0], WEIGHTS[2], atol=0.02)
        asked = " ".join(hub.requests)
        assert "README.md" not in asked
        assert "onnx/vision_model.onnx_data" in asked
        assert "onnx/model.onnx" not in asked

        # A later commit does not replace a pinned one, and a damaged copy is downloaded again.
        repo.commit("main", {**files, "onnx/vision_model.onnx": b"changed"}, "second")
        blob = next((tmp_path / "hub").rglob("vision_model.onnx")).resolve()
        blob.write_bytes(blob.read_bytes()[:-1] + b"x")
        answer = vse("embed", folder, "--out", out, "--model", "org/clip", "--revision", commit)
        assert answer.status == 0, answer.err
        assert blob.read_bytes() == files["onnx/vision_model.onnx"]

        # What the Hub sends has not the hash that it states.
        def damaged(self: Any, name: str, number: str, path: str) -> None:
            self._send(200, self.state.repos[name].commits[number][path][:-1] + b"x", {})

        blob.write_bytes(b"x" * len(files["onnx/vision_model.onnx"]))
        routes = [(verb, path, damaged if "cdn" in path else handle) for verb, path, handle in module.ROUTES]
        monkeypatch.setattr(module, "ROUTES", routes)
        answer = vse("embed", folder, "--out", out, "--model", "org/clip", "--revision", commit)
        assert answer.status != 0
        assert "does not have the hash that the Hub states" in " ".join(answer.err.split())

        answer = vse("embed", folder, "--out", out, "--model", "org/none")
        assert "org/none does not exist, or is private" in " ".join(answer.err.split())
        hub.repos["org/text"] = Repo()
        hub.repos["org/text"].commit("main", {"model.safetensors": b""}, "first")
        answer = vse("embed", folder, "--out", out, "--model", "org/text")
        assert "org/text on the Hub has none of onnx/vision_model.onnx" in " ".join(answer.err.split())
