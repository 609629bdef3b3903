"""An ONNX network that turns pictures into vectors, run by onnxruntime."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.errors import ConfigError, optional_library
from vse_ens.pixels.preprocessing import CONFIG, Preprocessing, error_line

NETWORKS = ("onnx/vision_model.onnx", "vision_model.onnx", "onnx/model.onnx", "model.onnx")
"""Where a repository of the Hub or a folder has its network; the first one that exists is used."""
EXTERNAL = ("_data", ".data")
"""What the name of a second file adds, in which large networks keep their weights."""
_OUTPUTS = ("image_embeds", "pooler_output")
_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


class Encoder:
    """A network with one input, a batch of pictures, and the output that has their vectors."""

    def __init__(self, model: Path, provider: str = "cpu", threads: int | None = None) -> None:
        path = _find_network(model)
        self.path = path
        self._session = session = _open(path, provider, threads)
        inputs = session.get_inputs()
        if len(inputs) != 1 or len(inputs[0].shape) != 4 or inputs[0].type not in _TYPES:
            shown = ", ".join(f"{one.name} {one.type} {one.shape}" for one in inputs)
            raise ConfigError(f"{path} takes {shown}; a network of pictures takes one batch of float pixels")
        self._input, shape = inputs[0], inputs[0].shape
        self._channels_last = shape[3] == 3 and shape[1] != 3
        sides = shape[1:3] if self._channels_last else shape[2:]
        size = (sides[0], sides[1]) if all(isinstance(side, int) for side in sides) else None
        self.batch_size: int | None = shape[0] if isinstance(shape[0], int) else None
        """The number of pictures per batch, if the network has a fixed one."""
        outputs = session.get_outputs()
        named = [one for name in _OUTPUTS for one in outputs if one.name == name]
        flat = [one for one in outputs if len(one.shape) == 2]
        self.output: str = [*named, *flat, *outputs][0].name
        config = next((one for one in (path.parent / CONFIG, path.parent.parent / CONFIG) if one.is_file()), None)
        self.is_guessed = config is None
        """Whether there is no configuration that says how pictures are prepared."""
        self.preprocessing = Preprocessing.usual(size) if config is None else Preprocessing.read(config)
        self.key = _digest(path, f"{self.output} {self.preprocessing!r}")
        """Identifies the network and the preprocessing."""

    def __call__(self, pictures: list[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Return a vector per decoded picture."""
        pixels = self.preprocessing.batch(pictures)
        missing = max((self.batch_size or 0) - len(pictures), 0)
        pixels = np.concatenate([pixels, np.zeros((missing, *pixels.shape[1:]), np.float32)]) if missing else pixels
        if self._channels_last:
            pixels = np.ascontiguousarray(pixels.transpose(0, 2, 3, 1))
        given = pixels.astype(_TYPES[self._input.type], copy=False)
        try:
            found = self._session.run([self.output], {self._input.name: given})[0]
        except Exception as error:  # noqa: BLE001  # onnxruntime has a class per fault, without a common base
            raise ConfigError(
                f"{self.path} does not take pictures of shape {given.shape[1:]} ({error_line(error)})"
            ) from None
        if found.ndim == 4:
            found = found.mean(axis=(2, 3))  # a map of features
        elif found.ndim == 3:
            found = found[:, 0]  # the class token of a transformer
        return np.ascontiguousarray(found[: len(pictures)].reshape(len(pictures), -1), np.float32)


def _find_network(model: Path) -> Path:
    if model.is_file():
        return model
    found = [model / name for name in NETWORKS if (model / name).is_file()] or sorted(model.glob("*.onnx"))
    if not model.is_dir():
        raise ConfigError(f"{model} does not exist; give an .onnx file, a folder with one, or USER/NAME on the Hub")
    if not found:
        raise ConfigError(f"{model} has no {', '.join(NETWORKS)} and no other .onnx file")
    return found[0]


def _open(path: Path, provider: str, threads: int | None) -> Any:
    onnxruntime = optional_library("onnxruntime", "networks need the library onnxruntime", "pixels")
    available = {name.removesuffix("ExecutionProvider").lower(): name for name in onnxruntime.get_available_providers()}
    if provider.lower() not in available:
        raise ConfigError(f"onnxruntime has no provider {provider!r} here, only {', '.join(sorted(available))}")
    providers = list(dict.fromkeys([available[provider.lower()], available["cpu"]]))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads or 0
    # Idle threads would take the cores that decode the next pictures.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=providers)
    except Exception as error:  # noqa: BLE001  # onnxruntime has a class per fault, without a common base
        raise ConfigError(f"{path} is not a network that onnxruntime can run ({error_line(error)})") from None


def _digest(path: Path, more: str) -> str:
    digest = hashlib.sha256(more.encode())
    for file in (path, *(path.with_name(path.name + end) for end in EXTERNAL)):
        if file.is_file():
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:32]
