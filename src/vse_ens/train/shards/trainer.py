"""Training on pairs that are sorted out by shard: neither they nor the image vectors are ever in one place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.partition import Partition
from vse_ens.errors import ConfigError, DataError
from vse_ens.evaluate.calibration import Calibration
from vse_ens.model.embeddings import Floats
from vse_ens.model.model import Model
from vse_ens.run.pool import Plain, Pool
from vse_ens.train.engine import Work
from vse_ens.train.finite import check_finite
from vse_ens.train.progress import Progress
from vse_ens.train.report import EpochReport
from vse_ens.train.shape import suited
from vse_ens.train.shards.changes import shared_tables
from vse_ens.train.shards.course import ShardedCourse
from vse_ens.train.shards.homes import FolderHome, read_rows
from vse_ens.train.state import initial_tables, padded

# Rows of the image table that are put in order at a time.
_ROWS_AT_ONCE = 1 << 16


class PartitionTrainer:
    """Trains one model by the shards of a partition; the same bytes as a `Trainer` of as many shards on the same pairs.

    ``folder`` is on storage that all workers share. The images' own vectors go there, a file a shard, whenever the
    training is put aside, and once more at the end.
    """

    calibration: Calibration | None = None
    memory_regularization: float | None = None
    best_validation: dict[str, float] | None = None

    def __init__(self, config: Config, partition: Partition, pool: Pool, folder: Path) -> None:
        _check(config, partition)
        self.known: Annotations = partition.known
        if len(self.known.labels) < 2:
            raise DataError(f"learning to rank needs two labels or more, got {len(self.known.labels)}")
        self.config = config = suited(config.override(combinations=0), self.known)
        self.history: list[EpochReport] = []
        self._partition = partition
        self._pool = pool
        self._folder = folder
        self._home = FolderHome(folder)
        self._current = padded(initial_tables(config, self.known))
        self._course: ShardedCourse | None = None
        self._epoch, self._round, self._work = 0, 0, Work()

    @property
    def finished(self) -> bool:
        """Whether all epochs are done."""
        return self._epoch >= self.config.epochs

    @property
    def best_epoch(self) -> int:
        """The epoch that is kept: the last."""
        return self._epoch

    def rounds(self) -> Iterator[Progress]:
        """Train, and yield after every round."""
        config, pairs = self.config, self._partition.counts.pairs
        course = ShardedCourse(config, pairs, self._current, self._pool, list(self._parts()), self._home)
        self._course = course
        while not self.finished:
            rounds = course.begin(self._epoch)
            rate = config.learning_rate * config.learning_rate_decay**self._epoch
            for number in range(self._round, rounds):
                self._work.add(course.run_round(number, rate))
                check_finite(config, self._current, self._epoch)
                self._round = number + 1
                epoch, work = self._epoch + 1, self._work
                report = self._end_epoch(rate) if self._round == rounds else None
                yield Progress(epoch, number + 1, rounds, config.epochs, True, work, report, course.shares)

    def _end_epoch(self, rate: float) -> EpochReport:
        self._epoch += 1
        report = EpochReport.of(self._epoch, self._work, rate)
        self.history.append(report)
        self._round, self._work = 0, Work()
        return report

    def _parts(self) -> Iterator[Plain]:
        for shard in range(self.config.shards):
            begun = self._home.states[shard] if self._home.states else {}
            yield {"partition": str(self._partition.folder), **begun}

    # --- what was learnt ---

    @cached_property
    def model(self) -> Model:
        """All that scores; the images' own vectors are mapped from a file in the folder. To be asked for at the end."""
        if self._course:
            self._course.settle()
        tables = self._current.widened(self.config.dimensions)
        if not self.config.has_ids:
            return Model(tables)
        return Model(replace(tables, image_vectors=self._assembled()))

    def _assembled(self) -> Floats:
        """The rows of all shards in the order of images, in one file."""
        images, shards = len(self.known.images), self.config.shards
        path = self._folder / "image_vectors.npy"
        rows = [read_rows(state["path"]) for state in self._home.states]
        table = np.lib.format.open_memmap(path, "w+", np.float32, (images, self.config.dimensions))
        for first in range(0, images, _ROWS_AT_ONCE * shards):
            block = table[first : first + _ROWS_AT_ONCE * shards]
            for shard, own in enumerate(rows):
                target = block[shard::shards]
                start = first // shards
                target[:] = own[start : start + len(target), : self.config.dimensions]
            table.flush()
        return np.asarray(np.load(path, mmap_mode="r"))

    # --- putting aside and going on ---

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and plain JSON from which `restore` goes on; the rows of the shards stay in their files."""
        if self._course:
            self._course.settle()
        self._home.pin()
        work = self._work
        return dict(shared_tables(self._current)), {
            "config": self.config.to_dict(),
            "epoch": self._epoch,
            "round": self._round,
            "rows": [state["path"] for state in self._home.states],
            "work": {
                "counts": work.counts.tolist(),
                "loss": work.loss,
                "seconds": work.seconds,
                "refresh_seconds": work.refresh_seconds,
            },
            "history": [report.to_dict() for report in self.history],
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]], state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave."""
        for name, table in shared_tables(self._current).items():
            np.copyto(table, arrays[name])
        missing = next((path for path in state["rows"] if not Path(path).exists()), None)
        if missing:
            raise DataError(f"{missing}, which the checkpoint names, is gone; start without --resume")
        self._home.states = [{"path": path} for path in state["rows"]]
        self._home.pin()
        self._epoch, self._round = state["epoch"], state["round"]
        work = state["work"]
        self._work = Work(np.array(work["counts"], np.int64), work["loss"], work["seconds"], work["refresh_seconds"])
        names = {field.name for field in fields(EpochReport)}
        self.history = [
            EpochReport(**{name: value for name, value in report.items() if name in names})
            for report in state["history"]
        ]


def _check(config: Config, partition: Partition) -> None:
    if config.shards != partition.counts.shards:
        raise ConfigError(
            f"shards must be {partition.counts.shards}, as {partition.folder} was made for, got {config.shards}"
        )
    if config.shards > partition.counts.images:
        raise ConfigError(f"shards must be no more than the {partition.counts.images} images, got {config.shards}")
    if config.validate or config.combinations > 0 or config.has_features:
        what = "validate" if config.validate else "combinations" if config.combinations > 0 else f"tower {config.tower}"
        raise ConfigError(
            f"{what} needs all pairs in one place, and a folder of parts is trained shard by shard; leave it out, or "
            "give one file of pairs"
        )
