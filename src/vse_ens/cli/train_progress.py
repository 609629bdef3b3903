"""Training progress: one live line in a terminal, a line per epoch in a log."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.text import Text

from vse_ens.cli.formatting import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.live import Live

    from vse_ens.run.pool import WorkerTiming
    from vse_ens.train.progress import Progress

_LOG_INTERVAL_SECONDS = 2.0


class TrainingProgress:
    """Callback of the trainer, called after every round; prints on standard error."""

    def __init__(self, console: Console, metric: str) -> None:
        self._console = console
        self._metric = metric
        self._final: bool | None = None
        self._live: Live | None = None
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
            self._validation = f"  {self._metric} {report.validation[self._metric]:.4f}"
        remote = [timing for timing in progress.timings if timing.moving or timing.waiting]
        line = self._line(progress, epochs_done, now)
        if self._live:
            self._live.update(Text("\n".join([line, *(_timing_text(timing.name, [timing]) for timing in remote)])))
        elif report is not None and (
            now - self._last_logged >= _LOG_INTERVAL_SECONDS or report.epoch == progress.epochs
        ):
            self._last_logged = now
            workers = f"  {_timing_text(f'{len(remote)} workers', remote)}" if remote else ""
            self._console.print(Text(line + workers), soft_wrap=True)

    def _line(self, progress: Progress, epochs_done: float, now: float) -> str:
        """Return epoch, loss, violations, draws per second, validation metric and time left."""
        from vse_ens.train.progress import EpochReport

        report = EpochReport.of(progress.epoch, progress.stats, 0.0)
        if progress.final:
            speed = (epochs_done - self._start_epochs) / (now - self._started) if now > self._started else 0.0
            epoch = f"epoch {progress.epoch}/{progress.epochs}"
            left = f"{duration((progress.epochs - epochs_done) / speed)} left" if speed else "? left"
        else:
            # Early stopping decides how many epochs there are, so the time left is unknown.
            epoch, left = f"validation epoch {progress.epoch} of at most {progress.epochs}", "then final training"
        return (
            f"{epoch}  loss {report.loss:.4f}  violations {report.violations / max(report.draws, 1):.0%}  "
            f"{report.draws_per_second / 1e6:.2f} M draws/s{self._validation}  {left}"
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
