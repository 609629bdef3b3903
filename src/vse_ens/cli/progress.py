"""How far the work is: a live bar in a terminal, a line now and then in a log, nothing for work under a second."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Live

_QUIET_SECONDS = 1.0
_LOG_EVERY_SECONDS = 10.0


class Progress:
    """Call it with the count done so far; it decides when to speak."""

    def __init__(self, console: Console, doing: str, total: int, unit: str) -> None:
        self._console = console
        self._doing = doing
        self._total = total
        self._unit = unit
        self._live: Live | None = None
        self._task = TaskID(0)

    def __enter__(self) -> Progress:
        self._began = time.monotonic()
        self._spoke = self._began
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, done: int) -> None:
        """Tell that ``done`` of the total is done."""
        now = time.monotonic()
        if now - self._began < _QUIET_SECONDS:
            return
        rate = done / (now - self._began)
        if self._console.is_terminal:
            self._draw(done, rate)
        elif now - self._spoke >= _LOG_EVERY_SECONDS:
            self._spoke = now
            self._console.print(self.line(done, rate), soft_wrap=True)

    def line(self, done: int, rate: float) -> str:
        """What a log shows."""
        left = (self._total - done) / rate if rate else float("inf")
        return (
            f"{self._doing}: {done:,} of {self._total:,} {self._unit}, {rate:,.0f} a second, about {left:,.0f} s left"
        )

    def _draw(self, done: int, rate: float) -> None:
        if self._live is None:
            self._live = Live(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn(
                    "{task.completed:,} of {task.total:,} {task.fields[unit]}, {task.fields[rate]:,.0f} a second,"
                ),
                TimeRemainingColumn(compact=True),
                TextColumn("left"),
                console=self._console,
                transient=True,
            )
            self._task = self._live.add_task(self._doing, total=self._total, unit=self._unit, rate=rate)
            self._live.start()
        self._live.update(self._task, completed=done, rate=rate)
