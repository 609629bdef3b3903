"""Fold-in: the vector of an unseen image, from the labels it is known to have.

The image's vector is trained with the same sampler and loss, with frozen label vectors and biases. It starts at zero
and takes steps a quarter as long as the first steps of training, for less noise. It stops after as many visits as bring
images of the training data closest to their trained vectors. Training to convergence would lead away from there, since
training itself ends before its image vectors converge.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels import losses, samplers
from vse_ens.kernels.arrays import COUNTS, Csr, TrainingArrays
from vse_ens.kernels.rank_table import RankScratch, rank_factors
from vse_ens.kernels.sgd import SgdScratch, sgd_kernel
from vse_ens.kernels.softmax import softmax_kernel
from vse_ens.kernels.two_phase import COUNTERS, BatchCursor, BatchLayout, LabelGradients
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.engines.base import Training
from vse_ens.train.tables import NO_FEATURES, padded

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


class FoldIn:
    """Computes image vectors from labels, in the space of a trained model.

    The same labels give the same vector, alone or among others, in any order, on any number of workers.
    """

    def __init__(self, config: Config, known: Annotations, embeddings: Embeddings, workers: Workers) -> None:
        none = np.empty((0, embeddings.dimensions), np.float32)
        tables = padded(replace(embeddings, image_vectors=none, feature_map=none))
        self._training = training = Training.of(config, known, tables, workers, NO_FEATURES)
        self._trained = embeddings
        if config.sampler == "vse-ens":
            scratch = RankScratch.allocate(len(known.labels))
            rank_factors(training.arrays.tables, training.sampling, np.arange(training.width + 1), scratch)

    def vectors(self, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> Floats:
        """Return one vector per image, given sorted label numbers in CSR form; zeros for an image without labels."""
        arrays, states = self._start(indptr, indices)
        self._visit(arrays, states, _FINER * self.visits)
        return arrays.image_vectors[:, : self._trained.dimensions].copy()

    @cached_property
    def visits(self) -> int:
        """The number of visits, at training's step length, that bring known images closest to their vectors."""
        config, known = self._training.config, self._training.data
        labeled = np.flatnonzero(known.labels_per_image)
        images = labeled[np.linspace(0, len(labeled) - 1, min(_REFERENCE_IMAGES, len(labeled))).astype(np.int64)]
        trained = self._trained.own_vectors(images)
        arrays, states = self._start(*known.rows(images))
        best, nearest = 1, math.inf
        # No image needs more visits than training made, whose steps became shorter.
        most = math.ceil(sum(config.learning_rate_decay**epoch for epoch in range(config.epochs)))
        for visits in range(1, min(most, _MAX_VISITS) + 1):
            self._visit(arrays, states, _FINER)
            distance = float(np.square(arrays.image_vectors[:, : trained.shape[1]] - trained).sum())
            if distance < nearest:
                best, nearest = visits, distance
            elif visits > _SEARCH_FACTOR * best + _SEARCH_OFFSET:
                break
        return best

    def _start(
        self, indptr: NDArray[np.int64], indices: NDArray[np.int32]
    ) -> tuple[TrainingArrays, NDArray[np.uint64]]:
        """Return image vectors of zeros, and the random state of each."""
        stream = Streams(self._training.config.seed).child("fold-in")
        rows = (indices[first:last].tolist() for first, last in pairwise(indptr))
        vectors = np.zeros((len(indptr) - 1, self._training.width), np.float32)
        arrays = self._training.arrays._replace(image_vectors=vectors, pairs=Csr(indptr, indices))
        return arrays, np.array([stream.child(*row).key()[0] for row in rows], np.uint64)

    def _visit(self, arrays: TrainingArrays, states: NDArray[np.uint64], visits: int) -> None:
        """Visit every image ``visits`` more times."""
        training, config = self._training, self._training.config
        most = int(np.diff(arrays.pairs.indptr).max(initial=0))
        step = training.step(config.learning_rate / _FINER)
        sampler, loss = samplers.CODES[config.sampler], losses.CODES[config.loss]

        def visit(first: int, _worker: int) -> None:
            images = np.repeat(np.arange(first, min(first + _TASK_IMAGES, len(states))), visits)
            scratch, counts = SgdScratch.allocate(training.width, most, training.scores), np.zeros(COUNTS, np.int64)
            if loss != losses.SOFTMAX:
                train = sgd_kernel(training.width, sampler, loss, has_ids=True, has_features=False, frozen=True)
                train(arrays, images, training.sampling, step, scratch, states, counts)
                return
            gradients, nowhere = LabelGradients.allocate(1, config.negatives, training.width), np.zeros(2, np.int64)
            # One chunk, which waits for no batch before it.
            chunk, counters = np.array([0, len(images)]), np.zeros((2, COUNTERS), np.int64)
            batch = BatchLayout(images, chunk, nowhere, nowhere, states[:, None], counts[None], np.zeros(1))
            cursor = BatchCursor(counters[0], counters[1], chunks=1, ranges=0, spins=1)
            compute = softmax_kernel(training.width, sampler, has_ids=True, has_features=False, frozen=True)
            compute(arrays, gradients, gradients.vectors, training.sampling, step, scratch, batch, cursor)

        training.workers.run([partial(visit, first) for first in range(0, len(states), _TASK_IMAGES)])
