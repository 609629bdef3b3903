"""Data to measure on: real data sets if available, and synthetic ones of any size."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

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


class FeatureSet(NamedTuple):
    """Images with features and labels, some to train on and some to test on."""

    train: Annotations
    train_features: Any
    test_features: Any
    test_labels: NDArray[np.float32]
    """One row per test image, one column per label of ``train``."""


@overload
def feature_set(name: str, check: Literal[False] = False) -> FeatureSet: ...
@overload
def feature_set(name: str, check: Literal[True]) -> Path | None: ...
def feature_set(name: str, check: bool = False) -> FeatureSet | Path | None:
    """Return a data set with features; with ``check``, its folder, or None if it is missing."""
    from scipy import sparse

    folder = _FOLDER / name
    if check:
        return folder if (folder / "ids.txt").exists() else None
    ids = (folder / "ids.txt").read_text(encoding="utf-8").splitlines()
    data = Annotations.read(folder / "pairs.tsv.gz", header=False)
    if (folder / "features.npz").exists():
        features: Any = sparse.csr_array(sparse.load_npz(folder / "features.npz"))
        trains = np.array([one.startswith("train") for one in ids])
    else:
        features = np.load(next(folder.glob("*.npy"))).astype(np.float32)
        with gzip.open(folder / "split.tsv.gz", "rt", encoding="utf-8") as file:
            part = dict(line.rstrip("\n").split("\t") for line in file)
        trains = np.array([part[one] == "train" for one in ids])
    images = Vocabulary.from_ids(ids, "image")
    order = np.argsort(images.numbers(ids))
    features, trains = features[order], trains[order]
    at = data.images.numbers(list(images), missing="minus-one")
    labels = data.to_matrix()[np.maximum(at, 0)].toarray().astype(np.float32) * (at >= 0)[:, None]
    names = Vocabulary.from_ids([one for one, chosen in zip(images, trains, strict=True) if chosen], "image")
    image, label = np.nonzero(labels[trains])
    train = Annotations.from_numbers(names, data.labels, image, label)
    return FeatureSet(train, features[trains], features[~trains], labels[~trains])
