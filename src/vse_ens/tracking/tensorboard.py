"""A training as event files of TensorBoard."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vse_ens.tracking.tracker import Tracker, load_library


class TensorBoardTracker(Tracker):
    """Writes event files that ``tensorboard --logdir FOLDER`` shows; the model is saved in ``FOLDER/model``.

        model.fit(data, callbacks=[TensorBoardTracker("runs/first")])

    The settings are hyperparameters of the view HPARAMS. Give every training a folder of its own.
    """

    title = "TensorBoard"

    def __init__(self, folder: str | Path) -> None:
        super().__init__()
        self.folder = Path(folder)

    def start(self, parameters: Mapping[str, Any]) -> None:
        """Start an event file with all settings and the size of the data."""
        writers = load_library("tensorboard.summary.writer.event_file_writer", "tensorboard", self.title)
        hparams = load_library("tensorboard.plugins.hparams.summary_v2", "tensorboard", self.title)
        self._event = load_library("tensorboard.compat.proto.event_pb2", "tensorboard", self.title).Event
        self._summary = load_library("tensorboard.compat.proto.summary_pb2", "tensorboard", self.title).Summary
        self._writer = writers.EventFileWriter(str(self.folder))
        self._add(hparams.hparams_pb(dict(parameters)), 0)

    def log(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Record metrics of an epoch."""
        values = [self._summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
        self._add(self._summary(value=values), epoch)

    def save_model(self, save: Callable[[Path], None]) -> None:
        """Save the model in the folder of the run."""
        save(self.folder / "model")

    def finish(self, failed: bool) -> None:  # noqa: ARG002  # an event file has no such state
        """Close the event file."""
        self._writer.close()

    def _add(self, summary: Any, step: int) -> None:
        self._writer.add_event(self._event(summary=summary, step=step, wall_time=time.time()))
        self._writer.flush()
