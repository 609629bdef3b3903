"""Where a command speaks: the result to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from vse_ens.cli.progress import Progress
from vse_ens.cli.session import Debug


@dataclass
class Screen:
    """The option group of every command: how it answers."""

    json: Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, on stdout.")] = False
    debug: Debug = False

    @cached_property
    def out(self) -> Console:
        """Standard output, for the result."""
        return Console(highlight=False)

    @cached_property
    def err(self) -> Console:
        """Standard error, for progress, notes and logs."""
        return Console(stderr=True, highlight=False)

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
