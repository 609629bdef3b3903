"""Callbacks of a training: called at its start, after every epoch and at its end; they may stop it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from vse_ens.config import Config
from vse_ens.errors import ConfigError
from vse_ens.train.progress import EpochReport


class FittedModel(Protocol):
    """What a callback may use of a fitted `vse_ens.Annotator`; it is given the whole object."""

    training_: dict[str, Any]
    validation_: dict[str, float] | None

    def save(self, path: str | Path) -> None:
        """Write the model directory."""


class Callback:
    """The base class of callbacks: override the methods that you need.

    A callback runs between two rounds, in the thread that called `fit`. If it raises, a checkpoint is written if there
    is one, `on_fit_error` of the other callbacks is called, and `fit` raises the error.
    """

    def on_fit_start(self, config: Config, data: Mapping[str, int]) -> None:
        """Handle the start: the complete settings, and the numbers of ``images``, ``labels`` and ``pairs``."""

    def on_epoch(self, epoch: int, metrics: Mapping[str, float]) -> bool | None:
        """Handle the end of an epoch; return True to stop the training and keep the model so far.

        ``epoch`` counts from 1, also through the final training on all pairs and after a resume. ``metrics`` are
        those of `epoch_metrics`.
        """

    def on_fit_end(self, model: FittedModel) -> None:
        """Handle the end of a training, complete or stopped: ``model`` is the fitted Annotator."""

    def on_fit_error(self, error: BaseException) -> None:
        """Handle an error that ended the training, such as divergence or a second Ctrl-C."""


def epoch_metrics(report: EpochReport) -> dict[str, float]:
    """Return the numbers of an epoch by name; those on held-out labels have names such as ``validation/recall@10``."""
    metrics = {
        "loss": report.loss,
        "learning_rate": report.learning_rate,
        "draws": float(report.draws),
        "violations": report.violations / max(report.draws, 1),
        "tries_per_draw": report.tries_per_draw,
        "seconds": report.seconds,
        "draws_per_second": report.draws_per_second,
    }
    return metrics | {f"validation/{name}": value for name, value in (report.validation or {}).items()}


class CallbackList:
    """The callbacks of one training, called in order."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        for one in callbacks:
            if not isinstance(one, Callback):
                raise ConfigError(f"callbacks must be objects of vse_ens.train.callbacks.Callback, got {one!r}")
        self._callbacks = callbacks

    def start(self, config: Config, *, images: int, labels: int, pairs: int) -> None:
        """Call `on_fit_start` of all."""
        for one in self._callbacks:
            one.on_fit_start(config, {"images": images, "labels": labels, "pairs": pairs})

    def epoch(self, history: Sequence[EpochReport]) -> bool:
        """Call `on_epoch` of all, also after one of them asked to stop; return whether any did."""
        metrics = epoch_metrics(history[-1]) if self._callbacks else {}
        answers = [one.on_epoch(len(history), metrics) for one in self._callbacks]
        return any(isinstance(answer, bool | np.bool_) and answer for answer in answers)

    def end(self, model: FittedModel) -> None:
        """Call `on_fit_end` of all, even if one raises; then raise the first error."""
        errors: list[Exception] = []
        for one in self._callbacks:
            try:
                one.on_fit_end(model)
            except Exception as error:  # noqa: BLE001  # raised below
                errors.append(error)
        if errors:
            raise errors[0]

    def error(self, error: BaseException) -> None:
        """Call `on_fit_error` of all; what they raise themselves is attached to the error as a note."""
        for one in self._callbacks:
            try:
                one.on_fit_error(error)
            except Exception as own:  # noqa: BLE001  # the first error is the one to see
                error.add_note(f"{type(one).__name__}.on_fit_error raised {type(own).__name__}: {own}")
