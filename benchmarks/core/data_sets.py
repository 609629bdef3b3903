"""Data to measure on: real data sets if available, and synthetic ones of any size."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.streams import Streams

REAL = ("iaprtc12", "openimages_v1val_sample", "mirflickr25k", "corel5k", "nuswide81")
_FOLDER = Path(os.environ.get("VSE_ENS_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))


def real(names: tuple[str, ...]) -> tuple[dict[str, Annotations], list[str]]:
    """Return the real data sets by name, and one sentence for each that is missing."""
    paths, skipped = real_files(names)
    return {name: Annotations.read(path, header=False) for name, path in paths.items()}, skipped


def real_files(names: tuple[str, ...]) -> tuple[dict[str, Path], list[str]]:
    """Return the files of the real data sets by name, and one sentence for each that is missing."""
    found, skipped = {}, []
    for name in names:
        path = _FOLDER / name / "pairs.tsv.gz"
        if path.exists():
            found[name] = path
        else:
            skipped.append(f"{name}: {path} does not exist; set VSE_ENS_SHARED_DATA to the folder of the data sets.")
    return found, skipped


def zipf(images: int, labels: int, labels_per_image: int = 8) -> Annotations:
    """Return random pairs with Zipf-distributed labels.

    Any size takes only seconds. Duplicates merge, so images have slightly fewer than ``labels_per_image`` labels.
    """
    streams = Streams(0).child("benchmark", "zipf", images, labels)
    cumulative = np.cumsum(1.0 / np.arange(1, labels + 1))
    drawn = np.searchsorted(cumulative, streams.uniforms(images * labels_per_image) * cumulative[-1], side="right")
    # Shuffled, because popular labels would otherwise be neighbors in RAM, which real ones are not.
    places = np.argsort(streams.child("places").words(labels))
    keys = np.repeat(np.arange(images, dtype=np.uint64) << np.uint64(32), labels_per_image)
    keys |= places[drawn].astype(np.uint64)
    return Annotations.from_keys(_numbered(images, "image"), _numbered(labels, "label"), keys)


def _numbered(count: int, kind: str) -> Vocabulary:
    digits = pa.array(np.arange(count)).cast(pa.large_string())
    return Vocabulary(pc.utf8_lpad(digits, len(str(count)), "0"), kind)
