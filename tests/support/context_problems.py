"""Small training problems of the context tower, and one batch of them by the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tests.support.kernel_problems import DIMENSIONS, Problem, make_batch, make_problem
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels import losses, samplers
from vse_ens.kernels.arrays import Floats, Step
from vse_ens.kernels.context import ContextScratch, ContextTables, InputGradients, apply_input_gradients
from vse_ens.kernels.context_losses import MAX_SHARING, apply_shared_gradients, context_kernel
from vse_ens.kernels.two_phase import (
    FEATURE_MAP,
    INPUTS,
    LABELS,
    BatchCursor,
    BatchLayout,
    LabelGradients,
    RowRanges,
    apply_feature_gradients,
)
from vse_ens.model.embeddings import label_pair_table

NEGATIVES = 5  # of the softmax loss; the others have one
Images = NDArray[np.int64]


@dataclass
class ContextProblem(Problem):
    """A context model in the middle of training."""

    context: ContextTables
    label_pairs: NDArray[np.int32]
    """The label pairs of the combinations, by number."""
    sharing: int = MAX_SHARING
    """How many positives share negatives (softmax)."""

    @property
    def negatives(self) -> int:
        return NEGATIVES if self.config.loss == "softmax" else 1

    @property
    def trained(self) -> dict[str, Floats]:
        """All that a batch may change."""
        return {
            "labels": self.tables.labels,
            "bias": self.tables.bias,
            "feature_map": self.tables.feature_map,
            "ids": self.image_vectors,
            "inputs": self.context.inputs,
            "label_squares": self.context.label_squares,
            "input_squares": self.context.input_squares,
        }


def make_context_problem(
    config: Config, data: Annotations, seed: int = 0, scale: float = 0.5, share: int = 8
) -> ContextProblem:
    """A model of random numbers, with as many combinations as the configuration asks for, in no order."""
    plain = make_problem(config, data, seed, scale)
    numbers = np.random.default_rng(seed + 1)
    every = {pair for image in range(len(data.images)) for pair in combinations(plain.positives(image).tolist(), 2)}
    pairs = numbers.permutation(np.array(sorted(every), np.int32).reshape(-1, 2))[: config.label_pairs]
    rows = plain.labels + len(pairs)
    context = ContextTables(
        inputs=numbers.normal(0.0, scale, (rows, DIMENSIONS)).astype(np.float32),
        input_squares=numbers.uniform(0.01, 0.2, rows).astype(np.float32),
        label_squares=numbers.uniform(0.01, 0.2, plain.labels).astype(np.float32),
        label_pairs=label_pair_table(pairs, plain.labels)._replace(pairs_per_label=share),
    )
    return ContextProblem(**vars(plain), context=context, label_pairs=pairs)


@dataclass
class Batch:
    """One batch: what its first phase found, and what its second needs."""

    problem: ContextProblem
    step: Step
    layout: BatchLayout
    cursor: BatchCursor
    ranges: list[RowRanges]
    changes: LabelGradients
    input_changes: InputGradients
    moves: Floats
    scratch: ContextScratch

    @property
    def loss(self) -> float:
        return float(self.layout.losses.sum())

    @property
    def images(self) -> Images:
        return self.layout.images

    @property
    def draws(self) -> int:
        return int(self.layout.first_draws[-1])

    @property
    def negatives(self) -> int:
        """How many negatives were asked for: those that positives share count once."""
        together = self.problem.sharing if self.problem.config.loss == "softmax" else 1
        labels = np.diff(self.problem.pairs.indptr)[self.images]
        return int(np.ceil(labels / together).sum()) * self.problem.negatives

    @property
    def counts(self) -> NDArray[np.int64]:
        return self.layout.counts.sum(axis=0)

    @property
    def owners(self) -> Images:
        """The image of every draw."""
        return np.repeat(self.images, np.diff(self.problem.pairs.indptr)[self.images])

    def apply(self) -> None:
        """The second phase, in uneven parts."""
        assert all(self.try_to_apply())

    def try_to_apply(self) -> list[bool]:
        """The second phase; returns for each table whether the first one was done."""
        problem, tables, selected = self.problem, self.problem.tables, self.scratch.selected
        squares, ranges = problem.context.label_squares, self.ranges
        applied = apply_shared_gradients(
            tables,
            squares,
            self.changes,
            self.step,
            problem.sharing if problem.config.loss == "softmax" else 1,
            selected,
            problem.pairs.indptr,
            self.images,
            ranges[LABELS],
            self.cursor,
        )
        applied_inputs = apply_input_gradients(
            problem.context.inputs,
            problem.context.input_squares,
            self.input_changes,
            self.step,
            self.scratch.gradient,
            selected,
            self.layout.first_entries,
            ranges[INPUTS],
            self.cursor,
        )
        if not problem.config.has_features:
            return [applied, applied_inputs]
        features, moves = problem.features, self.moves
        applied_features = apply_feature_gradients(
            tables.feature_map, features, moves, self.images, ranges[FEATURE_MAP], self.cursor
        )
        return [applied, applied_inputs, applied_features]


def compute(problem: ContextProblem, chunks: list[Images], states: list[int], rate: float = 0.05) -> Batch:
    """The first phase of a batch."""
    config, step, labels = problem.config, problem.step(rate), problem.labels
    has_pairs = len(problem.label_pairs) > 0
    of_labels = [(labels - 2, labels), (0, 1), (1, labels - 2)]
    of_features = [(0, 4), (4, len(problem.tables.feature_map))] if config.has_features else []
    of_inputs = [(3, len(problem.context.inputs)), (0, 3)]
    layout, cursor, ranges = make_batch(problem.pairs, chunks, states, [of_labels, of_features, of_inputs])
    draws, entries, images = int(layout.first_draws[-1]), int(layout.first_entries[-1]), len(layout.images)
    changes = LabelGradients.allocate(draws, problem.negatives, DIMENSIONS)
    input_changes = InputGradients.allocate(draws, images, entries, len(chunks), DIMENSIONS)
    moves = np.empty((images if config.has_features else 0, DIMENSIONS), np.float32)
    sampler, towers = samplers.CODES[config.sampler], (config.has_ids, config.has_features, has_pairs)
    softmax = config.loss == "softmax"
    sharing = problem.sharing if softmax else 1
    kernel = context_kernel(DIMENSIONS, sampler, losses.CODES[config.loss], sharing, *towers)
    scratch = ContextScratch.allocate(
        DIMENSIONS,
        int(np.diff(problem.pairs.indptr).max()),
        has_pairs,
        max(entries, 2 * draws, problem.negatives),
        problem.labels,
        problem.negatives if softmax else 0,
    )
    assert kernel(
        problem.arrays,
        problem.context,
        changes,
        input_changes,
        moves,
        problem.sampling,
        step,
        scratch,
        layout,
        cursor,
    )
    return Batch(problem, step, layout, cursor, ranges, changes, input_changes, moves, scratch)
