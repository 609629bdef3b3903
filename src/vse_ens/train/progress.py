"""Progress of a training: after each round, and the report of each epoch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from vse_ens.run.pool import WorkerTiming
from vse_ens.train.engines import RoundStats


@dataclass(frozen=True)
class Progress:
    """The state of a training after a round."""

    epoch: int
    rounds_done: int
    rounds: int
    epochs: int
    """The largest number of epochs of this phase."""
    final: bool
    """Whether this phase trains the model that is kept, rather than searching for the best epoch."""
    stats: RoundStats
    """The counts of the epoch so far."""
    report: EpochReport | None
    """The report of the epoch, after its last round."""
    timings: tuple[WorkerTiming, ...] = ()
    """Of a training by shards: how each worker spent the round, and how many draws it made (``amount``)."""


@dataclass(frozen=True)
class EpochReport:
    """Counts, loss and speed of one epoch."""

    epoch: int
    draws: int
    """Positives visited."""
    violations: int
    """Positives that did not outrank their negative by the margin (softmax: at all)."""
    tries: int
    """Labels examined to find negatives."""
    rejected: int
    """Examined labels that the image has."""
    given_up: int
    """Positives without a step, because no negative was found."""
    loss: float
    """Mean over draws."""
    learning_rate: float
    seconds: float
    refresh_share: float
    """Share of the time spent on refreshing the rankings."""
    validation: dict[str, float] | None = None

    @classmethod
    def of(
        cls, epoch: int, stats: RoundStats, learning_rate: float, validation: dict[str, float] | None = None
    ) -> EpochReport:
        """Make the report of an epoch."""
        draws, violations, tries, rejected, given_up = (int(count) for count in stats.counts)
        return cls(
            epoch,
            draws,
            violations,
            tries,
            rejected,
            given_up,
            loss=stats.loss / max(draws, 1),
            learning_rate=learning_rate,
            seconds=stats.seconds,
            refresh_share=stats.refresh_seconds / stats.seconds if stats.seconds else 0.0,
            validation=validation,
        )

    @property
    def draws_per_second(self) -> float:
        """Positives visited per second, refreshes included."""
        return self.draws / self.seconds if self.seconds else 0.0

    @property
    def tries_per_draw(self) -> float:
        """Labels tried per positive: the paper's figure 1 for `warp`."""
        return self.tries / self.draws if self.draws else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers, ready for JSON."""
        return {
            **asdict(self),
            "draws_per_second": round(self.draws_per_second, 1),
            "tries_per_draw": round(self.tries_per_draw, 4),
        }
