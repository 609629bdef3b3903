"""What a calibration is learnt from: the shares of the best suggestions of held-out images, and which were right.

It is gathered in tasks that any worker of a pool can do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.rows import Rows
from vse_ens.evaluate.calibration import Counts, Temperature, log_totals, shares_of
from vse_ens.model.blas import one_thread
from vse_ens.model.embeddings import Floats
from vse_ens.model.model import Model
from vse_ens.run.pool import Plain
from vse_ens.run.threads import Workers

FACTORY = f"{__name__}.SharesBench"

# The best suggestions of an image that are learnt from: what people see, and some more.
_TOP = 20


class Shares(NamedTuple):
    """Suggestions of some images, in a row."""

    shares: Floats
    hits: NDArray[np.bool_]


def best_shares(scores: Floats, counts: Counts, targets: NDArray[np.int64], temperature: Temperature) -> Shares:
    """Of rows of scores, with -inf for known labels, how many these are, and the held-out label of each row."""
    labels = np.argpartition(scores, -min(_TOP, scores.shape[1]), axis=1)[:, -_TOP:]
    temperatures = temperature.of(counts)
    found = np.take_along_axis(scores, labels, axis=1)
    best = later_shares(shares_of(found, log_totals(scores, temperatures)[:, None], temperatures[:, None]))
    # Known labels have none, and what is too small for a float tells nothing.
    some = best > 0
    return Shares(best[some], (labels == targets[:, None])[some])


def later_shares(shares: Floats) -> Floats:
    """The share that each of the best labels of a row may expect to have when the label that is held out is known.

    That is the mean of p_a / (1 - p_x) over all other labels x, by their chance to be the one held out. What the best
    leave over is shared by labels so small that 1 - p_x is 1.
    """
    exact = shares.astype(np.float64)
    odds = exact / np.maximum(1 - exact, np.finfo(np.float32).tiny)
    others = odds.sum(axis=1, keepdims=True) - odds + np.maximum(1 - exact.sum(axis=1, keepdims=True), 0)
    return np.asarray(np.clip(odds * others, shares, 1), np.float32)


def without(scores: Floats, known: Rows) -> Floats:
    """The scores, changed in place: -inf for the known labels of each row."""
    scores[np.repeat(np.arange(len(scores)), np.diff(known.indptr)), known.indices] = -np.inf
    return scores


def bench_settings(model: Model, temperature: Temperature) -> Plain:
    """What a bench is told: all that scores by vectors; those of the images come with the tasks."""
    nothing = np.empty((0, model.embeddings.dimensions), np.float32)
    scoring = replace(model.embeddings, image_vectors=nothing, feature_map=nothing, input_vectors=nothing)
    return {
        "arrays": replace(model, embeddings=scoring).arrays(),
        "memory_weight": model.memory_weight,
        "temperature": list(temperature),
    }


class SharesBench:
    """Scores images by their vectors and known labels, and gathers what became of their best suggestions.

    A task is a list of blocks, each scored by one thread; how blocks are put together changes nothing.
    """

    def __init__(self, settings: Plain, workers: Workers) -> None:
        self._model = Model.from_arrays(settings["arrays"], settings["memory_weight"])
        self._temperature = Temperature(*settings["temperature"])
        self._workers = workers

    def __call__(self, task: Plain) -> Plain:
        """The shares of all blocks, and which were right."""
        with one_thread():
            found = self._workers.run([self._work(block) for block in task["blocks"]])
        return {
            "shares": np.concatenate([one.shares for one in found]),
            "hits": np.concatenate([one.hits for one in found]),
        }

    def _work(self, block: Plain) -> Callable[[int], Shares]:
        return lambda _worker: self._shares(**block)

    def _shares(
        self,
        vectors: Floats,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        targets: NDArray[np.int64],
    ) -> Shares:
        # Kernels are compiled for rows that may be written to; those of a cluster may not.
        known = Rows(np.require(indptr, requirements="W"), np.require(indices, requirements="W"))
        scores = without(self._model.scores_of(vectors, *known), known)
        return best_shares(scores, np.diff(known.indptr), targets, self._temperature)
