"""Training as it goes: one live line in a terminal, a line an epoch in a log."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

from vse_ens.cli.console import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vse_ens.run.pool import WorkerTiming
    from vse_ens.train.progress import Progress

_LOG_EVERY_SECONDS = 2.0


class TrainingProgress:
    """Called after every round; speaks on standard error."""

    def __init__(self, console: Console, metric: str) -> None:
        self._console = console
        self._metric = metric
        self._final: bool | None = None
        self._live = Live(console=console, transient=True, refresh_per_second=8) if console.is_terminal else None
        self._figures = ""
        self._logged = float("-inf")

    def __enter__(self) -> TrainingProgress:
        self._began, self._first = time.monotonic(), 0.0
        if self._live:
            self._live.start()
            self._live.update(Text("compiling kernels (a few seconds, once) ..."))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def __call__(self, progress: Progress) -> None:
        """Show where training stands."""
        done = progress.epoch - 1 + progress.rounds_done / progress.rounds
        now = time.monotonic()
        if self._final != progress.final:
            # The first round compiled its kernels, and a resumed run starts in the middle: neither tells the pace.
            self._first, self._began = done, now
            self._final, self._figures = progress.final, ""
        report = progress.report
        if report is not None and report.validation:
            self._figures = f"  {self._metric} {report.validation[self._metric]:.4f}"
        elsewhere = [share for share in progress.timings if share.moving or share.waiting]
        if self._live:
            lines = [self.line(progress, done, now), *(_spent(share.name, [share]) for share in elsewhere)]
            self._live.update(Text("\n".join(lines)))
        elif report is not None and (now - self._logged >= _LOG_EVERY_SECONDS or report.epoch == progress.epochs):
            self._logged = now
            spent = f"  {_spent(f'{len(elsewhere)} workers', elsewhere)}" if elsewhere else ""
            self._console.print(Text(self.line(progress, done, now) + spent), soft_wrap=True)

    def line(self, progress: Progress, done: float, now: float) -> str:
        """Epoch, loss, violations, draws a second, validation metric, time left."""
        from vse_ens.train.progress import EpochReport

        report = EpochReport.of(progress.epoch, progress.work, 0.0)
        pace = (done - self._first) / (now - self._began) if now > self._began else 0.0
        left = f"{duration((progress.epochs - done) / pace)} left" if pace else "? left"
        if progress.final:
            where = f"epoch {progress.epoch}/{progress.epochs}"
        else:
            # How long it takes to see that no epoch is better any more is not known.
            where, left = f"trial epoch {progress.epoch} of at most {progress.epochs}", "then the final training"
        return (
            f"{where}  loss {report.loss:.4f}  violations {report.violations / max(report.draws, 1):.0%}  "
            f"{report.draws_per_second / 1e6:.2f} M draws/s{self._figures}  {left}"
        )


def _spent(who: str, shares: Sequence[WorkerTiming]) -> str:
    """How workers of a cluster spent a round."""
    seconds = {kind: sum(getattr(share, kind) for share in shares) for kind in ("computing", "moving", "waiting")}
    speed = sum(share.amount / share.seconds for share in shares if share.seconds)
    every = sum(seconds.values()) or 1.0
    spent = ", ".join(f"{one / every:.0%} {kind}" for kind, one in seconds.items())
    return f"{who}: {speed / 1e6:.2f} M draws/s, {spent}"
