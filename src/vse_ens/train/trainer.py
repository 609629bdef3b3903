"""Epochs of rounds: what is trained in which order, what is measured, and which epoch is kept."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import METRICS, Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.splits import leave_one_out
from vse_ens.errors import DataError, TrainingError
from vse_ens.evaluate.means import mean_metrics
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.engine import Work, make_engine
from vse_ens.train.report import EpochReport
from vse_ens.train.rounds import EpochPlan
from vse_ens.train.state import initial_embeddings, padded, shared_tables
from vse_ens.train.stopping import EarlyStopping

# Of how many images a label is held out for validation: enough to see a difference of one point in recall, but never so
# many that what is left to learn from is another data set.
_VALIDATION_IMAGES = 4_000
_VALIDATION_SHARE = 0.2


@dataclass(frozen=True)
class Progress:
    """Where training stands after a round."""

    epoch: int
    rounds_done: int
    rounds: int
    work: Work
    """What the epoch did so far."""
    report: EpochReport | None
    """The epoch's report, where this round was its last."""


class Trainer:
    """Trains one model; its bytes depend on the configuration, the data and the seed alone.

        for report in Trainer(config, data).epochs():
            print(report.epoch, report.loss)

    The model is usable after every round; whoever drives the loop may stop between any two.
    """

    def __init__(self, config: Config, data: Annotations, workers: int | None = None) -> None:
        if not data.pairs:
            raise DataError("there is no pair to learn from")
        if len(data.labels) < 2:
            raise DataError(f"learning to rank needs two labels or more, got {len(data.labels)}")
        self.config = config
        self.history: list[EpochReport] = []
        self._known, self._held_out = data, None
        if config.validate:
            most = min(_VALIDATION_IMAGES, math.ceil(_VALIDATION_SHARE * len(data.images)))
            self._known, self._held_out = leave_one_out(data, config.seed, name="validation", most_images=most)
        self._data = data
        self._workers = workers
        self._stopping = EarlyStopping(config.patience)
        self._current = padded(initial_embeddings(config, data))
        self._best: Embeddings | None = None
        self._epoch, self._round, self._work = 0, 0, Work()

    @property
    def embeddings(self) -> Embeddings:
        """A copy of the model as it is: of the best epoch so far where there is validation, else of the last round."""
        return (self._best or self._current).widened(self.config.dimensions)

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or no more are worth doing."""
        return self._epoch >= self.config.epochs or self._stopping.exhausted

    @property
    def best_epoch(self) -> int:
        """The epoch that is kept, counted from 1."""
        return self._stopping.best_epoch if self.config.validate else self._epoch

    @property
    def best_validation(self) -> dict[str, float] | None:
        """The validation figures of the epoch that is kept."""
        found = self.history[self.best_epoch - 1].validation if self.config.validate and self.history else None
        # In one order, also after a checkpoint, which sorts names: the model card shows them.
        return {name: found[name] for name in METRICS} if found else None

    def epochs(self) -> Iterator[EpochReport]:
        """Train, and yield a report after every epoch."""
        for progress in self.rounds():
            if progress.report:
                yield progress.report

    def rounds(self) -> Iterator[Progress]:
        """Train, and yield after every round."""
        with Workers(self._workers) as workers:
            engine = make_engine(self.config, self._known, self._current, workers)
            while not self.finished:
                stream = Streams(self.config.seed).child("train", self._epoch)
                plan = EpochPlan.of(self._known, engine.schedule, stream)
                rate = self.learning_rate
                while self._round < plan.rounds:
                    self._work.add(engine.run_round(plan, self._round, rate))
                    self._check_finite()
                    self._round += 1
                    if self._round < plan.rounds:
                        yield Progress(self._epoch + 1, self._round, plan.rounds, self._work, None)
                work = self._work
                report = self._end_epoch()
                yield Progress(report.epoch, plan.rounds, plan.rounds, work, report)

    @property
    def learning_rate(self) -> float:
        """The learning rate of the epoch under way."""
        return self.config.learning_rate * self.config.learning_rate_decay**self._epoch

    def _end_epoch(self) -> EpochReport:
        rate = self.learning_rate
        validation = self._validate()
        self._epoch += 1
        if validation is not None and self._stopping.update(self._epoch, validation[self.config.metric]):
            self._best = self._current.copy()
        report = EpochReport.of(self._epoch, self._work, rate, validation)
        self.history.append(report)
        self._round, self._work = 0, Work()
        return report

    def _check_finite(self) -> None:
        # An image's vector that is not finite reaches the labels with its next step, so the shared tables tell for all.
        with np.errstate(over="ignore", invalid="ignore"):
            sums = [table.sum() for table in shared_tables(self._current)]
        if not np.isfinite(sums).all():
            raise TrainingError(
                f"training diverged in epoch {self._epoch + 1}: the vectors are no longer finite; "
                f"lower the learning rate ({self.config.learning_rate:g}) or raise the regularization "
                f"({self.config.regularization:g})"
            )

    def _validate(self) -> dict[str, float] | None:
        if self._held_out is None:
            return None
        current, features = self._current, self._data.features

        def scores_of(images: NDArray[np.int64]) -> NDArray[np.float32]:
            return current.scores(current.vectors(images, features))

        found = mean_metrics(scores_of, self._known, self._held_out, self._workers)
        return {name: found[name] for name in METRICS}

    # What a checkpoint holds: enough to go on from the end of any round to the same bytes.

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and plain JSON from which `restore` goes on."""
        arrays = {f"current.{name}": array for name, array in self._current.arrays().items()}
        if self._best:
            arrays |= {f"best.{name}": array for name, array in self._best.arrays().items()}
        work = self._work
        return arrays, {
            "config": self.config.to_dict(),
            "epoch": self._epoch,
            "round": self._round,
            "work": {
                "counts": work.counts.tolist(),
                "loss": work.loss,
                "seconds": work.seconds,
                "refresh_seconds": work.refresh_seconds,
            },
            "stopping": None
            if not self._stopping.best_epoch
            else {
                "best_value": self._stopping.best_value,
                "best_epoch": self._stopping.best_epoch,
                "waited": self._stopping.waited,
            },
            "history": [report.to_dict() for report in self.history],
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]], state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave, in a trainer of the same configuration and data."""

        def embeddings(prefix: str) -> Embeddings:
            # Copies: what was loaded is a read-only map of the file.
            return Embeddings.from_arrays(
                {name: np.array(arrays[f"{prefix}.{name}"]) for name in self._current.arrays()}
            )

        self._current = embeddings("current")
        self._epoch, self._round = state["epoch"], state["round"]
        work = state["work"]
        self._work = Work(np.array(work["counts"], np.int64), work["loss"], work["seconds"], work["refresh_seconds"])
        if state["stopping"]:
            self._stopping = EarlyStopping(self.config.patience, **state["stopping"])
            self._best = embeddings("best")
        names = {field.name for field in fields(EpochReport)}
        self.history = [
            EpochReport(**{name: value for name, value in report.items() if name in names})
            for report in state["history"]
        ]
