"""Small training problems in the shape that kernels take, the same for every test of a sampler, loss or kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numba
import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.kernels.arrays import COUNTS, Csr, Features, Floats, Sampling, SharedTables, Step, TrainingArrays
from vse_ens.kernels.rank_table import RankScratch, rank_factors
from vse_ens.kernels.sgd import SgdScratch
from vse_ens.kernels.two_phase import COUNTERS, RANGES_DONE, BatchCursor, BatchLayout
from vse_ens.train.engines.batches import Batch
from vse_ens.train.sampling import make_sampling, rank_weights

JIT = not numba.config.DISABLE_JIT
DIMENSIONS = 8  # one number everywhere: every combination with it is compiled once and found on disk by all tests


def annotations(labels_of_images: Sequence[Sequence[int]], labels: int) -> Annotations:
    """Images that have the labels of these numbers."""
    return Annotations(
        Vocabulary.from_ids([f"image-{i:05}" for i in range(len(labels_of_images))], "image"),
        Vocabulary.from_ids([f"label-{a:05}" for a in range(labels)], "label"),
        np.cumsum([0, *map(len, labels_of_images)], dtype=np.int64),
        np.array([a for positives in labels_of_images for a in sorted(positives)], np.int32),
    )


def random_annotations(images: int, labels: int, most: int, seed: int = 0) -> Annotations:
    """Images with 1 to ``most`` labels each; the labels are of unequal popularity."""
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, labels + 1)
    return annotations(
        [
            rng.choice(labels, size=rng.integers(1, most + 1), replace=False, p=popularity / popularity.sum()).tolist()
            for _ in range(images)
        ],
        labels,
    )


@dataclass
class Problem:
    """A model in the middle of training, and what its kernels need."""

    config: Config
    image_vectors: Floats
    tables: SharedTables
    features: Features
    pairs: Csr
    sampling: Sampling

    @property
    def arrays(self) -> TrainingArrays:
        return TrainingArrays(self.image_vectors, self.tables, self.features, self.pairs)

    @property
    def labels(self) -> int:
        return len(self.tables.bias)

    def positives(self, image: int) -> NDArray[np.int32]:
        return self.pairs.indices[self.pairs.indptr[image] : self.pairs.indptr[image + 1]]

    def free(self, image: int) -> NDArray[np.int64]:
        """The labels the image does not have."""
        return np.setdiff1d(np.arange(self.labels), self.positives(image))

    def vector(self, image: int) -> Floats:
        """v_i: the free vector plus the mapped features, as far as the tower has them."""
        vector = self.image_vectors[image].copy() if self.config.has_ids else np.zeros(DIMENSIONS, np.float32)
        if self.config.has_features:
            places = slice(self.features.indptr[image], self.features.indptr[image + 1])
            vector += self.features.values[places] @ self.tables.feature_map[self.features.indices[places]]
        return vector

    def scores(self, image: int) -> Floats:
        return self.tables.labels @ self.vector(image) + self.tables.bias

    def step(self, rate: float = 0.05) -> Step:
        return Step(
            learning_rate=np.float32(rate),
            regularization=np.float32(self.config.regularization),
            bias_rate=np.float32(rate),
            bias_regularization=np.float32(self.config.bias_regularization),
            margin=np.float32(self.config.margin),
            rank_weight=rank_weights(self.labels, self.config.rank_weight, self.config.top_n),
        )

    def scratch(self) -> SgdScratch:
        return SgdScratch.allocate(DIMENSIONS, int(np.diff(self.pairs.indptr).max()), self.labels)


def make_problem(config: Config, data: Annotations, seed: int = 0, scale: float = 0.5) -> Problem:
    """A model of random numbers on some data; image features, where the tower has them, are sparse."""
    config = replace(config, dimensions=DIMENSIONS)
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> Floats:
        return rng.normal(0.0, scale, shape).astype(np.float32)

    images, labels, columns = len(data.images), len(data.labels), 6
    tables = SharedTables(normal(labels, DIMENSIONS), normal(labels), normal(columns, DIMENSIONS))
    chosen = [np.sort(rng.choice(columns, 3, replace=False)) for _ in range(images)]
    features = Features(
        indptr=np.arange(0, 3 * images + 1, 3, dtype=np.int64),
        indices=np.concatenate(chosen).astype(np.int32),
        values=normal(3 * images),
        step_scale=rng.uniform(0.5, 1.5, images).astype(np.float32),
    )
    problem = Problem(
        config,
        normal(images if config.has_ids else 0, DIMENSIONS),
        tables,
        features,
        Csr(data.indptr, data.indices),
        make_sampling(config, data, DIMENSIONS),
    )
    if config.sampler == "vse-ens":
        rank_factors(tables, problem.sampling, np.arange(DIMENSIONS + 1), RankScratch.allocate(labels))
    return problem


def random_state(seed: int) -> NDArray[np.uint64]:
    return np.array([seed], np.uint64)


def no_counts() -> NDArray[np.int64]:
    return np.zeros(COUNTS, np.int64)


def make_batch(
    pairs: Csr, chunks: list[NDArray[np.int64]], states: list[int], ranges: list[list[tuple[int, int]]]
) -> Batch:
    """The first batch of a round, with the row ranges of every table in its second phase."""
    degrees = np.diff(pairs.indptr)
    # Room for all label pairs: chunks leave some of it empty.
    entries = [int((degrees[chunk] * (degrees[chunk] + 1) // 2).sum()) for chunk in chunks]
    layout = BatchLayout(
        images=np.concatenate(chunks),
        first_visits=np.cumsum([0, *map(len, chunks)]),
        first_draws=np.cumsum([0, *(int(degrees[chunk].sum()) for chunk in chunks)]),
        first_entries=np.cumsum([0, *entries]),
        random_states=np.stack([random_state(state) for state in states]),
        counts=np.zeros((len(chunks), COUNTS), np.int64),
        losses=np.zeros(len(chunks)),
    )
    counters, before = np.zeros((2, COUNTERS), np.int64)
    before[RANGES_DONE] = all_ranges = sum(map(len, ranges))
    cursor = BatchCursor(counters, before, len(chunks), all_ranges, spins=1_000)
    return Batch(layout, cursor, [np.array(found, np.int64).reshape(-1, 2) for found in ranges])
