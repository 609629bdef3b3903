"""Turn exceptions into one-sentence messages and exit codes."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from vse_ens.errors import VseError

FAILED, BAD_USAGE, INTERRUPTED = 1, 2, 130


@dataclass
class CliState:
    """State of one run of ``vse``, passed to every command as ``context.obj``."""

    debug: bool = False


def _set_debug(context: typer.Context, debug: bool) -> bool:
    # The option may come before or after the command name, so one call must not reset the other.
    # Shell completion runs without a CliState.
    if debug and isinstance(context.obj, CliState):
        context.obj.debug = True
    return debug


Debug = Annotated[
    bool, typer.Option("--debug", callback=_set_debug, is_eager=True, help="Show the traceback if the command fails.")
]


def run(command: Callable[[], Any], state: CliState) -> int:
    """Run a command and return its exit code, after printing an error message if it failed."""
    try:
        status = command()  # typer returns the code of a typer.Exit, otherwise the command's result: None
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  # Ctrl-C is not an Exception
        if isinstance(error, OSError) and error.filename is None:
            _discard_stdout()
        return _report(error, state)
    if status == INTERRUPTED:
        _print("interrupted")
    return int(status or 0)


def _discard_stdout() -> None:
    """Redirect standard output to the null device, so that Python does not fail again when it flushes at exit."""
    with suppress(io.UnsupportedOperation):  # standard output may not be a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(error: BaseException, state: CliState) -> int:
    """Print an error and return the exit code for it."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILED
    if isinstance(error, BrokenPipeError):
        return FAILED  # the reader of our output closed the pipe, as head does
    if isinstance(error, KeyboardInterrupt):
        _print("interrupted")
        return INTERRUPTED
    if isinstance(error, typer.TyperException) and error.format_message().startswith("Usage: "):
        _print(error.format_message().rstrip())  # no command was given: typer's message is the help
        return BAD_USAGE
    if state.debug:
        _print("".join(traceback.format_exception(error)).rstrip())
    _print(_message(error, state), "error")
    return error.exit_code if isinstance(error, typer.TyperException) else FAILED


def _message(error: BaseException, state: CliState) -> str:
    """Return an error as one sentence."""
    if isinstance(error, VseError):
        return str(error)
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        hint = f" (see '{context.command_path} --help')" if context is not None else ""
        return _lower_first(" ".join(error.format_message().split()).rstrip(".")) + hint
    if isinstance(error, OSError) and error.strerror:
        name = os.fsdecode(error.filename) if error.filename is not None else "standard output"
        return f"{name}: {_lower_first(error.strerror)}"
    cause = " ".join(f"{type(error).__name__}: {error}".split())
    advice = "please report it" if state.debug else "run it again with --debug for the traceback and please report it"
    return f"unexpected error in vse ({cause}); {advice}"


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _print(text: str, prefix: str = "") -> None:
    """Print to standard error without wrapping or markup."""
    line = Text(f"{prefix}: ", style="bold red") if prefix else Text()
    line.append(text, style="not bold default" if prefix else "")
    Console(stderr=True, highlight=False).print(line, soft_wrap=True)
