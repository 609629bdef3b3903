"""Which rankings the SGD engine sorts before a round."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.kernel_problems import random_annotations
from tests.support.training_runs import small_config
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.engines.sgd import SgdEngine
from vse_ens.train.sampling import rank_probabilities
from vse_ens.train.tables import initial_embeddings

LABELS = 400


class CountingEngine(SgdEngine):
    """Records which factors are sorted."""

    def _rank(self, factors: NDArray[np.int64]) -> None:
        self.sorted = factors.tolist()
        super()._rank(factors)

    def moved_share(self) -> float:
        """The mean share of draws that a full sort would change: the total variation between the rank laws."""
        law = rank_probabilities(LABELS, self._config.rank_distribution, self._config.rank_scale)
        before = self._sampling.rankings.copy()
        super()._rank(np.arange(len(before)))
        after = self._sampling.rankings.copy()
        self._sampling.rankings[:] = before
        weights = np.zeros((2, LABELS))
        changed = []
        for old, new in zip(before, after, strict=True):
            weights[0, old], weights[1, new] = law, law
            changed.append(np.abs(weights[0] - weights[1]).sum() / 2)
        return float(np.mean(changed))


@pytest.fixture
def engine() -> CountingEngine:
    config = small_config(sampler="vse-ens", slices=1, learning_rate=0.002, rank_scale=0.2)
    data = random_annotations(images=600, labels=LABELS, most=12)
    return CountingEngine(config, data, initial_embeddings(config, data), Workers(1))


def test_the_first_round_sorts_all_factors_and_later_ones_those_that_moved(engine: CountingEngine) -> None:
    plan = engine.plan(0, Streams(1).child("train", 0))
    sorted_factors = []
    for number in range(plan.rounds):
        engine.run_round(plan, number, 0.002)
        sorted_factors.append(engine.sorted)
    everything = list(range(engine._width + 1))
    assert sorted_factors[0] == everything
    assert len(sorted_factors[1]) < len(everything)
    engine._tables.labels[:, 2] *= -1.0
    engine.run_round(plan, 0, 0.002)
    assert 2 in engine.sorted
    engine.reload_tables()
    engine.run_round(plan, 0, 0.002)
    assert engine.sorted == everything


@pytest.mark.parametrize("rate", [0.0005, 0.005, 0.05, 0.5])
def test_rankings_that_are_kept_change_few_draws(engine: CountingEngine, rate: float) -> None:
    plan = engine.plan(0, Streams(1).child("train", 0))
    for number in range(plan.rounds):
        engine.run_round(plan, number, rate)
        engine._refresh_rankings()
        assert engine.moved_share() < 0.06
