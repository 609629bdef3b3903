"""Where a command speaks: the result to standard output, everything else to standard error.

How far the work is: a live bar in a terminal, a line now and then in a log, nothing for work under a second.

Numbers as people say them.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Annotated, Any

import typer
from rich.console import Console as RichConsole
from rich.console import RenderableType
from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Live
from rich.table import Table
from rich.text import Text

from vse_ens.cli.errors import Debug


@dataclass
class Console:
    """The option group of every command: how it answers."""

    json: Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, on stdout.")] = False
    debug: Debug = False

    @cached_property
    def out(self) -> RichConsole:
        """Standard output, for the result."""
        return RichConsole(highlight=False)

    @cached_property
    def err(self) -> RichConsole:
        """Standard error, for progress, notes and logs."""
        return RichConsole(stderr=True, highlight=False)

    def result(self, document: dict[str, Any] | list[Any], *shown: RenderableType) -> None:
        """Print what the command found: ``document`` for a machine where ``--json`` was asked, else ``shown``."""
        if self.json:
            # Not through rich, which would wrap it.
            sys.stdout.write(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2) + "\n")
        else:
            self.out.print(*shown, sep="\n")

    def say(self, text: str) -> None:
        """One line on standard error: a note, or what is being done."""
        self.err.print(Text(text), soft_wrap=True)

    @contextmanager
    def busy(self, doing: str) -> Iterator[None]:
        """Show that something is being done that cannot tell how far it is; only a terminal sees it."""
        if not self.err.is_terminal:
            yield
            return
        with self.err.status(Text(doing)):
            yield

    def progress(self, doing: str, total: int, unit: str) -> Progress:
        """Show how far a piece of work is, as ``with screen.progress(...) as done: done(count)``."""
        return Progress(self.err, doing, total, unit)


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    """A table of names and what they are, as wide as the terminal at most."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(name, Text(text))
    return table


def columns(names: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()) -> Table:
    """A table with a heading; the columns named in ``numbers`` are set flush right."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for name in names:
        table.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


_QUIET_SECONDS = 1.0
_LOG_EVERY_SECONDS = 10.0


class Progress:
    """Call it with the count done so far; it decides when to speak."""

    def __init__(self, console: RichConsole, doing: str, total: int, unit: str) -> None:
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


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, with what matters of each."""
    whole = round(seconds)
    if seconds < 10:
        return f"{seconds:.1f} s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
