"""One shard: its pairs, its rows of the image table, and an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.engine import Work
from vse_ens.train.engines import make_engine
from vse_ens.train.rounds import EpochPlan
from vse_ens.train.shards.changes import Changes, Piece, changes_between, fill, shared_tables


class Shard:
    """Trains its own images on tables that others train too.

    ``embeddings`` hold the rows of its own images; the shared tables in them are filled at the start of every stretch,
    and may be those of other shards of this process.
    """

    def __init__(
        self, config: Config, number: int, data: Annotations, embeddings: Embeddings, workers: Workers
    ) -> None:
        self._config = config
        self._number = number
        self._data = data
        self._embeddings = embeddings
        self._engine = make_engine(config, data, embeddings, workers)
        self._planned: tuple[int, int, EpochPlan] | None = None

    def run(
        self, pieces: Sequence[Piece], epoch: int, stretch: int, stretches: int, learning_rate: float
    ) -> tuple[list[Changes], Work]:
        """Train one of the equal stretches of an epoch: what it did to each piece of the shared tables, and what it
        took.
        """
        working = shared_tables(self._embeddings)
        for piece in pieces:
            fill(working, piece)
        self._engine.tables_changed()
        plan = self._plan(epoch, stretches)
        work = Work()
        for place in range(plan.rounds * stretch // stretches, plan.rounds * (stretch + 1) // stretches):
            work.add(self._engine.run_round(plan, place, learning_rate))
        return [changes_between(piece, working) for piece in pieces], work

    def _plan(self, epoch: int, stretches: int) -> EpochPlan:
        """Every stretch has one of the engine's rounds at least."""
        if self._planned is None or self._planned[:2] != (epoch, stretches):
            schedule = self._engine.schedule
            shortened = replace(schedule, round_draws=max(1, min(schedule.round_draws, self._data.pairs // stretches)))
            stream = Streams(self._config.seed).child("train", epoch, "shard", self._number)
            self._planned = epoch, stretches, EpochPlan.of(self._data, shortened, stream)
        return self._planned[2]

    @property
    def image_vectors(self) -> Floats:
        """The rows of its own images; none where the tower has no ids."""
        return self._embeddings.image_vectors
