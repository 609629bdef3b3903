"""A model opened by its path, as every worker of a cluster does for itself: mapped into memory, not sent."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from vse_ens.data.annotations import Annotations
from vse_ens.errors import ModelError
from vse_ens.model.calibration import Calibration
from vse_ens.model.model import Model
from vse_ens.model.store import load_model
from vse_ens.storage.artifact import MANIFEST


class ModelRef(NamedTuple):
    """A model directory, and what it holds."""

    path: str
    """From the root: workers have other working directories."""
    seal: str
    """SHA-256 of the manifest, which has those of all files; empty where there is none."""

    @classmethod
    def of(cls, path: str | Path) -> ModelRef:
        """As the directory is now."""
        try:
            manifest = (Path(path) / MANIFEST).read_bytes()
        except OSError:
            manifest = b""
        return cls(str(Path(path).resolve()), hashlib.sha256(manifest).hexdigest() if manifest else "")


class Opened(NamedTuple):
    """What a model directory holds."""

    model: Model
    known: Annotations
    calibration: Calibration | None


def opened(place: ModelRef) -> Opened:
    """The model at place. Its contents were verified by whoever loaded it first, and are only mapped here."""
    if not Path(place.path).is_dir():
        raise ModelError(
            f"a worker of the cluster finds no model {place.path}; save it where all nodes find it under one path"
        )
    stored = load_model(place.path, verify=False)
    if ModelRef.of(place.path) != place:
        raise ModelError(f"{place.path} holds another model than when it was loaded; load it again")
    model = Model.from_arrays(stored.arrays, stored.settings["training"]["memory_weight"])
    return Opened(model, stored.known, Calibration.from_arrays(stored.arrays))
