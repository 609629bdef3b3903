from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.small_networks import FORMS, WEIGHTS, write_network
from vse_ens.errors import ConfigError
from vse_ens.pixels import Encoder

PLAIN = {"size": {"height": 6, "width": 6}, "image_mean": [0.0] * 3, "image_std": [1.0] * 3}
COLORS = np.array([[255, 0, 51], [0, 102, 255], [153, 153, 0]], np.uint8)


def pictures() -> list[np.ndarray]:
    return [np.broadcast_to(color, (6, 6, 3)).copy() for color in COLORS]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_output_is_a_vector_per_picture(tmp_path: Path, form: str) -> None:
    path = write_network(tmp_path / "net.onnx", form, 6)
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(PLAIN))
    encoder = Encoder(path)
    np.testing.assert_allclose(encoder(pictures()), COLORS / 255 @ WEIGHTS, atol=1e-6)
    assert encoder.batch_size == (4 if form == "fixed batch" else None)
    assert not encoder.is_guessed


@pytest.mark.parametrize("place", ["onnx/vision_model.onnx", "onnx/model.onnx", "model.onnx", "other.onnx"])
def test_folders_as_published_on_the_hub(tmp_path: Path, place: str) -> None:
    write_network(tmp_path / place, size=6)
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(PLAIN))
    encoder = Encoder(tmp_path)
    assert encoder.path == tmp_path / place
    assert encoder.preprocessing.resize == (6, 6)


def test_vision_tower_comes_before_the_whole_model(tmp_path: Path) -> None:
    for name in ("model.onnx", "vision_model.onnx"):
        write_network(tmp_path / "onnx" / name)
    assert Encoder(tmp_path).path.name == "vision_model.onnx"


def test_without_a_configuration_size_is_that_of_the_network(tmp_path: Path) -> None:
    encoder = Encoder(write_network(tmp_path / "net.onnx", size=96))
    assert encoder.is_guessed
    assert (encoder.preprocessing.crop, encoder.preprocessing.resize) == ((96, 96), 110)
    assert Encoder(write_network(tmp_path / "net.onnx")).preprocessing.crop == (224, 224)


def test_key_depends_on_network_and_preprocessing(tmp_path: Path) -> None:
    write_network(tmp_path / "net.onnx")
    guessed = Encoder(tmp_path).key
    assert Encoder(tmp_path / "net.onnx").key == guessed
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(PLAIN))
    configured = Encoder(tmp_path).key
    write_network(tmp_path / "net.onnx", "pooler_output")
    assert len({guessed, configured, Encoder(tmp_path).key}) == 3


def test_faults_name_the_file_and_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none does not exist; give an \.onnx file, a folder with one, or USER/NAME"):
        Encoder(tmp_path / "none")
    with pytest.raises(ConfigError, match=r"has no onnx/vision_model\.onnx, .* and no other \.onnx file"):
        Encoder(tmp_path)
    (tmp_path / "bad.onnx").write_bytes(b"no network")
    with pytest.raises(ConfigError, match=r"bad\.onnx is not a network that onnxruntime can run") as caught:
        Encoder(tmp_path / "bad.onnx")
    assert "\n" not in str(caught.value)
    path = write_network(tmp_path / "net.onnx", size=6)
    with pytest.raises(ConfigError, match="onnxruntime has no provider 'gpu' here, only"):
        Encoder(path, "gpu")
    with pytest.raises(ConfigError, match=r"net\.onnx does not take pictures of shape \(3, 5, 5\)"):
        Encoder(path)([np.zeros((5, 5, 3), np.uint8)])
