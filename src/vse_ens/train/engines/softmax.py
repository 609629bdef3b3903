"""The softmax loss: one positive against several sampled negatives."""

from __future__ import annotations

from functools import partial

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels import samplers
from vse_ens.kernels.arrays import Step
from vse_ens.kernels.softmax import BatchGradients, apply_label_gradients, softmax_kernel
from vse_ens.kernels.two_phase import BatchLayout
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.threads import Task, Workers
from vse_ens.train.engines.base import ranges
from vse_ens.train.engines.two_phase import TwoPhaseEngine


class SoftmaxEngine(TwoPhaseEngine):
    """Towers without context, trained with softmax; see `vse_ens.kernels.softmax`."""

    def __init__(self, config: Config, data: Annotations, embeddings: Embeddings, workers: Workers) -> None:
        super().__init__(config, data, embeddings, workers)
        self._kernel = softmax_kernel(self._width, samplers.CODES[config.sampler], config.has_ids, config.has_features)
        self._gradients = BatchGradients.allocate(self._max_positives, config.negatives, self._width)

    def _compute(self, batch: BatchLayout, step: Step, first_chunk: int, last_chunk: int, worker: int) -> float:
        return sum(self._compute_chunk(batch, step, chunk, worker) for chunk in range(first_chunk, last_chunk))

    def _compute_chunk(self, batch: BatchLayout, step: Step, chunk: int, worker: int) -> float:
        first, last = batch.first_visits[chunk : chunk + 2]
        return self._kernel(
            self._embeddings.image_vectors,
            self._tables,
            self._features,
            self._pairs,
            batch.images[first:last],
            int(batch.first_draws[chunk]),
            self._gradients,
            self._feature_gradients[first:],
            self._sampling,
            step,
            self._scratch[worker],
            batch.random_states[chunk],
            batch.counts[chunk],
        )

    def _apply_tasks(self, batch: BatchLayout, step: Step) -> list[Task]:
        def apply(first: int, last: int, _worker: int) -> None:
            apply_label_gradients(self._tables, self._gradients, int(batch.first_draws[-1]), step, first, last)

        tasks: list[Task] = [partial(apply, *edges) for edges in ranges(len(self._tables.labels), self._workers.count)]
        return tasks + self._feature_tasks(batch)
