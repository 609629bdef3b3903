"""The context tower, with any loss: an image's vector is built from its other labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels import losses, samplers
from vse_ens.kernels.arrays import Step
from vse_ens.kernels.context import ContextGradients, ContextScratch, InputGradients, apply_input_gradients
from vse_ens.kernels.context_pairwise import apply_pairwise_gradients, pairwise_kernel
from vse_ens.kernels.context_softmax import MAX_SHARING, apply_softmax_gradients, softmax_kernel
from vse_ens.kernels.two_phase import INPUTS, LABELS
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.threads import Workers
from vse_ens.train.engines.two_phase import Batch, Phase, TwoPhaseEngine
from vse_ens.train.schedule import CHUNKS
from vse_ens.train.tables import context_tables

# Vocabularies whose positives share negatives, which nearly halves the time of an epoch. In between, the label weights
# take most of a training, so that sharing would save little; it is slightly less accurate on the Open Images sample.
_SHARED_UP_TO, _SHARED_FROM = 3_000, 10_000


class ContextEngine(TwoPhaseEngine):
    """Trains label vectors, input vectors and, where the tower has them, image vectors and the feature map.

    See `vse_ens.kernels.context`.
    """

    def __init__(self, config: Config, data: Annotations, embeddings: Embeddings, workers: Workers) -> None:
        super().__init__(config, data, embeddings, workers)
        self._context = context_tables(embeddings)
        has_label_pairs = len(embeddings.label_pairs) > 0
        self._softmax = config.loss == "softmax"
        shared = not _SHARED_UP_TO < len(data.labels) < _SHARED_FROM
        self._sharing = MAX_SHARING if shared else 1
        sampler, towers = samplers.CODES[config.sampler], (config.has_ids, config.has_features, has_label_pairs)
        if self._softmax:
            self._kernel = softmax_kernel(self._width, sampler, self._sharing, *towers)
        else:
            self._kernel = pairwise_kernel(self._width, sampler, losses.CODES[config.loss], *towers)
        counts = data.labels_per_image
        longest = int(counts.max(initial=0))
        if has_label_pairs:
            # The most inputs of an image: its labels, and as many of their label pairs as are used.
            pairs = np.minimum(counts * (counts - 1) // 2, self._context.label_pairs.pairs_per_label * counts)
            self._inputs_per_image = counts + pairs
        inputs_per_positive = int(np.ceil((self._inputs_per_image / np.maximum(counts, 1)).max(initial=1)))
        negatives = config.negatives if self._softmax else 1
        positives = self._max_positives
        self._gradients = ContextGradients.allocate(positives, negatives, self._width)
        self._input_gradients = InputGradients.allocate(
            positives, positives, inputs_per_positive * positives, CHUNKS, self._width
        )
        scores = len(data.labels) if config.sampler == "naive" else 0
        entries = max(len(self._input_gradients.entries), 2 * positives, negatives)
        self._context_scratch = [
            ContextScratch.allocate(
                self._width, longest, has_label_pairs, entries, scores, negatives if self._softmax else 0
            )
            for _ in range(workers.count)
        ]

    def _changed_tables(self) -> list[tuple[int, NDArray[np.int32]]]:
        changed_inputs = self._input_gradients.entries[: self._input_gradients.filled[0], 0]
        return [*super()._changed_tables(), (len(self._context.inputs), changed_inputs)]

    def _phases(self, step: Step) -> list[Phase]:
        def apply_to_inputs(batch: Batch, worker: int) -> bool:
            return apply_input_gradients(
                self._context.inputs,
                self._context.input_squares,
                batch.layout.first_entries,
                batch.progress,
                batch.ranges[INPUTS],
                self._input_gradients,
                step,
                self._context_scratch[worker].gradient,
                self._context_scratch[worker].selected,
            )

        return [*super()._phases(step), apply_to_inputs]

    def _drawn_labels(self) -> NDArray[np.int32]:
        return self._gradients.rows

    def _compute(self, step: Step, batch: Batch, worker: int) -> bool:
        return self._kernel(
            self._embeddings.image_vectors,
            self._tables,
            self._context,
            self._features,
            self._pairs,
            batch.layout,
            batch.progress,
            self._gradients,
            self._input_gradients,
            self._feature_gradients,
            self._sampling,
            step,
            self._context_scratch[worker],
        )

    def _apply_to_labels(self, step: Step, batch: Batch, worker: int) -> bool:
        squares, selected = self._context.label_squares, self._context_scratch[worker].selected
        if self._softmax:
            return apply_softmax_gradients(
                self._tables,
                squares,
                batch.layout.images,
                self._pairs.indptr,
                batch.progress,
                batch.ranges[LABELS],
                self._gradients,
                step,
                self._sharing,
                selected,
            )
        draws = int(batch.layout.first_draws[-1])
        return apply_pairwise_gradients(
            self._tables, squares, draws, batch.progress, batch.ranges[LABELS], self._gradients, step, selected
        )
