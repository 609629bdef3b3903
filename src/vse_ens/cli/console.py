"""Console output: results on standard output, progress and notes on standard error."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console as RichConsole
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from vse_ens.cli.errors import Debug
from vse_ens.cli.terminal import PlainConsole, escape_control

if TYPE_CHECKING:
    from rich.progress import Progress as LiveProgress
    from rich.progress import TaskID

_SILENT_SECONDS = 1.0
_LOG_INTERVAL_SECONDS = 10.0


@dataclass
class Console:
    """Output options, an option group of every command, and the methods that print."""

    json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")] = False
    debug: Debug = False

    @cached_property
    def out(self) -> RichConsole:
        """Standard output, for results."""
        return PlainConsole(highlight=False)

    @cached_property
    def err(self) -> RichConsole:
        """Standard error, for progress, notes and logs."""
        return PlainConsole(stderr=True, highlight=False)

    def result(self, document: dict[str, Any] | list[Any], *parts: RenderableType) -> None:
        """Print ``document`` as JSON if ``--json`` was given, otherwise ``parts``."""
        if self.json:
            # Not through rich, which would wrap lines. JSON escapes some control characters itself.
            text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
            sys.stdout.write(escape_control(text, "\\u{:04x}") + "\n")
        else:
            self.text(*parts)

    def text(self, *text: RenderableType) -> None:
        """Print part of a result before the rest is known; nothing with ``--json``."""
        if not self.json:
            self.out.print(*text, sep="\n")
            sys.stdout.flush()  # a pipe would hold it back

    def finish(self, sentence: str, *following: object) -> None:
        """End a command in a terminal: a sentence on standard error, and the words of the next command to try.

        A script or a pipe gets neither.
        """
        if self.json or not self.err.is_terminal:
            return
        self.err.print(Text(sentence))
        if following:
            command = shlex.join(["vse", *map(str, following)])
            self.err.print(Text.assemble("next: ", (command, "bold")), soft_wrap=True)

    def note(self, text: str) -> None:
        """Print a note on standard error."""
        self.log(f"note: {text}")

    def log(self, text: str) -> None:
        """Print one line on standard error, without wrapping it."""
        self.err.print(Text(text), soft_wrap=True)

    @contextmanager
    def status(self, text: str) -> Iterator[None]:
        """Show a spinner in a terminal while work of unknown length runs."""
        if not self.err.is_terminal:
            yield
            return
        with self.err.status(Text(text)):
            yield

    def progress(self, task: str, total: int, unit: str) -> Progress:
        """Return a progress display, used as ``with console.progress(...) as progress: progress(count)``."""
        return Progress(self.err, task, total, unit)


class Progress:
    """Progress display: a live bar in a terminal, a line every ten seconds in a log, nothing for the first second.

    Call it with the count done so far, as often as convenient.
    """

    def __init__(self, console: RichConsole, task: str, total: int, unit: str) -> None:
        self._console = console
        self._task = task
        self._total = total
        self._unit = unit
        self._live: LiveProgress | None = None
        self._task_id: TaskID

    def __enter__(self) -> Progress:
        self._started = time.monotonic()
        self._last_logged = self._started
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, done: int) -> None:
        """Report that ``done`` of the total is done."""
        now = time.monotonic()
        if now - self._started < _SILENT_SECONDS:
            return
        rate = done / (now - self._started)
        if self._console.is_terminal:
            self._draw(done, rate)
        elif now - self._last_logged >= _LOG_INTERVAL_SECONDS:
            self._last_logged = now
            self._console.print(self.line(done, rate), soft_wrap=True)

    def line(self, done: int, rate: float) -> str:
        """Return the line for a log."""
        left = (self._total - done) / rate if rate else float("inf")
        return f"{self._task}: {done:,} of {self._total:,} {self._unit}, {rate:,.0f}/s, about {left:,.0f} s left"

    def _draw(self, done: int, rate: float) -> None:
        if self._live is None:
            # Imported here to keep `vse --help` quick.
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as LiveProgress

            self._live = LiveProgress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.completed:,} of {task.total:,} {task.fields[unit]}, {task.fields[rate]:,.0f}/s,"),
                TimeRemainingColumn(compact=True),
                TextColumn("left"),
                console=self._console,
                transient=True,
            )
            self._task_id = self._live.add_task(self._task, total=self._total, unit=self._unit, rate=rate)
            self._live.start()
        self._live.update(self._task_id, completed=done, rate=rate)


class ReadingProgress:
    """Progress of reading a file or a collection: a spinner until the number of files is known, then a bar."""

    def __init__(self, console: Console, path: object) -> None:
        self._console = console
        self._text = f"reading {path}"
        self._stack = ExitStack()
        self._progress: Progress | None = None

    def __enter__(self) -> ReadingProgress:
        self._stack.enter_context(self._console.status(self._text))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __call__(self, done: int, total: int | None) -> None:
        """Report the number of files read and the number of all files, if it is known."""
        if total is None:
            return
        if self._progress is None:
            self._stack.close()  # the spinner
            self._progress = self._stack.enter_context(self._console.progress(self._text, total, "files"))
        self._progress(done)


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    """Return a table of names and values that fits the terminal."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    return table


def columns(names: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()) -> Table:
    """Return a table with a header; columns named in ``numbers`` are right-aligned."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for name in names:
        table.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table
