"""Progress bars of work over a second, at a Python prompt and in a notebook.

The argument ``progress`` of a method is None for a bar where a person works interactively, True for a bar also in a
script that runs in a terminal, False for none, or a function that is called with the progress itself. Bars are written
to standard error, or in a notebook below the cell, and vanish when the work is done.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol, Self

ProgressOption = Callable[[Any], None] | bool | None

_SILENT_SECONDS = 1.0
_NOTEBOOK_SECONDS = 0.2  # between two updates of a cell's output


class Display(Protocol):
    """Shows a bar until it is closed."""

    def draw(self, share: float, text: str) -> None:
        """Show that a share of the work is done."""

    def close(self) -> None:
        """Remove the bar."""


class ProgressBar:
    """A bar that appears after a second: ``with ProgressBar("auditing", progress) as bar: bar.update(0.5, "")``."""

    def __init__(self, task: str, progress: ProgressOption = None) -> None:
        self._task = task
        self._given = progress if callable(progress) else None
        self._make = None if callable(progress) else display_for(progress)
        self._display: Display | None = None
        self._lock = threading.Lock()
        self._share, self._text = 0.0, ""

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        if self._make is not None:
            # A timer, since the first call of `update` may come late: kernels are compiled before the first round.
            self._timer = threading.Timer(_SILENT_SECONDS, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._make is None:
            return
        self._timer.cancel()
        with self._lock:
            self._make = None  # a timer that has just fired shows nothing any more
            if self._display is not None:
                self._display.close()

    def update(self, share: float, text: str = "") -> None:
        """Report that a share of the work is done; a smaller share than before starts a new phase."""
        if self._make is None:
            return
        with self._lock:
            if share < self._share:
                self._started = time.monotonic()
            self._share, self._text = share, text
            if self._display is not None:
                self._draw(self._display)

    def counter(self, total: int, unit: str) -> Callable[[int], None]:
        """Return a function of the number done so far that updates the bar, or calls the function that was given."""
        return self._given or (
            lambda done: self.update(min(1.0, done / max(total, 1)), f"{done:,} of {total:,} {unit}")
        )

    def adder(self, total: int, unit: str) -> Callable[[int], None]:
        """Return the same as a function of the number done since the last call."""
        return self._given or summed(self.counter(total, unit))

    def _show(self) -> None:
        with self._lock:
            if self._make is not None:
                self._display = self._make(self._task)
                self._draw(self._display)

    def _draw(self, display: Display) -> None:
        parts = [self._text] if self._text else []
        if self._share > 0:
            left = (time.monotonic() - self._started) * (1.0 / self._share - 1.0)
            parts.append(f"about {left:,.0f} s left" if left < 120 else f"about {left / 60:,.0f} min left")
        display.draw(self._share, ", ".join(parts))


def summed(report: Callable[[int], Any]) -> Callable[[int], None]:
    """Return a function of the number done since its last call; it reports the number done so far."""
    done = 0

    def add(more: int) -> None:
        nonlocal done
        done += more
        report(done)

    return add


def display_for(progress: bool | None) -> Callable[[str], Display] | None:
    """Return what makes the display of a task here and now, or None if nothing is to be shown."""
    shell = _ipython()
    if progress is False or (progress is None and shell is None and not hasattr(sys, "ps1")):
        return None
    if hasattr(shell, "kernel"):
        return _NotebookBar
    return _TerminalBar if sys.stderr is not None and sys.stderr.isatty() else None


def _ipython() -> Any:
    """Return the shell of IPython if this is one; it is not imported for that."""
    module = sys.modules.get("IPython")
    return None if module is None else module.get_ipython()


class _TerminalBar:
    """A bar on standard error."""

    def __init__(self, task: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}", markup=False))
        self._live = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._live.add_task(task, total=1.0, text="")
        self._live.start()

    def draw(self, share: float, text: str) -> None:
        self._live.update(self._task, completed=share, text=text)

    def close(self) -> None:
        self._live.stop()


class _NotebookBar:
    """A bar in the output of a notebook's cell; needs no widgets."""

    def __init__(self, task: str) -> None:
        display: Any = import_module("IPython.display").display
        self._task = task
        self._drawn = float("-inf")
        self._output = display({"text/plain": ""}, raw=True, display_id=True)

    def draw(self, share: float, text: str) -> None:
        if time.monotonic() - self._drawn < _NOTEBOOK_SECONDS:
            return
        self._drawn = time.monotonic()
        html = f'<progress value="{share:.3f}" max="1" aria-label="{self._task}"></progress>'
        shown = f"{self._task} {text}".strip()
        self._output.update({"text/html": f"{html} {shown}", "text/plain": f"{shown} ({share:.0%})"}, raw=True)

    def close(self) -> None:
        self._output.update({"text/plain": "", "text/html": ""}, raw=True)
