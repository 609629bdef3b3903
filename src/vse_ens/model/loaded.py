"""A trained model in memory, and references by which cluster workers open it from shared storage."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.errors import ModelError
from vse_ens.model.calibration import Calibration
from vse_ens.model.checks import check_arrays, check_settings
from vse_ens.model.model import Model
from vse_ens.model.store import MODEL, StoredModel, load_model
from vse_ens.model.topk import TemperatureFn, unit_temperature
from vse_ens.storage.artifact import ARRAYS
from vse_ens.storage.reader import manifest_digest


class ModelRef(NamedTuple):
    """The path of a model directory and a digest of its contents."""

    path: str
    """Absolute, because workers have other working directories."""
    digest: str
    """The SHA-256 of the manifest, which lists the SHA-256 of every file; empty if there is no manifest."""

    @classmethod
    def of(cls, path: str | Path) -> ModelRef:
        """Return the reference to a directory in its present state."""
        return cls(str(Path(path).resolve()), manifest_digest(Path(path)))


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
        return cls.of_stored(stored, ref.path)[0]

    @classmethod
    def of_stored(cls, stored: StoredModel, path: str | Path) -> tuple[LoadedModel, Config]:
        """Return the model of a directory and its configuration.

        Raises a ModelError unless all settings and arrays fit together; see `vse_ens.model.checks`.
        """
        try:
            config = check_settings(stored.settings)
        except ModelError as error:
            raise ModelError(f"{Path(path) / MODEL.document} is damaged: {error}; {MODEL.remedy}") from error
        try:
            check_arrays(stored.arrays, config, len(stored.known.images), len(stored.known.labels))
        except ModelError as error:
            raise ModelError(f"{Path(path) / ARRAYS} is damaged: {error}; {MODEL.remedy}") from error
        model = Model.from_arrays(stored.arrays, float(stored.settings["training"]["label_weights_scale"]))
        calibration = Calibration.from_arrays(stored.arrays)
        return cls(model, stored.known, calibration and calibration.for_pairs(stored.known)), config

    @property
    def temperature(self) -> TemperatureFn:
        """The softmax temperatures of images, from the calibration; 1 without one."""
        return unit_temperature if self.calibration is None else self.calibration.temperature.of
