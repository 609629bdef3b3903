"""The softmax loss: one positive against several sampled negatives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels import samplers
from vse_ens.kernels.arrays import Step
from vse_ens.kernels.softmax import BatchGradients, apply_label_gradients, softmax_kernel
from vse_ens.kernels.two_phase import LABELS
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.threads import Workers
from vse_ens.train.engines.two_phase import Batch, TwoPhaseEngine


class SoftmaxEngine(TwoPhaseEngine):
    """Towers without context, trained with softmax; see `vse_ens.kernels.softmax`."""

    def __init__(self, config: Config, data: Annotations, embeddings: Embeddings, workers: Workers) -> None:
        super().__init__(config, data, embeddings, workers)
        self._kernel = softmax_kernel(self._width, samplers.CODES[config.sampler], config.has_ids, config.has_features)
        self._gradients = BatchGradients.allocate(self._max_positives, config.negatives, self._width)
        self._selected = [np.empty(self._gradients.rows.size + 1, np.int32) for _ in range(workers.count)]

    def _drawn_labels(self) -> NDArray[np.int32]:
        return self._gradients.rows

    def _compute(self, step: Step, batch: Batch, worker: int) -> bool:
        return self._kernel(
            self._embeddings.image_vectors,
            self._tables,
            self._features,
            self._pairs,
            batch.layout,
            batch.progress,
            self._gradients,
            self._feature_gradients,
            self._sampling,
            step,
            self._scratch[worker],
        )

    def _apply_to_labels(self, step: Step, batch: Batch, worker: int) -> bool:
        return apply_label_gradients(
            self._tables,
            int(batch.layout.first_draws[-1]),
            batch.progress,
            batch.ranges[LABELS],
            self._gradients,
            step,
            self._selected[worker],
        )
