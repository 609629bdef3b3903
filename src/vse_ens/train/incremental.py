"""Incremental training: new pairs, images and labels join a trained model at a fraction of the cost of training.

Old rows keep their vectors, new rows get start vectors. Then the images with new pairs are trained together with twice
as many others, so that the model does not forget. The label weights, which are counts, are learned again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.engines import RoundStats, make_engine
from vse_ens.train.progress import EpochReport, Progress
from vse_ens.train.tables import initial_embeddings, padded

# Other images that are trained along, per image with new pairs.
_REHEARSED = 2.0


class IncrementalTrainer:
    """Continues the training of a model after pairs were added.

    ``generation`` counts the updates of a model: each draws other random numbers.
    """

    def __init__(
        self,
        config: Config,
        embeddings: Embeddings,
        old: Annotations,
        known: Annotations,
        *,
        epochs: int,
        generation: int,
        workers: int | None = None,
    ) -> None:
        self._config = replace(config, dimensions=embeddings.dimensions, members=1)
        self._stream = Streams(config.seed).child("grow", generation)
        self._train_pairs = known.with_pairs(_chosen(old, known, self._stream)[known.image_numbers()])
        start = initial_embeddings(replace(self._config, seed=self._stream.key()[0] % 2**63), known)
        self._current = padded(carry_over(embeddings, old, known, start))
        self._epochs = epochs
        self._workers = workers

    @property
    def embeddings(self) -> Embeddings:
        """A copy of the current vectors."""
        return self._current.resized(self._config.dimensions)

    def rounds(self) -> Iterator[Progress]:
        """Train, and yield after every round."""
        with Workers(self._workers) as workers:
            engine = make_engine(self._config, self._train_pairs, self._current, workers)
            for epoch in range(self._epochs):
                plan = engine.plan(epoch, self._stream.child("train", epoch))
                # AdaGrad shortens the steps of old rows by itself; others continue with the rates of the last epochs.
                of_epoch = epoch if self._config.has_context else self._config.epochs - self._epochs + epoch
                rate = self._config.learning_rate * self._config.learning_rate_decay**of_epoch
                stats = RoundStats()
                for number in range(plan.rounds):
                    stats.add(engine.run_round(plan, number, rate))
                    report = EpochReport.of(epoch + 1, stats, rate) if number + 1 == plan.rounds else None
                    yield Progress(epoch + 1, number + 1, plan.rounds, self._epochs, True, stats, report)


def update_epochs(config: Config, trained: int) -> int:
    """Return how long to train after ``trained`` epochs: half as long with AdaGrad, a third with plain SGD."""
    return math.ceil(min(trained, config.epochs) / (2 if config.has_context else 3))


def carry_over(embeddings: Embeddings, old: Annotations, known: Annotations, start: Embeddings) -> Embeddings:
    """Return ``start``, made for the larger vocabularies, with the rows of the old model in it."""
    labels = known.labels.translate(old.labels)
    images = known.images.translate(old.images)
    grown = replace(start.copy(), feature_map=embeddings.feature_map.copy())
    grown.label_vectors[labels] = embeddings.label_vectors
    grown.label_bias[labels] = embeddings.label_bias
    if len(grown.image_vectors):
        grown.image_vectors[images] = embeddings.image_vectors
        if len(grown.feature_map):  # vectors of images include their features
            grown.image_vectors[images] -= grown.mapped(old.features)
    if embeddings.has_context:
        grown.label_squares[labels] = embeddings.label_squares
        rows, theirs = _input_rows(embeddings, grown, labels)
        grown.input_vectors[rows] = embeddings.input_vectors[theirs]
        grown.input_squares[rows] = embeddings.input_squares[theirs]
    return grown


def _input_rows(
    old: Embeddings, grown: Embeddings, labels: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the input rows that both models have: those of old labels, and of label pairs in both."""

    def keys(pairs: NDArray[np.integer]) -> NDArray[np.int64]:
        return pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1].astype(np.int64)

    _, theirs, ours = np.intersect1d(keys(labels[old.label_pairs]), keys(grown.label_pairs), return_indices=True)
    return (
        np.concatenate([labels, len(grown.label_vectors) + ours]),
        np.concatenate([np.arange(len(labels)), len(labels) + theirs]),
    )


def _chosen(old: Annotations, known: Annotations, stream: Streams) -> NDArray[np.bool_]:
    """Select the images with new pairs, and some of the others at random."""
    before = np.zeros(len(known.images), np.int64)
    before[known.images.translate(old.images)] = old.labels_per_image
    chosen = known.labels_per_image > before
    others = np.flatnonzero(~chosen & (known.labels_per_image > 0))
    wanted = min(len(others), math.ceil(_REHEARSED * np.count_nonzero(chosen)))
    chosen[others[np.argsort(stream.child("rehearse").words(len(others)), kind="stable")[:wanted]]] = True
    return chosen
