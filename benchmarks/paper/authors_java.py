"""What the authors' published Java does, which differs from the paper: its sampling and its steps, in our own code.

https://github.com/slinzhai/VSE-ens, as of its last commit. `docs/paper-numbers.md` lists the differences. Where its
program cannot run or says nothing, this says so: with 291 labels lambda is truncated to 0, by which Java divides, and
the main of VSE-ens has no rounds. Here lambda is then one rank, and every model has the rounds of `Config`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.training import Stopped, ranked
from vse_ens.data.annotations import Split
from vse_ens.evaluate.rank import FunctionScorer, evaluate, mean_metrics
from vse_ens.kernels.jit import kernel
from vse_ens.kernels.random import next_below, next_uniform
from vse_ens.streams import Streams

ROUNDS = 10
"""Rounds of `Config`; the mains set 0 for VSE-ens, 100 for WARP and 1,000 for Opt-AUC."""
STEPS_PER_IMAGE = 100
"""Steps of a round, per image."""
DIMENSIONS = 100
_INIT = 0.01
_LAMBDA = 0.001

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]
VSE_ENS, WARP, OPT_AUC = range(3)


class Settings(NamedTuple):
    """Learning rate and regularization, as the main of a model sets them."""

    model: int
    learning_rate: float
    regularization: float


SETTINGS = {
    "vse-ens": Settings(VSE_ENS, 0.01, 0.1),
    "warp": Settings(WARP, 0.1, 0.01),
    "opt-auc": Settings(OPT_AUC, 0.1, 0.01),
}


def truncated_lambda(labels: int) -> int:
    """Return lambda as a number of ranks: an integer of Java, 0 below a thousand labels."""
    return int(_LAMBDA * labels)


def rank_weights(labels: int, ranks: int) -> Doubles:
    """Return p of the positions 0 to |A| of a list with the unused id 0: exp of integer quotients, 0 for the first."""
    positions = np.arange(labels + 1)
    weights = np.exp(-((positions + 1) // ranks).astype(np.float64))
    weights[0] = 0.0
    return np.asarray(weights / weights.sum())


@kernel
def alias_of_inner(weights: Doubles, threshold: Doubles, alias: Integers, work: Integers) -> None:
    """Write an alias table over all indices but the first and the last, as `Discrete` does.

    Weights that do not sum to 1 are not normalized: an index that finds no donor keeps its whole cell.
    """
    count = weights.shape[0] - 2
    small, large = 0, count
    for i in range(1, count + 1):
        threshold[i] = weights[i] * count
        alias[i] = i
        if threshold[i] < 1.0:
            work[small] = i
            small += 1
        else:
            large -= 1
            work[large] = i
    while small > 0 and large < count:
        needs, gives = work[small - 1], work[large]
        small -= 1
        alias[needs] = gives
        threshold[gives] -= 1.0 - threshold[needs]
        if threshold[gives] < 1.0:
            large += 1
            work[small] = gives
            small += 1


@kernel
def draw_inner(threshold: Doubles, alias: Integers, state: NDArray[np.uint64]) -> int:
    """Return an index from 1 to the last but one."""
    i = 1 + next_below(state, threshold.shape[0] - 2)
    return int(alias[i]) if next_uniform(state) > threshold[i] else i


@kernel
def _has(values: NDArray[np.int32], value: int) -> bool:
    found = False
    for one in values:
        found = found or one == value
    return found


@kernel
def _dot(a: Doubles, b: Doubles) -> float:
    total = 0.0
    for f in range(a.shape[0]):
        total += a[f] * b[f]
    return total


@kernel
def _first_violating(
    vector: Doubles, labels: Doubles, positive: int, own: NDArray[np.int32], held_out: int, fixed: Integers
) -> int:
    """Return the first id whose label violates the margin, else the first of a fixed list, test labels left out."""
    score = _dot(vector, labels[positive])
    for label in range(1, labels.shape[0]):
        if not _has(own, label - 1) and _dot(vector, labels[label]) + 1.0 > score:
            return label
    for label in fixed:
        if label != 0 and label != held_out + 1 and not _has(own, label - 1):
            return int(label)
    return 0


class Tables(NamedTuple):
    """The vectors, the data and the buffers of a training."""

    images: Doubles
    labels: Doubles  # row 0 is the unused id 0
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    trained: Integers  # images with a label
    held_out: Integers  # by image; -1 if none
    fixed: Integers
    rankings: Integers  # factors x ids, best first
    variance: Doubles
    rank_threshold: Doubles
    rank_alias: Integers
    threshold: Doubles
    alias: Integers
    weights: Doubles
    work: Integers


@kernel
def make_steps(
    model: int, steps: int, tables: Tables, rate: float, decay: float, state: NDArray[np.uint64], other: Any
) -> None:
    """Make steps; ``state`` draws pairs and uniform negatives, ``other`` the ranks and factors of VSE-ens."""
    hinge = model == VSE_ENS
    factors = tables.labels.shape[1]
    ids = tables.labels.shape[0]
    for _ in range(steps):
        image = tables.trained[next_below(state, tables.trained.shape[0])]
        own = tables.indices[tables.indptr[image] : tables.indptr[image + 1]]
        vector = tables.images[image]
        positive = int(own[next_below(state, own.shape[0])]) + 1
        negative = 0
        if model == WARP:
            negative = _first_violating(vector, tables.labels, positive, own, tables.held_out[image], tables.fixed)
            if negative == 0:
                continue
        elif model == OPT_AUC:
            while negative == 0 or _has(own, negative - 1):
                negative = next_below(state, ids)
        else:
            total = 0.0
            for f in range(factors):
                tables.weights[f] = abs(vector[f]) * tables.variance[f]
                total += tables.weights[f]
            for f in range(factors):
                tables.weights[f] /= total
            alias_of_inner(tables.weights, tables.threshold, tables.alias, tables.work)
            while negative == 0 or _has(own, negative - 1):
                rank = draw_inner(tables.rank_threshold, tables.rank_alias, other)
                f = draw_inner(tables.threshold, tables.alias, other)
                negative = int(tables.rankings[f, rank if vector[f] > 0.0 else ids - rank - 1])
        difference = _dot(vector, tables.labels[positive]) - _dot(vector, tables.labels[negative])
        slope = (1.0 if difference <= 1.0 else 0.0) if hinge else 1.0 / (1.0 + np.exp(difference))
        for f in range(factors):
            p, n = tables.labels[positive, f], tables.labels[negative, f]
            vector[f] += rate * (slope * (p - n) - decay * vector[f])
            # The labels move along the vector as it is after the image's step.
            tables.labels[positive, f] = p + rate * (slope * vector[f] - decay * p)
            tables.labels[negative, f] = n + rate * (-slope * vector[f] - decay * n)


def train(
    name: str,
    split: Split,
    seed: int,
    stopped: Callable[[], bool] = lambda: False,
    on_round: Callable[[int], None] = lambda _round: None,
    rounds: int = ROUNDS,
) -> dict[str, Any]:
    """Train a model as the Java does, and return the result in the form of a training here."""
    settings, data = SETTINGS[name], split.train
    labels = len(data.labels)
    streams = Streams(seed).child("authors' java")
    tables = make_tables(split, streams)
    other = streams.child("Math.random").words(1)
    steps = STEPS_PER_IMAGE * len(tables.trained)
    period = int(labels * np.log(labels)) if name == "vse-ens" else steps
    count, seconds, points = 0, 0.0, []
    for number in range(1, rounds + 1):
        state = streams.child("Random").words(1)  # new in every round, with the same seed
        left = steps
        while left:
            if stopped():
                raise Stopped
            started = time.thread_time()
            if count % period == 0:
                count = 0
                if name == "vse-ens":
                    refresh(tables)
            now = min(left, period - count)
            make_steps(settings.model, now, tables, settings.learning_rate, settings.regularization, state, other)
            count, left = count + now, left - now
            seconds += time.thread_time() - started
        on_round(number)
        if not all(np.isfinite(table).all() for table in (tables.images, tables.labels)):
            break
        points.append([number, seconds, mean_metrics(_scores(tables), data, split.test, workers=1)["recall@10"]])
    scorer = FunctionScorer(data.images, data.labels, _scores(tables))
    finished = len(points) == rounds
    return {
        "iterations": number,
        "ending": "done" if finished else "diverged",
        "seconds": seconds,
        "projected_seconds": seconds,
        "points": points,
        "epochs": [],
        **ranked(evaluate(scorer, data, split.test, workers=1) if finished else None),
    }


def refresh(tables: Tables) -> None:
    """Sort all ids, the unused one too, by every factor, and take the variance of a sample."""
    tables.rankings[:] = np.argsort(-tables.labels, axis=0, kind="stable").T
    tables.variance[:] = tables.labels.var(axis=0, ddof=1)


def _scores(tables: Tables) -> Callable[[NDArray[np.int64]], NDArray[np.float32]]:
    return lambda images: (tables.images[images] @ tables.labels[1:].T).astype(np.float32)


def make_tables(split: Split, streams: Streams) -> Tables:
    """Return vectors drawn uniformly from -0.01 to 0.01, and empty rankings."""
    data = split.train
    images, ids = len(data.images), len(data.labels) + 1

    def uniform(rows: int, name: str) -> Doubles:
        values = streams.child(name).uniforms(rows * DIMENSIONS)
        return np.asarray((2.0 * values - 1.0) * _INIT, np.float64).reshape(rows, DIMENSIONS)

    held_out = np.full(images, -1, np.int64)
    held_out[split.test.image_numbers()] = split.test.indices
    rank_threshold, rank_alias = np.zeros(ids), np.zeros(ids, np.int64)
    weights = rank_weights(ids - 1, max(1, truncated_lambda(ids - 1)))
    alias_of_inner(weights, rank_threshold, rank_alias, np.zeros(ids, np.int64))
    width = max(DIMENSIONS, ids)
    return Tables(
        uniform(images, "P"),
        uniform(ids, "Q"),
        data.indptr.astype(np.int64),
        data.indices.astype(np.int32),
        np.flatnonzero(np.diff(data.indptr)),
        held_out,
        np.argsort(streams.child("fixed").words(ids), kind="stable"),
        np.zeros((DIMENSIONS, ids), np.int64),
        np.zeros(DIMENSIONS),
        rank_threshold,
        rank_alias,
        np.zeros(DIMENSIONS),
        np.zeros(DIMENSIONS, np.int64),
        np.zeros(DIMENSIONS),
        np.zeros(width, np.int64),
    )
