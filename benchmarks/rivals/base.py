"""The interface of a rival: a method that is tuned within a budget of CPU seconds and fitted with some seeds."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from benchmarks.peers.base import Peer, Settings
from benchmarks.peers.race import tune
from vse_ens.data.annotations import Split

TUNED_FOR = "ndcg@10"
"""The metric by which settings are chosen: it rewards both a label within the first ten and a high rank."""
OURS = "ours"
"""The name of the default preset, also for ``--only``."""
RIVALS_EXTRA = '"vse-ens[rivals]"'


class Tuned(NamedTuple):
    """The chosen settings, and how many were tried in full or in part."""

    settings: Settings
    epochs: int
    tried: int


class Rival(Peer):
    """A method that takes part. The first settings of its grid are tried first."""

    deterministic: ClassVar[bool] = False
    """Whether all seeds give the same model, so that one is fitted."""
    measures: ClassVar[tuple[str, ...]] = ()
    """The parts of vse_ens that it is made of."""
    remark: ClassVar[str] = ""
    """What a reader has to know of this implementation."""

    def unfit(self, images: int, labels: int) -> str:  # noqa: ARG002  # few rivals use it
        """Return a sentence if it is not measured on data of this size, else an empty string."""
        return ""

    def tune(self, split: Split, budget: float) -> Tuned:
        """Choose settings and epochs on the held-out labels of ``split`` in about ``budget`` CPU seconds."""
        if len(self.grid) == 1:
            return Tuned(self.grid[0], self.epochs, 1)
        return Tuned(*tune(self, split, self.epochs, budget=budget, metric=TUNED_FOR))
