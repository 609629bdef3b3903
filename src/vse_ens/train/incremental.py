"""New pairs, images and labels join a trained model: much cheaper than training again, and what was learnt stays close.

Old rows keep their vectors; new ones start as in any training. Then the images with new pairs are trained, among
twice as many others, so that what is not new is not forgotten. The label-label memory, which is counts, is made anew.
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
from vse_ens.train.engines.base import RoundStats
from vse_ens.train.engines.make import make_engine
from vse_ens.train.progress import EpochReport, Progress
from vse_ens.train.schedule import EpochPlan
from vse_ens.train.tables import initial_embeddings, padded

# Of the old images, so many for each image with new pairs are trained along.
_REHEARSED = 2.0


class IncrementalTrainer:
    """Trains a model on, after pairs were added to what it knows.

    ``generation`` counts how often a model has grown: each time draws other random numbers.
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
        # An image's own vector has its features in it (`Embeddings.settled`): from now on it is a free one.
        self._config = replace(config, tower=config.tower.replace("id+features", "id").replace("features", "id"))
        self._stream = Streams(config.seed).child("grow", generation)
        self._part = known.with_pairs(_chosen(old, known, self._stream)[known.image_numbers()])
        start = initial_embeddings(replace(self._config, seed=self._stream.key()[0] % 2**63), known)
        self._current = padded(carried_over(embeddings, old, known, start))
        self._epochs = epochs
        self._workers = workers

    @property
    def embeddings(self) -> Embeddings:
        """A copy of the vectors as they are."""
        return self._current.widened(self._config.dimensions)

    def rounds(self) -> Iterator[Progress]:
        """Train, and yield after every round."""
        with Workers(self._workers) as workers:
            engine = make_engine(self._config, self._part, self._current, workers)
            for epoch in range(self._epochs):
                plan = EpochPlan.of(self._part, engine.schedule, self._stream.child("train", epoch))
                rate = self._config.learning_rate * self._config.learning_rate_decay ** self._age(epoch)
                work = RoundStats()
                for number in range(plan.rounds):
                    work.add(engine.run_round(plan, number, rate))
                    report = EpochReport.of(epoch + 1, work, rate) if number + 1 == plan.rounds else None
                    yield Progress(epoch + 1, number + 1, plan.rounds, self._epochs, True, work, report)

    def _age(self, epoch: int) -> int:
        """The epoch of the first training whose rate is taken: with AdaGrad old rows step little by themselves."""
        return epoch if self._config.has_context else self._config.epochs - self._epochs + epoch


def epochs_to_grow(config: Config, trained: int) -> int:
    """How long to train after ``trained`` epochs: half as long with AdaGrad, a third with plain steps."""
    return math.ceil(min(trained, config.epochs) / (2 if config.has_context else 3))


def carried_over(embeddings: Embeddings, old: Annotations, known: Annotations, start: Embeddings) -> Embeddings:
    """``start``, made for the grown vocabularies, with the old rows in their new places."""
    labels = known.labels.translate(old.labels)
    images = known.images.translate(old.images)
    grown = replace(start.copy(), feature_map=embeddings.feature_map)
    grown.label_vectors[labels] = embeddings.label_vectors
    grown.label_bias[labels] = embeddings.label_bias
    if len(grown.image_vectors):
        grown.image_vectors[images] = embeddings.image_vectors
    if embeddings.has_context:
        grown.label_squares[labels] = embeddings.label_squares
        rows, theirs = _input_rows(embeddings, grown, labels)
        grown.input_vectors[rows] = embeddings.input_vectors[theirs]
        grown.input_squares[rows] = embeddings.input_squares[theirs]
    return grown


def _input_rows(
    old: Embeddings, grown: Embeddings, labels: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The input rows that a grown model shares with the old one: those of old labels, and combinations both have."""

    def keys(pairs: NDArray[np.integer]) -> NDArray[np.int64]:
        return pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1].astype(np.int64)

    _, theirs, ours = np.intersect1d(keys(labels[old.label_pairs]), keys(grown.label_pairs), return_indices=True)
    return (
        np.concatenate([labels, len(grown.label_vectors) + ours]),
        np.concatenate([np.arange(len(labels)), len(labels) + theirs]),
    )


def _chosen(old: Annotations, known: Annotations, stream: Streams) -> NDArray[np.bool_]:
    """Images with new pairs, and some of the others at random."""
    before = np.zeros(len(known.images), np.int64)
    before[known.images.translate(old.images)] = old.labels_per_image
    chosen = known.labels_per_image > before
    others = np.flatnonzero(~chosen & (known.labels_per_image > 0))
    wanted = min(len(others), math.ceil(_REHEARSED * np.count_nonzero(chosen)))
    chosen[others[np.argsort(stream.child("rehearse").words(len(others)), kind="stable")[:wanted]]] = True
    return chosen
