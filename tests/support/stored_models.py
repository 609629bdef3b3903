"""A small model with unusual ids and arrays, and functions to tamper with its directory."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.model.store import StoredModel
from vse_ens.storage.artifact import MANIFEST, Entry, manifest_bytes


def make_model(fill: float = 1.0, arrays: Mapping[str, NDArray[Any]] | None = None) -> StoredModel:
    """Image 1 has no label, the label "unused" no image."""
    known = Annotations(
        Vocabulary.from_ids(["007", "a/b c", "naïve 海.jpg", "🏖️"], "image"),
        Vocabulary.from_ids(["sand", "sea", "unused", "Ωmega"], "label"),
        np.array([0, 2, 2, 4, 5], np.int64),
        np.array([0, 1, 1, 3, 0], np.int32),
    )
    if arrays is None:
        arrays = {
            "label": np.arange(12, dtype=np.float32).reshape(4, 3) * np.float32(fill),
            "bias": np.linspace(-1.0, 1.0, 4),
            "counts": np.array([3, 2, 0, 1], np.int64),
            "step": np.array(5, np.int32),
            "none": np.zeros((0, 3), np.float32),
        }
    settings = {"seed": 7, "rate": 0.1, "note": "größer", "big": 2**63 + 1, "nested": {"list": [1, None, True]}}
    return StoredModel(settings, arrays, known, "# A model\n\nÜber Bilder.\n")


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every file."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def reseal(folder: Path) -> None:
    """A manifest that agrees with whatever is in the folder now."""
    found = {name: Entry(len(raw), hashlib.sha256(raw).hexdigest()) for name, raw in contents(folder).items()}
    del found[MANIFEST]
    (folder / MANIFEST).write_bytes(manifest_bytes(found))


def beside(path: Path) -> list[str]:
    """What else there is in the directory that holds ``path``."""
    return sorted(entry.name for entry in path.parent.iterdir() if entry != path)
