"""Training progress: a bar with the time left in a terminal, a line per epoch in a log."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.text import Text

from vse_ens.cli.console import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.live import Live

    from vse_ens.run.pool import WorkerTiming
    from vse_ens.train.progress import Progress

_LOG_INTERVAL_SECONDS = 2.0
_PLAIN_METRIC = "recall@10"
_BAR_WIDTH = 10


class TrainingProgress:
    """Callback of the trainer, called after every round; prints on standard error.

    Shows how much of the phase is done, the time left and one plain metric; with ``verbose``, also the loss, the
    violations, the speed and the ``metric`` of early stopping.
    """

    def __init__(self, console: Console, metric: str, *, verbose: bool = False) -> None:
        self._console = console
        self._metric = metric
        self._verbose = verbose
        self._final: bool | None = None
        self._live: Live | None = None
        self.shown = ""
        """The text in the terminal."""
        self._validation = ""
        self._last_logged = float("-inf")

    def __enter__(self) -> TrainingProgress:
        self._started, self._start_epochs = time.monotonic(), 0.0
        if self._console.is_terminal:
            # Imported here to keep `vse --help` quick.
            from rich.live import Live

            self._live = Live(console=self._console, transient=True, refresh_per_second=8)
            self._live.start()
            self._live.update(Text("compiling kernels (once, a few seconds) ..."))
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def __call__(self, progress: Progress) -> None:
        """Show the state after a round."""
        epochs_done = progress.epoch - 1 + progress.rounds_done / progress.rounds
        now = time.monotonic()
        if self._final != progress.final:
            # Measure the speed from here: the first round includes compile time, and a resumed run starts in the
            # middle.
            self._start_epochs, self._started = epochs_done, now
            self._final, self._validation = progress.final, ""
        report = progress.report
        if report is not None and report.validation:
            self._validation = self._validation_text(report.validation)
        remote = [timing for timing in progress.timings if timing.moving or timing.waiting]
        line = self._line(progress, epochs_done, now)
        if self._live:
            filled = round(_BAR_WIDTH * min(1.0, max(0.0, epochs_done / progress.epochs)))
            bar = f"{'━' * filled + '╌' * (_BAR_WIDTH - filled)} {line}"
            self.shown = "\n".join([bar, *(_timing_text(timing.name, [timing]) for timing in remote)])
            self._live.update(Text(self.shown))
        elif report is not None and (
            now - self._last_logged >= _LOG_INTERVAL_SECONDS or report.epoch == progress.epochs
        ):
            self._last_logged = now
            workers = f"  {_timing_text(f'{len(remote)} workers', remote)}" if remote else ""
            self._console.print(Text(line + workers), soft_wrap=True)

    def _validation_text(self, validation: dict[str, float]) -> str:
        if self._verbose:
            return f"  {self._metric} {validation[self._metric]:.4f}"
        return f"  {validation[_PLAIN_METRIC]:.0%} found in the first 10" if _PLAIN_METRIC in validation else ""

    def _line(self, progress: Progress, epochs_done: float, now: float) -> str:
        """Return the epoch, the validation metric and the time left, with the loss and the speed if verbose."""
        speed = (epochs_done - self._start_epochs) / (now - self._started) if now > self._started else 0.0
        seconds = (progress.epochs - epochs_done) / speed if speed else None
        if progress.final:
            epoch = f"epoch {progress.epoch}/{progress.epochs}"
            left = "? left" if seconds is None else f"{duration(seconds)} left"
        else:
            # Early stopping decides how many epochs there are.
            epoch = f"trial {progress.epoch}/{progress.epochs}"
            left = "at most ? left" if seconds is None else f"at most {duration(seconds)} left"
        return f"{epoch}{self._details(progress)}{self._validation}  {left}"

    def _details(self, progress: Progress) -> str:
        if not self._verbose:
            return ""
        from vse_ens.train.progress import EpochReport

        report = EpochReport.of(progress.epoch, progress.stats, 0.0)
        return (
            f"  loss {report.loss:.4f}  violations {report.violations / max(report.draws, 1):.0%}  "
            f"{report.draws_per_second / 1e6:.2f} M draws/s"
        )


def _timing_text(name: str, timings: Sequence[WorkerTiming]) -> str:
    """Return the speed of cluster workers and the shares of their time in a round."""
    seconds = {
        "computing": sum(timing.computing for timing in timings),
        "moving": sum(timing.moving for timing in timings),
        "waiting": sum(timing.waiting for timing in timings),
    }
    speed = sum(timing.amount / timing.seconds for timing in timings if timing.seconds)
    total = sum(seconds.values()) or 1.0
    shares = ", ".join(f"{spent / total:.0%} {kind}" for kind, spent in seconds.items())
    return f"{name}: {speed / 1e6:.2f} M draws/s, {shares}"
