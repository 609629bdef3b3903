"""Drop rare labels and images with few labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError, DataError


def keep_frequent(data: Annotations, min_images_per_label: int = 1, min_labels_per_image: int = 1) -> Annotations:
    """Drop labels with few images and images with few labels, repeatedly until none is left.

    The notes of the result say how many were dropped.
    """
    for name, least in (
        ("min_images_per_label", min_images_per_label),
        ("min_labels_per_image", min_labels_per_image),
    ):
        if least < 1:
            raise ConfigError(f"{name} must be at least 1, got {least}")
    kept, passes = data, 0
    while True:
        label_ok = kept.images_per_label >= min_images_per_label
        image_ok = kept.labels_per_image >= min_labels_per_image
        if label_ok.all() and image_ok.all():
            break
        passes += 1
        kept = _subset(kept, image_ok, label_ok)
    if not kept.pairs:
        raise DataError(
            f"no pair is left with at least {min_images_per_label} images per label and "
            f"{min_labels_per_image} labels per image; lower these limits"
        )
    if not passes:
        return data
    note = (
        f"dropped {len(data.labels) - len(kept.labels):,} labels with fewer than {min_images_per_label} images and "
        f"{len(data.images) - len(kept.images):,} images with fewer than {min_labels_per_image} labels, "
        f"{data.pairs - kept.pairs:,} pairs in all, in {passes} pass{'es' if passes > 1 else ''}"
    )
    return replace(kept, notes=(*data.notes, note))


def _subset(data: Annotations, image_ok: NDArray[np.bool_], label_ok: NDArray[np.bool_]) -> Annotations:
    """Return the pairs of the given images and labels, renumbered."""
    pair_image = data.image_numbers()
    keep = image_ok[pair_image] & label_ok[data.indices]
    counts = np.bincount(pair_image[keep], minlength=len(data.images))[image_ok]
    new_label = (np.cumsum(label_ok) - 1).astype(np.int32)
    return Annotations(
        Vocabulary(data.images.arrow.filter(pa.array(image_ok)), data.images.kind),
        Vocabulary(data.labels.arrow.filter(pa.array(label_ok)), data.labels.kind),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        new_label[data.indices[keep]],
        features=None if data.features is None else data.features[np.flatnonzero(image_ok)],
        pictures=data.pictures,
    )
