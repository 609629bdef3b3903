"""Compare two sets of pairs with vocabularies of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations


def contained(data: Annotations, other: Annotations) -> NDArray[np.bool_]:
    """Return for every pair of ``data`` whether ``other`` has it."""
    images = data.images.translate(other.images)[other.image_numbers()]
    labels = data.labels.translate(other.labels)[other.indices]
    known = (images >= 0) & (labels >= 0)
    return np.isin(_keys(data.image_numbers(), data.indices), _keys(images[known], labels[known]))


def pairs_without(data: Annotations, other: Annotations) -> list[tuple[str, str]]:
    """Return the (image, label) pairs of ``data`` that ``other`` does not have, by image and label."""
    lacking = ~contained(data, other)
    images, labels = data.image_numbers()[lacking], data.indices[lacking]
    return list(zip(data.images.ids(images), data.labels.ids(labels), strict=True))


def _keys(images: NDArray[np.integer], labels: NDArray[np.integer]) -> NDArray[np.uint64]:
    return images.astype(np.uint64) << np.uint64(32) | labels.astype(np.uint64)
