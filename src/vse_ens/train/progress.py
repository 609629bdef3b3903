"""Where a training stands."""

from __future__ import annotations

from dataclasses import dataclass

from vse_ens.run.pool import Share
from vse_ens.train.engine import Work
from vse_ens.train.report import EpochReport


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
    work: Work
    """What the epoch did so far."""
    report: EpochReport | None
    """The epoch's report, where this round was its last."""
    shares: tuple[Share, ...] = ()
    """Of a training by shards: how each worker spent the round, and how many draws it made (``amount``)."""
