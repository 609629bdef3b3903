"""Algorithm 1 of the paper: one stream of steps, with rankings that are recomputed every |A| ln |A| draws."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.kernels import losses, samplers
from vse_ens.kernels.random import shuffle
from vse_ens.kernels.serial import TRACED, serial_kernel, sort_factors
from vse_ens.kernels.sgd import SgdScratch
from vse_ens.streams import Streams
from vse_ens.train.engines.base import Rankings, RoundStats, Training

# A round may have any number of refreshes. Its length is part of the model: every round has its own random stream.
ROUND_DRAWS = 8_192
"""Draws between two reports of progress, checkpoints or chances to stop."""

_NO_TRACE = np.empty((0, TRACED), np.int64)


@dataclass(frozen=True)
class SerialPlan:
    """One epoch of as many draws as there are pairs."""

    rounds: int
    draws: int
    draws_before: int
    """Draws of all epochs before this one."""
    order: NDArray[np.int64]
    """The pairs in the order of their steps; empty if they are drawn with replacement."""
    stream: Streams

    def edges(self, number: int) -> tuple[int, int]:
        """Return the first draw of a round within the epoch, and the first draw after it."""
        return self.draws * number // self.rounds, self.draws * (number + 1) // self.rounds


class SerialEngine:
    """Makes one SGD step after another, without slices and without draws ahead.

    The rankings are recomputed where algorithm 1 says so: before draw q, counted from 1 over all epochs, if q is a
    multiple of floor(|A| ln |A|). They are also computed before the first draw, as in the paper's worked example.

    Only the refresh of the rankings uses several workers. It does not change the result.
    """

    def __init__(self, training: Training) -> None:
        config, data = training.config, training.data
        self.refresh_period = refresh_period(config, len(data.labels))
        """Draws from one refresh to the next."""
        self.training = training
        self._pairs = training.arrays.pairs
        self.rankings = Rankings(training, sort_factors, training.width)
        codes = samplers.CODES[config.sampler], losses.CODES[config.loss]
        settings = config.positives == "iid", config.redraw_positives, config.warp_cap
        self._make_steps = partial(
            serial_kernel(training.width, *codes, *settings),
            training.arrays,
            np.repeat(np.arange(len(data.images), dtype=np.int32), data.labels_per_image),
            training.sampling,
            SgdScratch.allocate(training.width, 0, training.scores),
        )

    def plan(self, epoch: int, stream: Streams) -> SerialPlan:
        """Plan an epoch, counted from 0."""
        draws = len(self._pairs.indices)
        rounds = max(1, round(draws / ROUND_DRAWS))
        return SerialPlan(rounds, draws, draws * epoch, self._order(stream), stream)

    def run_round(self, plan: SerialPlan, number: int, learning_rate: float) -> RoundStats:
        """Make the steps of one round, and refresh the rankings when they are due."""
        stats = RoundStats()
        step = self.training.step(learning_rate)
        state = plan.stream.child("round", number).words(1)
        started = time.perf_counter()
        draw, end = plan.edges(number)
        while draw < end:
            due = self._draws_to_refresh(plan.draws_before + draw)
            if due == 0:
                stats.refresh_seconds += self.rankings.refresh()
                due = self._draws_to_refresh(plan.draws_before + draw + 1) + 1
            steps = min(due, end - draw)
            order = plan.order[draw : draw + steps]
            stats.loss += self._make_steps(order, steps, step, state, stats.counts, _NO_TRACE)
            draw += steps
        stats.seconds = time.perf_counter() - started
        return stats

    def trace(self, steps: int, learning_rate: float, stream: Streams) -> NDArray[np.int64]:
        """Refresh the rankings, make steps, and return each step's pair, negative, rank and factor.

        The columns are named in `vse_ens.kernels.serial`. With a learning rate of 0 the vectors stay as they are.
        """
        self.rankings.refresh()
        trace = np.full((steps, TRACED), -1, np.int64)
        order = self._order(stream)[:steps]
        counts = RoundStats().counts
        self._make_steps(order, steps, self.training.step(learning_rate), stream.words(1), counts, trace)
        return trace

    def _draws_to_refresh(self, before: int) -> int:
        """Return the number of draws from draw ``before`` on, counted from 0, until the rankings are refreshed."""
        if not self.rankings.used:
            return len(self._pairs.indices)
        # Line 4 of algorithm 1 tests q % (|A| ln |A|) = 0 after q was increased: before the draw of number q.
        return 0 if not self.rankings.known else -(before + 1) % self.refresh_period

    def _order(self, stream: Streams) -> NDArray[np.int64]:
        if self.training.config.positives == "iid":
            return np.empty(0, np.int64)
        state = np.array(stream.child("order").key()[:1], dtype=np.uint64)
        if self.training.config.positives == "shuffled":
            order = np.arange(len(self._pairs.indices))
            shuffle(order, state)
            return order
        counts = np.diff(self._pairs.indptr)
        images = np.flatnonzero(counts)
        shuffle(images, state)
        lengths = counts[images]
        before = np.cumsum(lengths) - lengths
        first_pairs: NDArray[np.int64] = np.repeat(self._pairs.indptr[images] - before, lengths)
        return first_pairs + np.arange(len(first_pairs))


def refresh_period(config: Config, labels: int) -> int:
    """Return floor(|A| ln |A|), times the setting ``refresh``."""
    return max(1, math.floor(config.refresh * labels * math.log(labels)))
