"""Implications between labels: images with ``dalmatian`` have ``dog`` too."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError
from vse_ens.model.completeness import wilson_bound

MIN_SUPPORT = 20
MIN_CONFIDENCE = 0.85
# One-sided: the true share is below the bound with this probability.
_BOUND_ERROR = 0.05
# The probability that any of all pairs of labels passes the test against chance by chance alone.
_CHANCE_ERROR = 0.01
# Labels whose partners are counted at a time.
_LABELS = 256


class Implication(NamedTuple):
    """Almost all images with ``label`` have ``implies`` too."""

    label: str
    implies: str
    support: int
    """The number of images with the label."""
    confidence: float
    """The share of them that have the other label."""
    exceptions: int
    """The number of them that lack it."""


def find_implications(
    data: Annotations,
    *,
    min_support: int = MIN_SUPPORT,
    min_confidence: float = MIN_CONFIDENCE,
    progress: Callable[[float], None] | None = None,
) -> list[Implication]:
    """Return the implications between labels, the surest first.

    ``a`` implies ``b`` if ``a`` has at least ``min_support`` images and the lower 95 % confidence bound (Wilson) of the
    share of them with ``b`` is at least ``min_confidence``, and larger than the share of ``b`` among all images by a
    test that allows for the number of pairs tested. Implications lead to the more frequent label, so they form no
    cycle; one that follows from two others is left out. ``progress`` is called with the fraction done.
    """
    if min_support < 1:
        raise ConfigError(f"min_support must be at least 1, got {min_support}")
    if not 0.0 < min_confidence < 1.0:
        raise ConfigError(f"min_confidence must lie between 0 and 1, got {min_confidence}")
    counts = data.images_per_label
    minimum = _at_least(np.full(len(counts), min_confidence), counts, -float(ndtri(_BOUND_ERROR)))
    minimum[counts < min_support] = len(data.images) + 1
    label, other, together = _frequent_partners(data, minimum, progress)
    tested = max(1, int((counts >= min_support).sum())) * max(1, len(counts) - 1)
    by_chance = _at_least(
        counts[other] / max(1, len(data.images)), counts[label], -float(ndtri(_CHANCE_ERROR / tested))
    )
    # The rarer label implies the more frequent one; of two equally frequent ones, the first the second.
    upwards = (counts[label] < counts[other]) | ((counts[label] == counts[other]) & (label < other))
    kept = upwards & (together >= by_chance)
    label, other, together = label[kept], other[kept], together[kept]
    kept = _without_chains(label, other, counts)
    label, other, together = label[kept], other[kept], together[kept]
    bounds = wilson_bound(together, counts[label], -float(ndtri(_BOUND_ERROR)))
    order = np.lexsort((other, label, -counts[label], -bounds))
    return [
        Implication(one, implied, images, both / images, images - both)
        for one, implied, images, both in zip(
            data.labels.ids(label[order]),
            data.labels.ids(other[order]),
            counts[label[order]].tolist(),
            together[order].tolist(),
            strict=True,
        )
    ]


def _at_least(share: NDArray[np.float64], trials: NDArray[np.integer], z: float) -> NDArray[np.int64]:
    """Return the smallest number of successes with a Wilson bound of at least ``share``; it may exceed ``trials``."""
    needed = trials * share + z * np.sqrt(trials * share * (1 - share))
    return np.ceil(needed - 1e-9).astype(np.int64)


def _frequent_partners(
    data: Annotations, minimum: NDArray[np.int64], progress: Callable[[float], None] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of labels that are together on at least ``minimum`` images of the first, and on how many."""
    by_image = data.to_matrix().astype(np.int32)
    by_label = by_image.T.tocsr()
    frequent = np.flatnonzero(data.images_per_label >= minimum)
    found = [np.empty((3, 0), np.int64)]
    for first in range(0, len(frequent), _LABELS):
        chosen = frequent[first : first + _LABELS]
        together = (by_label[chosen] @ by_image).tocoo()
        label, other = chosen[together.row], together.col
        kept = (together.data >= minimum[label]) & (label != other)
        found.append(np.stack([label[kept], other[kept], together.data[kept]]).astype(np.int64))
        if progress is not None:
            progress(min(first + _LABELS, len(frequent)) / len(frequent))
    label, other, count = np.concatenate(found, axis=1)
    return label, other, count


def _without_chains(label: NDArray[np.int64], other: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which implications do not follow from a chain of others; there must be no cycles."""
    implied: dict[int, set[int]] = {}
    for one, target in zip(label.tolist(), other.tolist(), strict=True):
        implied.setdefault(one, set()).add(target)
    above: dict[int, set[int]] = {}
    kept = np.ones(len(label), np.bool_)
    # From the most frequent label down, so that the labels above a target are known.
    for one in sorted(implied, key=lambda number: (-counts[number], -number)):
        indirect = set().union(*(above.get(target, set()) for target in implied[one]))
        above[one] = implied[one] | indirect
        implied[one] -= indirect
    for row, (one, target) in enumerate(zip(label.tolist(), other.tolist(), strict=True)):
        kept[row] = target in implied[one]
    return kept
