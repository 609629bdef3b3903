"""What one run of ``vse`` must remember outside its commands.

The one place where errors become sentences and exit codes.
"""

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


@dataclass
class CliState:
    """Made by `main`, handed to every command as typer's ``ctx.obj``."""

    debug: bool = False


def _remember(context: typer.Context, debug: bool) -> bool:
    # Said once, before or after the command's name, it holds; and completion runs without a session.
    if debug and isinstance(context.obj, CliState):
        context.obj.debug = True
    return debug


Debug = Annotated[
    bool, typer.Option("--debug", callback=_remember, is_eager=True, help="Show the traceback where something fails.")
]


FAILED, BAD_USAGE, INTERRUPTED = 1, 2, 130


def run(command: Callable[[], Any], session: CliState) -> int:
    """Run a command; return the exit code after saying in one sentence what went wrong, if something did."""
    try:
        status = command()  # typer returns the code of a typer.Exit, or what the command returned: nothing
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  # a panic inside Polars is not an Exception
        if isinstance(error, OSError) and error.filename is None:
            _forget_output()
        return _explain(error, session)
    if status == INTERRUPTED:
        _say("interrupted")
    return int(status or 0)


def _forget_output() -> None:
    """What Python still holds for standard output must go nowhere, or it complains at exit once more."""
    with suppress(io.UnsupportedOperation):  # standard output may be no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explain(error: BaseException, session: CliState) -> int:
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILED
    if isinstance(error, BrokenPipeError):
        return FAILED  # who read our output has enough
    if isinstance(error, KeyboardInterrupt):
        _say("interrupted")
        return INTERRUPTED
    if isinstance(error, typer.TyperException) and error.format_message().startswith("Usage: "):
        _say(error.format_message().rstrip())  # no command was given: typer's message is the help
        return BAD_USAGE
    if session.debug:
        _say("".join(traceback.format_exception(error)).rstrip())
    _say(_sentence(error, session), "error")
    return error.exit_code if isinstance(error, typer.TyperException) else FAILED


def _sentence(error: BaseException, session: CliState) -> str:
    if isinstance(error, VseError):
        return str(error)
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        hint = f" (see '{context.command_path} --help')" if context is not None else ""
        return _lower_first(" ".join(error.format_message().split()).rstrip(".")) + hint
    if isinstance(error, OSError) and error.strerror:
        where = f"{os.fsdecode(error.filename)}" if error.filename is not None else "standard output"
        return f"{where}: {_lower_first(error.strerror)}"
    cause = " ".join(f"{type(error).__name__}: {error}".split())
    advice = "please report it" if session.debug else "run it again with --debug to see where, and please report it"
    return f"vse failed in a way it should not ({cause}); {advice}"


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _say(text: str, kind: str = "") -> None:
    console = Console(stderr=True, highlight=False)
    line = Text(f"{kind}: ", style="bold red") if kind else Text()
    console.print(line.append(text, style="not bold default" if kind else ""), soft_wrap=True)
