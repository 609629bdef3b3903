"""Epochs of rounds: what is trained in which order, what is measured, and which epoch is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import METRICS, Config
from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError, DataError
from vse_ens.model.calibration import Calibration
from vse_ens.model.embeddings import Embeddings
from vse_ens.model.model import Model
from vse_ens.model.weights import LabelWeights
from vse_ens.run.pool import LocalPool, Pool
from vse_ens.run.threads import Workers
from vse_ens.train.auto_config import resolve_auto
from vse_ens.train.course import Course
from vse_ens.train.engines.base import RoundStats
from vse_ens.train.material import InMemory, Material
from vse_ens.train.progress import EpochReport, Progress
from vse_ens.train.tables import check_finite
from vse_ens.train.validation import EarlyStopping, Validator

# Where more of the pairs than this are held out, what is left is a poorer data set: the final model is trained on all.
WORTH_REFITTING = 0.02


class Trainer:
    """Trains one model; its bytes depend on the configuration, the data and the seed alone.

        for report in Trainer(config, data).epochs():
            print(report.epoch, report.loss)

    The model is usable after every round; whoever drives the loop may stop between any two. With ``validate``, labels
    are held out to find the best epoch; with ``refit`` the model is then trained anew on all pairs, for as many epochs.
    A model of several shards is trained in ``pool``, or in this process where none is given.
    """

    def __init__(
        self, config: Config, data: Annotations | Material, workers: int | None = None, pool: Pool | None = None
    ) -> None:
        material = InMemory(data) if isinstance(data, Annotations) else data
        known = material.known
        if not known.pairs:
            raise DataError("there is no pair to learn from")
        if len(known.labels) < 2:
            raise DataError(f"learning to rank needs two labels or more, got {len(known.labels)}")
        if pool is not None and config.shards < 2:
            raise ConfigError(
                "shards must be at least 2 on a cluster, and as many as it has cores to use them all: they are part of "
                f"the model; got {config.shards}"
            )
        material.check(config)
        self.config = config = resolve_auto(config, known)
        self.history: list[EpochReport] = []
        self._material = material
        self._workers = workers
        self._pool = pool
        self._course: Course | None = None
        self._judge: Validator | None = None
        self._part = material
        if config.validate:
            self._part, trial = material.hold_out(config)
            self._judge = Validator(config, trial, self._learner(self._part), workers)
        self._stopping = EarlyStopping(config.patience)
        self._home = material.home(config)
        self._start()
        self._best: Embeddings | None = None
        self._memory_weight = 0.0
        self._memory: LabelWeights | None = None
        self._refitting = False
        self._epoch, self._round, self._work = 0, 0, RoundStats()

    def _start(self) -> None:
        """From the beginning, with the pairs of the part."""
        with self._some_pool() as pool:
            self._current = self._part.start(self.config, pool)
        self._home.begin(self._current)

    @contextmanager
    def _some_pool(self) -> Iterator[Pool]:
        """For counting: where the shards train, or here."""
        if self._pool:
            yield self._pool
            return
        with Workers(self._workers) as workers:
            yield LocalPool(workers)

    def _learner(self, material: Material) -> Callable[[float], LabelWeights]:
        def learn(regularization: float) -> LabelWeights:
            with self._some_pool() as pool:
                return material.memory(regularization, pool)

        return learn

    @property
    def known(self) -> Annotations:
        """The pairs that the model knows when it is done."""
        return self._material.known

    @property
    def embeddings(self) -> Embeddings:
        """A copy of the vectors: of the best epoch so far where there is validation, else of the last round; those of a
        training anew on all pairs once that is done.
        """
        self._settle()
        unfinished = self._refitting and not self.finished
        if self._best and (unfinished or not self._refitting):
            return self._home.whole(self._best, self.config.dimensions, best=True)
        return self._home.whole(self._current, self.config.dimensions)

    @property
    def model(self) -> Model:
        """All that scores, as it is: the vectors, and the memory of all pairs."""
        return Model(self.embeddings, self._learn_memory(), self._memory_weight)

    @property
    def calibration(self) -> Calibration | None:
        """What turns scores into confidences, where labels were held out to learn it from."""
        if not self._judge or not self._best:
            return None
        return self._judge.calibration(self._tried(self._best, best=True), self._memory_weight, self._pool)

    def _tried(self, embeddings: Embeddings, best: bool = False) -> Embeddings:
        """The same with the vectors of the judge's images alone."""
        if not self._judge or not self.config.has_ids:
            return embeddings
        return replace(embeddings, image_vectors=self._home.rows(embeddings, self._judge.trial.images, best))

    @property
    def label_weights_regularization(self) -> float | None:
        """lambda of the memory, where there is one."""
        return self._judge.regularization if self._judge and self.config.label_weights else None

    def _learn_memory(self) -> LabelWeights | None:
        if self._memory is None and self._memory_weight and self.label_weights_regularization:
            self._memory = self._learner(self._material)(self.label_weights_regularization)
        return self._memory

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or no more are worth doing."""
        return self._part_done() and (self._refitting or not self._worth_refitting)

    def _part_done(self) -> bool:
        return self._epoch >= self._planned or (not self._refitting and self._stopping.exhausted)

    @property
    def _planned(self) -> int:
        return self._stopping.best_epoch if self._refitting else self.config.epochs

    @property
    def _worth_refitting(self) -> bool:
        if not self._judge or not self.config.refit:
            return False
        return len(self._judge.trial.images) > WORTH_REFITTING * self.known.pairs

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
            while not self.finished:
                yield from self._train_part(workers)

    def _train_part(self, workers: Workers) -> Iterator[Progress]:
        """Train on what is not held out, or on all pairs, to the end."""
        current = self._current
        course = self._course = self._part.course(self.config, current, self._home, workers, self._pool)
        final = self._refitting or not self._worth_refitting

        def progress(rounds: int, work: RoundStats, report: EpochReport | None) -> Progress:
            number, done = (report.epoch, rounds) if report else (self._epoch + 1, self._round)
            return Progress(number, done, rounds, self._planned, final, work, report, course.timings)

        while not self._part_done() and self._current is current:
            rounds = course.begin(self._epoch)
            rate = self.learning_rate
            while self._round < rounds:
                self._work.add(course.run_round(self._round, rate))
                check_finite(self.config, self._current, self._epoch)
                self._round += 1
                if self._round < rounds:
                    yield progress(rounds, self._work, None)
            done = self._work
            report = self._end_epoch()
            last = progress(rounds, done, report)
            if self._part_done():
                self._settle()
                self._course = None
                if not self.finished:
                    self._start_anew()
            yield last

    def _settle(self) -> None:
        """See to it that the vectors are whole."""
        if self._course:
            self._course.settle()

    def _start_anew(self) -> None:
        """From the beginning, with all pairs."""
        self._refitting, self._part, self._epoch = True, self._material, 0
        self._start()

    @property
    def learning_rate(self) -> float:
        """The learning rate of the epoch under way."""
        return self.config.learning_rate * self.config.learning_rate_decay**self._epoch

    def _end_epoch(self) -> EpochReport:
        rate = self.learning_rate
        if self._judge and not self._refitting:
            self._settle()
        judgement = self._judge.judge(self._tried(self._current)) if self._judge and not self._refitting else None
        validation = judgement.metrics if judgement else None
        self._epoch += 1
        if judgement and self._stopping.update(self._epoch, judgement.metrics[self.config.metric]):
            self._best, self._memory_weight = self._current.copy(), judgement.label_weights_scale
            self._home.keep()
        report = EpochReport.of(self._epoch, self._work, rate, validation)
        self.history.append(report)
        self._round, self._work = 0, RoundStats()
        return report

    # What a checkpoint holds: enough to go on from the end of any round to the same bytes.

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and plain JSON from which `restore` goes on."""
        self._settle()
        arrays = {f"current.{name}": array for name, array in self._current.arrays().items()}
        if self._best:
            arrays |= {f"best.{name}": array for name, array in self._best.arrays().items()}
        work = self._work
        return arrays, {
            "config": self.config.to_dict(),
            "epoch": self._epoch,
            "round": self._round,
            "refitting": self._refitting,
            "memory": None
            if not self._judge or not self.config.label_weights
            else {
                "regularization": self._judge.regularization,
                "weight": self._memory_weight,
                "next_weight": self._judge.weight,
            },
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
            "home": self._home.state(),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]], state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave, in a trainer of the same configuration and data."""

        def embeddings(prefix: str) -> Embeddings:
            # Copies: what was loaded is a read-only map of the file.
            return Embeddings.from_arrays(
                {name: np.array(arrays[f"{prefix}.{name}"]) for name in self._current.arrays()}
            )

        self._current = embeddings("current")
        self._home.begin(self._current)
        self._home.restore(state["home"])
        self._epoch, self._round = state["epoch"], state["round"]
        if state["refitting"]:
            self._refitting, self._part = True, self._material
        if self._judge and state["memory"]:
            self._judge.regularization = state["memory"]["regularization"]
            self._judge.weight = state["memory"]["next_weight"]
            self._memory_weight = state["memory"]["weight"]
        work = state["work"]
        self._work = RoundStats(
            np.array(work["counts"], np.int64), work["loss"], work["seconds"], work["refresh_seconds"]
        )
        if state["stopping"]:
            self._stopping = EarlyStopping(self.config.patience, **state["stopping"])
            self._best = embeddings("best")
        names = {field.name for field in fields(EpochReport)}
        self.history = [
            EpochReport(**{name: value for name, value in report.items() if name in names})
            for report in state["history"]
        ]
