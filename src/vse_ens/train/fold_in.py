"""Fold-in: the vector of an unseen image, from the labels it is known to have.

The image's vector is trained with the same sampler and loss, with frozen label vectors and biases. It starts at zero
and takes steps a quarter as long as the first steps of training, for less noise. It stops after as many visits as bring
images of the training data closest to their trained vectors. Training to convergence would lead away from there, since
training itself ends before its image vectors converge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels import losses, samplers
from vse_ens.kernels.arrays import COUNTS, Csr, Features, Step, TrainingArrays
from vse_ens.kernels.rank_table import RankScratch, rank_factors
from vse_ens.kernels.sgd import SgdScratch, sgd_kernel
from vse_ens.kernels.softmax import softmax_kernel
from vse_ens.kernels.two_phase import COUNTERS, BatchCursor, BatchLayout, LabelGradients
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.sampling import make_sampling, rank_weights
from vse_ens.train.tables import padded, shared_tables

# Visits per visit in training, each with a step shorter by this factor.
_FINER = 4
# Images of the training data, evenly spaced, by which the number of visits is found.
_REFERENCE_IMAGES = 32
# The search ends after this factor and offset times the best number of visits so far.
_SEARCH_FACTOR, _SEARCH_OFFSET = 1.5, 2
# The search ends here in any case: training that made more visits is not known, and a damaged model has no nearest.
_MAX_VISITS = 2_000
# Images per task of a worker.
_TASK_IMAGES = 16


@dataclass(frozen=True)
class _Vectors:
    """Image vectors under training, each with its own random state."""

    arrays: TrainingArrays
    states: NDArray[np.uint64]

    @property
    def vectors(self) -> Floats:
        return self.arrays.image_vectors


class FoldIn:
    """Computes image vectors from labels, in the space of a trained model.

    The same labels give the same vector, alone or among others, in any order, on any number of workers.
    """

    def __init__(self, config: Config, known: Annotations, embeddings: Embeddings, workers: Workers) -> None:
        self._config = config
        self._known = known
        self._trained = embeddings
        self._workers = workers
        none = np.empty((0, embeddings.dimensions), np.float32)
        self._tables = shared_tables(padded(replace(embeddings, image_vectors=none, feature_map=none)))
        labels, self._width = self._tables.labels.shape
        self._sampling = make_sampling(config, known, self._width)
        if config.sampler == "vse-ens":
            rank_factors(self._tables, self._sampling, np.arange(self._width + 1), RankScratch.allocate(labels))
        nothing = np.empty(0, np.float32)
        self._features = Features(np.zeros(1, np.int64), np.empty(0, np.int32), nothing, nothing)
        self._step = Step(
            learning_rate=np.float32(config.learning_rate / _FINER),
            regularization=np.float32(config.regularization),
            bias_rate=np.float32(0.0),
            bias_regularization=np.float32(0.0),
            margin=np.float32(config.margin),
            rank_weight=rank_weights(labels, config.rank_weight, config.top_n) if config.loss == "warp" else nothing,
        )

    def vectors(self, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> Floats:
        """Return one vector per image, given sorted label numbers in CSR form; zeros for an image without labels."""
        images = self._start(indptr, indices)
        self._visit(images, _FINER * self.visits)
        return images.vectors[:, : self._trained.dimensions].copy()

    @cached_property
    def visits(self) -> int:
        """The number of visits, at training's step length, that bring known images closest to their vectors."""
        labeled = np.flatnonzero(self._known.labels_per_image)
        images = labeled[np.linspace(0, len(labeled) - 1, min(_REFERENCE_IMAGES, len(labeled))).astype(np.int64)]
        trained = self._trained.own_vectors(images)
        current = self._start(*self._known.rows(images))
        best, nearest = 1, math.inf
        # No image needs more visits than training made, whose steps became shorter.
        most = math.ceil(sum(self._config.learning_rate_decay**epoch for epoch in range(self._config.epochs)))
        for visits in range(1, min(most, _MAX_VISITS) + 1):
            self._visit(current, _FINER)
            distance = float(np.square(current.vectors[:, : trained.shape[1]] - trained).sum())
            if distance < nearest:
                best, nearest = visits, distance
            elif visits > _SEARCH_FACTOR * best + _SEARCH_OFFSET:
                break
        return best

    def _start(self, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> _Vectors:
        stream = Streams(self._config.seed).child("fold-in")
        rows = (indices[first:last].tolist() for first, last in pairwise(indptr))
        vectors = np.zeros((len(indptr) - 1, self._width), np.float32)
        return _Vectors(
            TrainingArrays(vectors, self._tables, self._features, Csr(indptr, indices)),
            np.array([stream.child(*row).key()[0] for row in rows], np.uint64),
        )

    def _visit(self, current: _Vectors, visits: int) -> None:
        """Visit every image ``visits`` more times."""
        most = int(np.diff(current.arrays.pairs.indptr).max(initial=0))
        train = self._run_softmax if self._config.loss == "softmax" else self._run_sgd

        def visit(first: int, _worker: int) -> None:
            images = np.repeat(np.arange(first, min(first + _TASK_IMAGES, len(current.vectors))), visits)
            scores = len(self._tables.labels) if self._config.sampler == "naive" else 0
            train(current, images, SgdScratch.allocate(self._width, most, scores))

        self._workers.run([partial(visit, first) for first in range(0, len(current.vectors), _TASK_IMAGES)])

    def _run_sgd(self, current: _Vectors, images: NDArray[np.int64], scratch: SgdScratch) -> None:
        sampler, loss = samplers.CODES[self._config.sampler], losses.CODES[self._config.loss]
        sgd_kernel(self._width, sampler, loss, has_ids=True, has_features=False, frozen=True)(
            current.arrays,
            images,
            self._sampling,
            self._step,
            scratch,
            current.states,
            np.zeros(COUNTS, np.int64),
        )

    def _run_softmax(self, current: _Vectors, images: NDArray[np.int64], scratch: SgdScratch) -> None:
        sampler, nowhere = samplers.CODES[self._config.sampler], np.zeros(2, np.int64)
        gradients = LabelGradients.allocate(1, self._config.negatives, self._width)
        # One chunk, which waits for no batch before it.
        layout = BatchLayout(
            images,
            np.array([0, len(images)]),
            nowhere,
            nowhere,
            current.states[:, None],
            np.zeros((1, COUNTS), np.int64),
            np.zeros(1),
        )
        cursor = BatchCursor(np.zeros(COUNTERS, np.int64), np.zeros(COUNTERS, np.int64), chunks=1, ranges=0, spins=1)
        softmax_kernel(self._width, sampler, has_ids=True, has_features=False, frozen=True)(
            current.arrays, gradients, gradients.vectors, self._sampling, self._step, scratch, layout, cursor
        )
