"""Timing of several candidates that take turns in one run, so that a slow moment of the machine affects all of them.

The best turn of each counts, because disturbances can only make a turn slower.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.core.benchmark import Raw, log
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import DRAWS, TRIES
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.engines import make_engine
from vse_ens.train.engines.base import RoundStats
from vse_ens.train.schedule import resolve_auto
from vse_ens.train.tables import padded


@dataclass(frozen=True)
class Turn:
    """The work of one candidate in one turn, and its time."""

    draws: int
    seconds: float
    plan_seconds: float = 0.0
    """Time to shuffle and partition the epoch. A turn of some rounds is charged its share."""
    epoch_draws: int = 1
    refresh_seconds: float = 0.0
    tries: int = 0
    loss: float = 0.0
    """Mean per draw."""


Candidate = Callable[[], Turn]

CONTEXT_START = 2
"""Epochs of training before the context tower is timed: it learns fast, and an epoch is long."""


class TrainingTurns:
    """Training in turns: each runs the next rounds of the real engine."""

    def __init__(
        self, config: Config, data: Annotations, start: Embeddings, workers: Workers, rounds: int | None = None
    ) -> None:
        """Start from a copy of ``start``. A turn is ``rounds`` rounds, or an epoch if None."""
        self._config = resolve_auto(config, data)
        self._data = data
        self._engine = make_engine(self._config, data, padded(start), workers)
        self._rounds = rounds
        self._epoch, self._round, self._plan_seconds = -1, 0, 0.0
        self._next_epoch()

    def __call__(self) -> Turn:
        """Take one turn."""
        if self._round >= self._plan.rounds:
            self._next_epoch()
        last = self._plan.rounds if self._rounds is None else min(self._round + self._rounds, self._plan.rounds)
        work = RoundStats()
        started = time.perf_counter()
        for number in range(self._round, last):
            work.add(self._engine.run_round(self._plan, number, self._config.learning_rate))
        seconds = time.perf_counter() - started
        self._round = last
        draws = int(work.counts[DRAWS])
        return Turn(
            draws,
            seconds,
            self._plan_seconds,
            self._data.pairs,
            work.refresh_seconds,
            int(work.counts[TRIES]),
            work.loss / draws,
        )

    def _next_epoch(self) -> None:
        self._epoch += 1
        started = time.perf_counter()
        stream = Streams(self._config.seed).child("train", self._epoch)
        self._plan = self._engine.plan(self._epoch, stream)
        self._plan_seconds = time.perf_counter() - started
        self._round = 0


def interleave(candidates: Mapping[str, Candidate], repeats: int) -> dict[str, list[dict[str, Any]]]:
    """Return ``repeats`` turns of each candidate, taken alternately after one uncounted turn that compiles kernels."""
    for name, take_turn in candidates.items():
        log(f"warming up {name}")
        take_turn()
    turns: dict[str, list[dict[str, Any]]] = {name: [] for name in candidates}
    for number in range(repeats):
        log(f"turn {number + 1} of {repeats}")
        for name, take_turn in candidates.items():
            turns[name].append(asdict(take_turn()))
    return turns


def cost(turn: Raw) -> float:
    """Return seconds per draw, including a share of the epoch's plan."""
    return float(turn["seconds"] / turn["draws"] + turn["plan_seconds"] / turn["epoch_draws"])


def best(turns: list[Raw]) -> Raw:
    """Return the turn with the lowest cost."""
    return min(turns, key=cost)


def thousands(turns: list[Raw]) -> str:
    """Return the best rate in thousands of draws per second."""
    return f"{1e-3 / cost(best(turns)):,.0f}"
