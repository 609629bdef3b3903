"""Which rankings the SGD engine sorts before a round."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.kernel_problems import random_annotations
from tests.support.training_runs import small_config
from vse_ens.kernels.arrays import Sampling, SharedTables
from vse_ens.kernels.rank_table import RankScratch, rank_factors
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.engines.base import Training
from vse_ens.train.engines.slices import SliceEngine
from vse_ens.train.sampling import rank_probabilities
from vse_ens.train.tables import initial_embeddings

LABELS = 400


class Counting:
    """An engine, and which factors its last refresh sorted."""

    def __init__(self) -> None:
        config = small_config(sampler="vse-ens", slices=1, learning_rate=0.002, rank_scale=0.2)
        data = random_annotations(images=600, labels=LABELS, most=12)
        self.engine = SliceEngine(Training.of(config, data, initial_embeddings(config, data), Workers(1)))
        self.training, self.sorted = self.engine.training, list[int]()
        self.engine.rankings.sort = self.sort

    def sort(self, tables: SharedTables, sampling: Sampling, factors: NDArray[np.int64], scratch: RankScratch) -> None:
        self.sorted = factors.tolist()
        rank_factors(tables, sampling, factors, scratch)

    def moved_share(self) -> float:
        """The mean share of draws that a full sort would change: the total variation between the rank laws."""
        config, sampling = self.training.config, self.training.sampling
        law = rank_probabilities(LABELS, config.rank_distribution, config.rank_scale)
        before = sampling.rankings.copy()
        rank_factors(self.training.arrays.tables, sampling, np.arange(len(before)), RankScratch.allocate(LABELS))
        after = sampling.rankings.copy()
        sampling.rankings[:] = before
        weights = np.zeros((2, LABELS))
        changed = []
        for old, new in zip(before, after, strict=True):
            weights[0, old], weights[1, new] = law, law
            changed.append(np.abs(weights[0] - weights[1]).sum() / 2)
        return float(np.mean(changed))


@pytest.fixture
def counting() -> Counting:
    return Counting()


def test_later_rounds_sort_only_factors_that_moved(counting: Counting) -> None:
    engine = counting.engine
    plan = engine.plan(0, Streams(1).child("train", 0))
    sorted_factors = []
    for number in range(plan.rounds):
        engine.run_round(plan, number, 0.002)
        sorted_factors.append(counting.sorted)
    everything = list(range(counting.training.width + 1))
    assert sorted_factors[0] == everything
    assert len(sorted_factors[1]) < len(everything)
    counting.training.arrays.tables.labels[:, 2] *= -1.0
    engine.run_round(plan, 0, 0.002)
    assert 2 in counting.sorted
    engine.reload_tables()
    engine.run_round(plan, 0, 0.002)
    assert counting.sorted == everything


@pytest.mark.parametrize("rate", [0.0005, 0.005, 0.05, 0.5])
def test_rankings_that_are_kept_change_few_draws(counting: Counting, rate: float) -> None:
    plan = counting.engine.plan(0, Streams(1).child("train", 0))
    for number in range(plan.rounds):
        counting.engine.run_round(plan, number, rate)
        counting.engine.rankings.refresh()
        assert counting.moved_share() < 0.06
