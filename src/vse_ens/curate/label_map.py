"""A map of the labels to wander in: labels that are used alike lie side by side.

Points in a plane, so that neighbours stay neighbours, clusters lie apart and nothing heaps up.

Each point is tied to its nearest by cosine. Starting from the two principal axes, points that are tied attract each
other and all others repel, by the kernel 1 / (1 + distance^2), whose long tail lets clusters drift apart. At the end
points that lie too close to be told apart are pushed apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.spatial import KDTree

from vse_ens.annotator import Annotator
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.streams import Streams

# The most frequent ones: more could neither be read nor laid out within a minute.
_MOST_LABELS = 5_000


@dataclass(frozen=True, eq=False)
class LabelMap:
    """Labels by number, and where each of them lies."""

    labels: NDArray[np.int64]
    places: Places


def make_label_map(annotator: Annotator, progress: Callable[[float], None]) -> LabelMap:
    """The map of a model; always the same."""
    frequent = np.argsort(-annotator.known_.images_per_label, kind="stable")[:_MOST_LABELS]
    labels = np.sort(frequent)
    return LabelMap(labels, layout_2d(_directions(annotator.embeddings_, labels), progress))


def _directions(embeddings: Embeddings, labels: NDArray[np.int64]) -> Floats:
    """Vectors whose product is the similarity of two labels, as `vse_ens.model.similar` has it: a mean of cosines."""
    tables = [embeddings.label_vectors, *([embeddings.input_vectors] if embeddings.has_context else [])]
    units = [_unit(np.asarray(table[labels])) for table in tables]
    return np.concatenate(units, axis=1) / np.float32(np.sqrt(len(units)))


def _unit(vectors: Floats) -> Floats:
    """0 for a vector without a direction."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units


Places = NDArray[np.float64]
Numbers = NDArray[np.int64]

_NEIGHBOURS = 10
_ROUNDS = 400
_START_SPREAD = 5.0
# How strongly others repel, against the ties of a point; on how many others a round estimates that.
_REPULSION, _OTHERS = 5.0, 40
_STEP, _LONGEST_STEP, _LONGEST_PUSH = 0.1, 1.0, 4.0
# How near two points may stay, against the mean distance if all had the same room; and rounds to see to it.
_ROOM = 0.55
_ROOM_ROUNDS = 50
# Cosines at a time.
_BLOCK = 512


class _Ties(NamedTuple):
    """Which points attract each other, and how much."""

    one: Numbers
    other: Numbers
    weights: Places


def layout_2d(directions: Floats, progress: Callable[[float], None]) -> Places:
    """A place from 0 to 1 either way for each of some vectors, by their products; always the same for the same."""
    places = _start(directions)
    if len(places) > 1:
        ties = _ties(directions)
        for number in range(_ROUNDS):
            progress(number / _ROUNDS)
            cooling = 1.0 - number / _ROUNDS
            places += cooling * np.clip(_STEP * _forces(places, ties, number), -_LONGEST_STEP, _LONGEST_STEP)
        _make_room(places)
    low, high = places.min(axis=0), places.max(axis=0)
    fitted: Places = np.divide(places - low, high - low, out=np.full_like(places, 0.5), where=high > low)
    return fitted


def _start(directions: Floats) -> Places:
    """By the two principal axes; the least noise, for points that would begin at the same place."""
    centred = directions - directions.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    places = np.zeros((len(directions), 2))
    places[:, : len(axes)] = centred @ axes.T
    scale = places.std(axis=0)
    places *= np.divide(_START_SPREAD, scale, out=np.ones(2), where=scale > 1e-6)
    return places + 1e-3 * _uniforms("start", places.size).reshape(places.shape)


def _ties(directions: Floats) -> _Ties:
    """Each point to its nearest; weaker as they lie further off than the very nearest, by the measure of the place."""
    count = len(directions)
    size = min(_NEIGHBOURS, count - 1)
    nearest, distances = np.empty((count, size), np.int64), np.empty((count, size))
    for first in range(0, count, _BLOCK):
        block = slice(first, min(first + _BLOCK, count))
        off = 1.0 - directions[block] @ directions.T
        off[np.arange(len(off)), np.arange(block.start, block.stop)] = np.inf
        nearest[block] = np.argpartition(off, size - 1, axis=1)[:, :size]
        distances[block] = np.take_along_axis(off, nearest[block], axis=1)
    beyond = distances - distances.min(axis=1, keepdims=True)
    weights = np.exp(-beyond / np.maximum(beyond.mean(axis=1, keepdims=True), 1e-9))
    row = np.repeat(np.arange(count), size)
    graph = csr_array((weights.ravel(), (row, nearest.ravel())), shape=(count, count))
    both = coo_array(graph.maximum(graph.T))
    once = both.row < both.col
    return _Ties(both.row[once].astype(np.int64), both.col[once].astype(np.int64), both.data[once])


def _forces(places: Places, ties: _Ties, number: int) -> Places:
    count = len(places)
    apart = places[ties.one] - places[ties.other]
    pull = (2.0 * ties.weights / (1.0 + np.square(apart).sum(axis=1)))[:, None] * apart
    forces = _summed(ties, -pull, count)

    others = (_uniforms(number, count * _OTHERS) * count).astype(np.int64).reshape(count, _OTHERS)
    apart = places[:, None] - places[others]
    squares = np.square(apart).sum(axis=2, keepdims=True)
    push = np.clip(2.0 * apart / ((0.01 + squares) * (1.0 + squares)), -_LONGEST_PUSH, _LONGEST_PUSH)
    strength = np.bincount(ties.one, ties.weights, count) + np.bincount(ties.other, ties.weights, count)
    forces += push.mean(axis=1) * (_REPULSION * strength)[:, None]
    return forces


def _make_room(places: Places) -> None:
    """Push apart what lies too close, in place."""
    count = len(places)
    room = _ROOM * np.sqrt(np.prod(np.ptp(places, axis=0)) / count)
    for _ in range(_ROOM_ROUNDS):
        pairs = KDTree(places).query_pairs(room, output_type="ndarray").astype(np.int64)
        apart = places[pairs[:, 0]] - places[pairs[:, 1]]
        length = np.maximum(np.linalg.norm(apart, axis=1), 1e-9)
        # Each of the two goes half of half of what is missing: many pairs push at once.
        push = (0.25 * (room / length - 1.0))[:, None] * apart
        places += _summed(_Ties(pairs[:, 0], pairs[:, 1], length), push, count)


def _summed(ties: _Ties, forces: Places, count: int) -> Places:
    """What acts on every point: each force on the one, and against it on the other."""
    sums = [np.bincount(ties.one, force, count) - np.bincount(ties.other, force, count) for force in forces.T]
    return np.stack(sums, axis=1)


def _uniforms(name: str | int, count: int) -> NDArray[np.float64]:
    return Streams(0).child("label map", name).uniforms(count)
