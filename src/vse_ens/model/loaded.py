"""A trained model in memory, and references by which cluster workers open it from shared storage."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from vse_ens.data.annotations import Annotations
from vse_ens.errors import ModelError
from vse_ens.model.calibration import Calibration
from vse_ens.model.model import Model
from vse_ens.model.store import load_model
from vse_ens.model.topk import TemperatureFn, unit_temperature
from vse_ens.storage.artifact import MANIFEST


class ModelRef(NamedTuple):
    """The path of a model directory and a digest of its contents."""

    path: str
    """Absolute, because workers have other working directories."""
    digest: str
    """The SHA-256 of the manifest, which lists the SHA-256 of every file; empty if there is no manifest."""

    @classmethod
    def of(cls, path: str | Path) -> ModelRef:
        """Return the reference to a directory in its present state."""
        try:
            manifest = (Path(path) / MANIFEST).read_bytes()
        except OSError:
            manifest = b""
        return cls(str(Path(path).resolve()), hashlib.sha256(manifest).hexdigest() if manifest else "")


class LoadedModel(NamedTuple):
    """A model, the pairs it was trained on, and its calibration if it has one."""

    model: Model
    known: Annotations
    calibration: Calibration | None

    @classmethod
    def open(cls, ref: ModelRef) -> LoadedModel:
        """Map a model directory into memory without verification, which the process that made ``ref`` has done."""
        if not Path(ref.path).is_dir():
            raise ModelError(
                f"a cluster worker cannot find the model {ref.path}; "
                "save it on storage that all nodes see under the same path"
            )
        stored = load_model(ref.path, verify=False)
        if ModelRef.of(ref.path) != ref:
            raise ModelError(f"{ref.path} has changed since the model was loaded; load it again")
        model = Model.from_arrays(stored.arrays, stored.settings["training"]["label_weights_scale"])
        return cls(model, stored.known, Calibration.from_arrays(stored.arrays))

    @property
    def temperature(self) -> TemperatureFn:
        """The softmax temperatures of images, from the calibration; 1 without one."""
        return unit_temperature if self.calibration is None else self.calibration.temperature.of
