"""A map of labels in the plane: labels that are used similarly lie close together.

A force-directed layout. Each label is linked to its nearest neighbors by cosine. Positions start at the first two
principal components. Linked points attract each other and all points repel each other by the kernel
1 / (1 + distance^2); its long tail separates clusters. A last step moves points apart that are too close to be
distinguished.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.spatial import KDTree

from vse_ens.data.annotations import Annotations
from vse_ens.model.blas import one_thread
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.products import row_products
from vse_ens.streams import Streams

Positions = NDArray[np.float64]
Numbers = NDArray[np.int64]

# More labels can neither be read on a map nor placed within a minute.
_MAX_LABELS = 5_000
_NEIGHBORS = 10
_ITERATIONS = 400
_START_SPREAD = 5.0
# Strength of repulsion relative to the links of a point, and the sample of points from which it is estimated.
_REPULSION, _REPULSION_SAMPLE = 5.0, 40
_STEP, _MAX_STEP, _MAX_PUSH = 0.1, 1.0, 4.0
# Minimum distance of two points, relative to the distance on a regular grid, and iterations to reach it.
_MIN_DISTANCE = 0.55
_SEPARATION_ITERATIONS = 50
# Rows of cosines per block.
_BLOCK = 512


@dataclass(frozen=True, eq=False)
class LabelMap:
    """Label numbers and their positions."""

    labels: NDArray[np.int64]
    positions: Positions


def make_label_map(embeddings: Embeddings, known: Annotations, progress: Callable[[float], None]) -> LabelMap:
    """Place the most frequent labels of a model; deterministic. ``progress`` is called with the finished fraction."""
    frequent = np.argsort(-known.images_per_label, kind="stable")[:_MAX_LABELS]
    labels = np.sort(frequent)
    return LabelMap(labels, layout_2d(_similarity_vectors(embeddings, labels), progress))


def layout_2d(vectors: Floats, progress: Callable[[float], None]) -> Positions:
    """Return a position in the unit square for each vector, by their inner products; deterministic."""
    positions = _start(vectors)
    if len(positions) > 1:
        links = _links(vectors)
        for iteration in range(_ITERATIONS):
            progress(iteration / _ITERATIONS)
            cooling = 1.0 - iteration / _ITERATIONS
            forces = _forces(positions, links, iteration)
            positions += cooling * np.clip(_STEP * forces, -_MAX_STEP, _MAX_STEP)
        _separate(positions)
    low, high = positions.min(axis=0), positions.max(axis=0)
    scaled: Positions = np.divide(positions - low, high - low, out=np.full_like(positions, 0.5), where=high > low)
    return scaled


def _similarity_vectors(embeddings: Embeddings, labels: NDArray[np.int64]) -> Floats:
    """Return vectors with the similarities of `vse_ens.model.similar`, means of cosines, as inner products."""
    tables = [embeddings.label_vectors, *([embeddings.input_vectors] if embeddings.has_context else [])]
    units = [_unit(np.asarray(table[labels])) for table in tables]
    return np.concatenate(units, axis=1) / np.float32(np.sqrt(len(units)))


def _unit(vectors: Floats) -> Floats:
    """Scale vectors to length 1; zero vectors stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units


@one_thread()
def _start(vectors: Floats) -> Positions:
    """Return the first two principal components, with a little noise to separate equal vectors."""
    centered = vectors - vectors.mean(axis=0)
    axes = np.linalg.svd(centered, full_matrices=False)[2][:2]
    positions = np.zeros((len(vectors), 2))
    positions[:, : len(axes)] = centered @ axes.T
    scale = positions.std(axis=0)
    positions *= np.divide(_START_SPREAD, scale, out=np.ones(2), where=scale > 1e-6)
    return positions + 1e-3 * _uniforms("start", positions.size).reshape(positions.shape)


class _Links(NamedTuple):
    """Pairs of points that attract each other."""

    one: Numbers
    other: Numbers
    weights: Positions


def _links(vectors: Floats) -> _Links:
    """Link each point to its nearest ones; weights decrease with the distance beyond the nearest, scaled per point."""
    count = len(vectors)
    size = min(_NEIGHBORS, count - 1)
    nearest, distances = np.empty((count, size), np.int64), np.empty((count, size))
    for first in range(0, count, _BLOCK):
        block = slice(first, min(first + _BLOCK, count))
        cosine_distances = 1.0 - row_products(vectors[block], vectors)
        cosine_distances[np.arange(len(cosine_distances)), np.arange(block.start, block.stop)] = np.inf
        nearest[block] = np.argpartition(cosine_distances, size - 1, axis=1)[:, :size]
        distances[block] = np.take_along_axis(cosine_distances, nearest[block], axis=1)
    beyond = distances - distances.min(axis=1, keepdims=True)
    weights = np.exp(-beyond / np.maximum(beyond.mean(axis=1, keepdims=True), 1e-9))
    row = np.repeat(np.arange(count), size)
    graph = csr_array((weights.ravel(), (row, nearest.ravel())), shape=(count, count))
    symmetric = coo_array(graph.maximum(graph.T))
    once = symmetric.row < symmetric.col
    return _Links(symmetric.row[once].astype(np.int64), symmetric.col[once].astype(np.int64), symmetric.data[once])


def _forces(positions: Positions, links: _Links, iteration: int) -> Positions:
    count = len(positions)
    differences = positions[links.one] - positions[links.other]
    pull = (2.0 * links.weights / (1.0 + np.square(differences).sum(axis=1)))[:, None] * differences
    forces = _sum_per_point(links, -pull, count)

    others = (_uniforms(iteration, count * _REPULSION_SAMPLE) * count).astype(np.int64).reshape(count, -1)
    differences = positions[:, None] - positions[others]
    squares = np.square(differences).sum(axis=2, keepdims=True)
    push = np.clip(2.0 * differences / ((0.01 + squares) * (1.0 + squares)), -_MAX_PUSH, _MAX_PUSH)
    strength = np.bincount(links.one, links.weights, count) + np.bincount(links.other, links.weights, count)
    forces += push.mean(axis=1) * (_REPULSION * strength)[:, None]
    return forces


def _separate(positions: Positions) -> None:
    """Move points apart that are too close, in place."""
    count = len(positions)
    minimum = _MIN_DISTANCE * np.sqrt(np.prod(np.ptp(positions, axis=0)) / count)
    for _ in range(_SEPARATION_ITERATIONS):
        pairs = KDTree(positions).query_pairs(minimum, output_type="ndarray").astype(np.int64)
        differences = positions[pairs[:, 0]] - positions[pairs[:, 1]]
        length = np.maximum(np.linalg.norm(differences, axis=1), 1e-9)
        # Each point moves by a quarter of the missing distance: many pairs push at the same time.
        push = (0.25 * (minimum / length - 1.0))[:, None] * differences
        positions += _sum_per_point(_Links(pairs[:, 0], pairs[:, 1], length), push, count)


def _sum_per_point(links: _Links, forces: Positions, count: int) -> Positions:
    """Return the total force on each point: forces act on ``one``, and in reverse on ``other``."""
    sums = [np.bincount(links.one, force, count) - np.bincount(links.other, force, count) for force in forces.T]
    return np.stack(sums, axis=1)


def _uniforms(name: str | int, count: int) -> NDArray[np.float64]:
    return Streams(0).child("label map", name).uniforms(count)
