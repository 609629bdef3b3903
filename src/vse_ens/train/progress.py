"""Where a training stands.

What an epoch did.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from vse_ens.kernels.arrays import DRAWS, GIVEN_UP, REJECTED, TRIES, VIOLATIONS
from vse_ens.run.pool import WorkerTiming
from vse_ens.train.engines.base import RoundStats


@dataclass(frozen=True)
class Progress:
    """Where training stands after a round."""

    epoch: int
    rounds_done: int
    rounds: int
    epochs: int
    """How many epochs there will be at most, in this part of the training."""
    final: bool
    """Whether this trains the model that is kept; else it is found out how long to train."""
    work: RoundStats
    """What the epoch did so far."""
    report: EpochReport | None
    """The epoch's report, where this round was its last."""
    timings: tuple[WorkerTiming, ...] = ()
    """Of a training by shards: how each worker spent the round, and how many draws it made (``amount``)."""


@dataclass(frozen=True)
class EpochReport:
    """One epoch's counts: the health of a run at a glance."""

    epoch: int
    draws: int
    """Positives visited."""
    violations: int
    """Of these, how often the negative was not outranked by the margin (softmax: not outranked at all)."""
    tries: int
    """Labels looked at to find negatives."""
    rejected: int
    """Of these, how many the image has."""
    given_up: int
    """Positives for which no negative was found: they made no step."""
    loss: float
    """Mean over draws."""
    learning_rate: float
    seconds: float
    refresh_share: float
    """Share of the time spent on making rankings anew."""
    validation: dict[str, float] | None = None

    @classmethod
    def of(
        cls, epoch: int, work: RoundStats, learning_rate: float, validation: dict[str, float] | None = None
    ) -> EpochReport:
        """The report of an epoch's work."""
        counts = [int(count) for count in work.counts]
        return cls(
            epoch=epoch,
            draws=counts[DRAWS],
            violations=counts[VIOLATIONS],
            tries=counts[TRIES],
            rejected=counts[REJECTED],
            given_up=counts[GIVEN_UP],
            loss=work.loss / max(counts[DRAWS], 1),
            learning_rate=learning_rate,
            seconds=work.seconds,
            refresh_share=work.refresh_seconds / work.seconds if work.seconds else 0.0,
            validation=validation,
        )

    @property
    def draws_per_second(self) -> float:
        """Positives visited a second, refreshes included."""
        return self.draws / self.seconds if self.seconds else 0.0

    @property
    def tries_per_draw(self) -> float:
        """The paper's figure 1 for `warp`: labels tried for one step."""
        return self.tries / self.draws if self.draws else 0.0

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as JSON can hold them."""
        return {
            **asdict(self),
            "draws_per_second": round(self.draws_per_second, 1),
            "tries_per_draw": round(self.tries_per_draw, 4),
        }
