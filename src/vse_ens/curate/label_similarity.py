"""How two labels are used: interchangeably, as two names of one thing are, or merely alike.

Two labels for one thing, of which annotators choose one, are hardly ever on the same image, and other labels accompany
both equally often. Labels of one kind of picture (*oven* and *sink*) have the same company too, but occur together.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from vse_ens.data.annotations import Annotations
from vse_ens.data.rules.exceptions import ImagesOfLabels
from vse_ens.model.products import row_products
from vse_ens.model.topk import row_blocks
from vse_ens.streams import Streams

MIN_IMAGES = 100
"""Below this number of images of either label, different labels often look alike by chance."""
# Limits that no pair of different labels passes in the data sets of benchmarks/accuracy/rules.py, but most labels that
# were split at random do.
_MAX_DIFFERENCE = 1.3
_MAX_TOGETHER = 0.25
_MIN_COMPANIONS = 20
# Companions on fewer images of both labels say little.
_MIN_COUNT = 5
# Images of a label whose companions are counted.
_MAX_IMAGES = 4_096
# Labels compared with each label, and the length of the sketches that they are chosen by.
_NEIGHBORS = 5
_SKETCH = 128
# A namespace is a word, too.
_WORDS = re.compile(r"[^\s:|]+")


class LabelComparison(NamedTuple):
    """How two labels are used; companions are the other labels of their images."""

    difference: float
    """The mean squared deviation of companions from equal use over its variance; about 1 for two names of one thing."""
    companions: int
    """The number of companions that are frequent enough to be compared."""
    affinity: float
    """Log likelihood ratio of the companions of the first label: as those of the second, against any image."""


class LabelSimilarity:
    """Compares the use of labels in a data set; of labels on very many images, a part of the images."""

    def __init__(self, data: Annotations) -> None:
        self._data = data
        self._counts = data.images_per_label
        self._images = ImagesOfLabels(data).of_number
        self._base = np.clip(self._counts / max(1, len(data.images)), 1e-9, 1.0 - 1e-9)

    def compare(self, one: int, other: int) -> LabelComparison:
        """Return how two labels are used."""
        (images, company), (more, others) = self._company(one), self._company(other)
        both = company + others
        compared = np.flatnonzero(both >= _MIN_COUNT)
        both, total = both[compared], images + more
        # The variance of a hypergeometric count: ``both`` images, dealt to ``images`` of ``total`` places.
        variance = images * more * both * (total - both) / (total**2 * max(1, total - 1))
        deviation = company[compared] - both * images / max(1, total)
        varies = (variance > 0) & (compared != one) & (compared != other)
        squares = deviation[varies] ** 2 / variance[varies]
        difference = float(squares.mean()) if len(squares) else 0.0
        affinity = self._affinity(one, other, images, company, more, others)
        return LabelComparison(difference, len(squares), affinity)

    def together(self, one: int, other: int) -> int:
        """Return the number of images with both labels."""
        few, many = sorted((self._images(one), self._images(other)), key=len)
        places = np.searchsorted(many, few)
        return int((many[np.minimum(places, len(many) - 1)] == few).sum()) if len(few) else 0

    def are_interchangeable(self, one: int, other: int) -> bool:
        """Return whether two labels are used as two names of one thing."""
        frequent = min(self._counts[one], self._counts[other]) >= MIN_IMAGES
        # Most pairs fail here, and this test is faster than the comparison of companions.
        chance = self._counts[one] * self._counts[other] / max(1, len(self._data.images))
        rarely_together = self.together(one, other) <= _MAX_TOGETHER * chance
        if not frequent or not rarely_together:
            return False
        use = self.compare(one, other)
        return use.companions >= _MIN_COMPANIONS and use.difference <= _MAX_DIFFERENCE

    def _affinity(
        self, one: int, other: int, images: int, company: NDArray[np.int64], more: int, others: NDArray[np.int64]
    ) -> float:
        seen = np.flatnonzero(company + others)
        seen = seen[(seen != one) & (seen != other)]
        base = self._base[seen]
        share = (others[seen] + base) / (more + 1)
        with_it = company[seen]
        return float((with_it * np.log(share / base) + (images - with_it) * np.log((1 - share) / (1 - base))).sum())

    def _company(self, label: int) -> tuple[int, NDArray[np.int64]]:
        """Return a number of images of a label, and on how many of them every label is."""
        images = self._images(label)
        step = -(-len(images) // _MAX_IMAGES) if len(images) else 1
        chosen = images[::step]
        return len(chosen), np.bincount(self._data.rows(chosen).indices, minlength=len(self._counts))


def interchangeable_pairs(data: Annotations, similarity: LabelSimilarity) -> list[tuple[int, int]]:
    """Return the pairs of labels that are used as two names of one thing, each with the rarer label first.

    Pairs that share a word are left out.
    """
    counts = data.images_per_label
    words = [frozenset(_WORDS.findall(label.casefold())) for label in data.labels]
    found = []
    for one, other in sorted(_nearest_pairs(data)):
        # Kinds of one thing, such as "red car" and "blue car", are used in the same way and exclude each other; so are
        # values of one namespace, such as "rating:safe" and "rating:questionable".
        if not words[one] & words[other] and similarity.are_interchangeable(one, other):
            found.append((one, other) if (counts[one], -one) < (counts[other], -other) else (other, one))
    return found


def _nearest_pairs(data: Annotations) -> set[tuple[int, int]]:
    """Return pairs one < other of frequent labels with similar company, by random sketches of it."""
    frequent = np.flatnonzero(data.images_per_label >= MIN_IMAGES)
    if len(frequent) < 2:
        return set()
    sketches = _sketches(data)[frequent]
    sketches /= np.maximum(np.linalg.norm(sketches, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return nearest_pairs(sketches, frequent, min(_NEIGHBORS, len(frequent) - 1))


def nearest_pairs(vectors: NDArray[np.float32], numbers: NDArray[np.integer], neighbors: int) -> set[tuple[int, int]]:
    """Return pairs one < other of ``numbers``, one of them among the nearest of the other by unit ``vectors``."""
    pairs: set[tuple[int, int]] = set()
    for block in row_blocks(len(numbers), len(numbers)):
        rows = numbers[block]
        similarities = row_products(vectors[block], vectors)
        similarities[np.arange(len(rows)), np.arange(block.start, block.stop)] = -np.inf
        close = numbers[np.argpartition(-similarities, neighbors - 1, axis=1)[:, :neighbors]]
        ends = np.sort(np.stack([np.repeat(rows, neighbors), close.ravel()], axis=1), axis=1)
        pairs.update((one, other) for one, other in ends.tolist())
    return pairs


def _sketches(data: Annotations) -> NDArray[np.float32]:
    """Return a short vector per label; the products of two are close to those of the counts of their companions.

    Counts are divided by the square root of the companion's images, so that common labels do not dominate.
    """
    labels = len(data.labels)
    signs = np.where(Streams(0).child("curate", "usage").uniforms(labels * _SKETCH) < 0.5, -1.0, 1.0)
    scaled = signs.reshape(labels, _SKETCH) / np.sqrt(np.maximum(data.images_per_label, 1))[:, None]
    scaled = scaled.astype(np.float32)
    sketches = np.zeros((labels, _SKETCH), np.float32)
    for block in row_blocks(len(data.images), _SKETCH):
        start, end = data.indptr[block.start], data.indptr[block.stop]
        indptr = data.indptr[block.start : block.stop + 1] - start
        ones = np.ones(end - start, np.float32)
        rows = csr_matrix((ones, data.indices[start:end], indptr), shape=(len(indptr) - 1, labels))
        sketches += rows.T @ (rows @ scaled)
    # A label is not its own companion.
    return np.asarray(sketches - scaled * data.images_per_label[:, None].astype(np.float32))
