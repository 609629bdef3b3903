"""Console output: results on standard output, progress and notes on standard error."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console as RichConsole
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from vse_ens.cli.errors import DEBUG_HELP, set_debug
from vse_ens.cli.parameters import Option

if TYPE_CHECKING:
    from rich.progress import Progress as LiveProgress

    from vse_ens.curate.explain import Reason

_SILENT_SECONDS = 1.0
_LOG_INTERVAL_SECONDS = 10.0


# All control characters except tab and line feed, and the characters that reverse the direction of text.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class PlainConsole(RichConsole):
    """A console that shows control characters instead of sending them; styles and live displays still work.

    IDs, labels and file names may contain any characters. An escape sequence among them could clear the screen, change
    the title of the window, or rewrite lines that were printed before.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Return the segments of what is printed, with control characters as escapes such as ``\\x1b``."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(escape_control(segment.text), segment.style)


_MAX_CELL = 1_000  # characters


def escape_control(text: str, form: str = "\\x{:02x}") -> str:
    """Return a text with its control characters as escapes."""
    return _CONTROL.sub(lambda match: (form if ord(match[0]) < 256 else "\\u{:04x}").format(ord(match[0])), text)


@dataclass
class Console:
    """Output options, an option group of every command, and the methods that print."""

    json: Annotated[bool, Option("Print one JSON document on stdout and nothing else.", name="--json")] = False
    debug: Annotated[bool, Option(DEBUG_HELP, callback=set_debug)] = False

    @cached_property
    def out(self) -> RichConsole:
        """Standard output, for results."""
        return PlainConsole(highlight=False)

    @cached_property
    def err(self) -> RichConsole:
        """Standard error, for progress, notes and logs."""
        return PlainConsole(stderr=True, highlight=False)

    def result(self, document: dict[str, Any] | list[Any], *parts: RenderableType) -> None:
        """Print ``document``, which may contain paths, as JSON if ``--json`` was given, otherwise ``parts``."""
        if self.json:
            # Not through rich, which would wrap lines. JSON escapes some control characters itself.
            text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2, default=os.fspath)
            sys.stdout.write(escape_control(text, "\\u{:04x}") + "\n")
        else:
            self.text(*parts)

    def text(self, *text: RenderableType) -> None:
        """Print part of a result before the rest is known; nothing with ``--json``."""
        if not self.json:
            self.out.print(*text, sep="\n")
            sys.stdout.flush()  # a pipe would hold it back

    def line(self, text: str) -> None:
        """Print part of a result in one line: a long path must not be broken where people copy it."""
        if not self.json:
            self.out.print(Text(text), soft_wrap=True)

    def finish(self, message: str, *following: object) -> None:
        """End a command in a terminal: a message on standard error, and the next command to try.

        A script or a pipe gets neither.
        """
        if self.json or not self.err.is_terminal:
            return
        self.err.print(Text(message))
        if following:
            command = shlex.join(["vse", *map(str, following)])
            self.err.print(Text.assemble("next: ", (command, "bold")), soft_wrap=True)

    def note(self, text: str) -> None:
        """Print a note on standard error."""
        self.log(f"note: {text}")

    def notes(self, notes: Iterable[str]) -> None:
        """Print notes on standard error."""
        for note in notes:
            self.note(note)

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


@dataclass
class Progress:
    """Progress display: a live bar in a terminal, a line every ten seconds in a log, nothing for the first second.

    Call it with the count done so far, as often as convenient.
    """

    console: RichConsole
    task: str
    total: int
    unit: str
    _live: LiveProgress | None = None

    def __enter__(self) -> Progress:
        self._started = time.monotonic()
        self._last_logged = self._started
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, done: int) -> None:
        """Report that ``done`` of the total is done."""
        now = time.monotonic()
        if now - self._started < _SILENT_SECONDS:
            return
        rate = done / (now - self._started)
        if self.console.is_terminal:
            self._draw(done, rate)
        elif now - self._last_logged >= _LOG_INTERVAL_SECONDS:
            self._last_logged = now
            self.console.print(self.line(done, rate), soft_wrap=True)

    def line(self, done: int, rate: float) -> str:
        """Return the line for a log."""
        left = (self.total - done) / rate if rate else float("inf")
        return f"{self.task}: {done:,} of {self.total:,} {self.unit}, {rate:,.0f}/s, about {left:,.0f} s left"

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
                console=self.console,
                transient=True,
            )
            self._task_id = self._live.add_task(self.task, total=self.total, unit=self.unit, rate=rate)
            self._live.start()
        self._live.update(self._task_id, completed=done, rate=rate)


class ReadingProgress:
    """Progress of reading a file or a collection: a spinner until the total is known, then a bar of ``unit``."""

    def __init__(self, console: Console, path: object, unit: str = "files", size: int = 1) -> None:
        self._console, self._unit, self._size = console, unit, size
        self._text = f"reading {path}"
        self._stack = ExitStack()
        self._progress: Progress | None = None

    def __enter__(self) -> ReadingProgress:
        self._stack.enter_context(self._console.status(self._text))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __call__(self, done: int, total: int | None) -> None:
        """Report how much is read and the total, if it is known; a unit is ``size`` of it."""
        if total is None:
            return
        if self._progress is None:
            self._stack.close()  # the spinner
            self._progress = self._stack.enter_context(
                self._console.progress(self._text, total // self._size, self._unit)
            )
        self._progress(done // self._size)


def facts(rows: Iterable[tuple[str, object]]) -> Table:
    """Return a table of names and values that fits the terminal, without those that are None."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        if value is not None:
            table.add_row(name, _cell(value))
    return table


def columns(names: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[str] = ()) -> Table:
    """Return a table with a header; columns named in ``numbers`` are right-aligned."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for name in names:
        table.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(_cell, row))
    return table


def _cell(value: object) -> Text:
    """Return a value for a table, cut if it is so long that drawing it would take seconds."""
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return Text(text if len(text) <= _MAX_CELL else f"{text[:_MAX_CELL]}…")


def duration(seconds: float) -> str:
    """Return a duration in seconds, minutes or hours."""
    whole = round(seconds)
    if seconds < 10:
        return f"{seconds:.1f} s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun, such as ``1 pair`` or ``2 pairs``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def confidence_text(confidence: float | None) -> str:
    """Return a confidence for a table; ``-`` if the model has none."""
    return "-" if confidence is None else f"{confidence:.3f}"


def listed(rows: int, limit: int) -> str:
    """Return how many rows there are, and how many of them a table lists."""
    return f"{rows:,}" if rows <= limit else f"the first {limit} of {rows:,}"


def label_list(labels: Sequence[str], *, first: Sequence[str] = (), limit: int = 6) -> str:
    """Return the labels of an image for a table: at most ``limit`` of them, those in ``first`` in front."""
    ordered = sorted(labels, key=lambda label: label not in first)
    more = f" and {len(ordered) - limit} more" if len(ordered) > limit else ""
    return ", ".join(ordered[:limit]) + more


def reasons_json(reasons: Sequence[Reason]) -> list[dict[str, Any]]:
    """Return reasons for ``--json``."""
    return [
        {"labels": list(reason.labels), "share": reason.share, "source": reason.source}
        | ({"images": list(reason.images), "count": reason.count} if reason.images else {})
        for reason in reasons
    ]
