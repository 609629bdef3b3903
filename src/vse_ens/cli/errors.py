"""Turn exceptions into short messages and exit codes."""

from __future__ import annotations

import io
import os
import re
import sys
import threading
import traceback
from _thread import interrupt_main
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import click

from vse_ens.errors import VseError

FAILED, BAD_USAGE, INTERRUPTED = 1, 2, 130


@dataclass
class CliState:
    """State of one run of ``vse``, passed to every command as ``context.obj``."""

    debug: bool = False
    options: dict[str, str] = field(default_factory=dict)
    """The options of the running command by the names of their parameters, such as ``top`` and ``--top``."""


DEBUG_HELP = "Show the traceback if the command fails."


def set_debug(context: click.Context, _: click.Parameter, debug: bool) -> bool:
    """Remember ``--debug``, which may come before or after the name of the command."""
    if isinstance(context.obj, CliState):  # not in shell completion
        context.obj.debug = context.obj.debug or debug
    return debug


def run(command: Callable[[], Any], state: CliState) -> int:
    """Run a command and return its exit code, after printing an error message if it failed."""
    try:
        with _interrupts_kept():
            status = command()  # click returns the code of an Exit, otherwise the command's result: None
            sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  # Ctrl-C is not an Exception
        if isinstance(error, OSError) and error.filename is None:
            # To the null device, so that Python does not fail again when it flushes standard output at exit.
            with suppress(io.UnsupportedOperation):  # standard output may not be a file
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _report(error, state)
    if status == INTERRUPTED:
        _print("interrupted")
    return int(status or 0)


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Stop the command also on a Ctrl-C that comes in a destructor or a callback, where Python ignores exceptions."""
    usual = sys.unraisablehook
    timers: list[threading.Timer] = []

    def interrupt_again(ignored: sys.UnraisableHookArgs) -> None:
        if issubclass(ignored.exc_type, KeyboardInterrupt):
            # Not at once: an exception raised in the hook itself is ignored, too.
            timers.append(threading.Timer(0.01, interrupt_main))
            timers[-1].start()
        else:
            usual(ignored)

    sys.unraisablehook = interrupt_again
    try:
        yield
    finally:
        sys.unraisablehook = usual
        for timer in timers:
            timer.cancel()


def _report(error: BaseException, state: CliState) -> int:
    """Print an error and return the exit code for it."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILED
    if isinstance(error, BrokenPipeError):
        return FAILED  # the reader of our output closed the pipe, as head does
    if isinstance(error, KeyboardInterrupt):
        _print("interrupted")
        return INTERRUPTED
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        _print(error.format_message().rstrip())  # the help
        return BAD_USAGE
    if state.debug:
        _print("".join(traceback.format_exception(error)).rstrip())
    _print(_message(error, state), "error")
    return error.exit_code if isinstance(error, click.ClickException) else FAILED


def _message(error: BaseException, state: CliState) -> str:
    """Return the message of an error."""
    if isinstance(error, VseError):
        return _name_options(str(error), state.options)
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        hint = f" (see '{context.command_path} --help')" if context is not None else ""
        return _lower_first(" ".join(error.format_message().split()).rstrip(".")) + hint
    if isinstance(error, OSError) and error.strerror:
        name = os.fsdecode(error.filename) if error.filename is not None else "standard output"
        return f"{name}: {_lower_first(error.strerror)}"
    cause = " ".join(f"{type(error).__name__}: {error}".split())
    advice = "please report it" if state.debug else "run it again with --debug for the traceback and please report it"
    return f"unexpected error in vse ({cause}); {advice}"


def _name_options(message: str, options: dict[str, str]) -> str:
    """Return a message of the library with the options of a command in place of the arguments of a function."""
    if "label" in options:
        pair = f"{options['image']} and {options['label']}"
        message = re.sub("^image and label(?= are both column)", pair, message)
    for name, option in options.items():
        if "_" in name:
            message = re.sub(rf"(?<![\w'\"./-]){name}(?![\w'\"./=-])", option, message)
        # A name of one word may also be an ordinary word, except before its predicate.
        message = re.sub(rf"^{name}(?= (must|is for|names|cannot) )", option, message)
    return message


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _print(text: str, prefix: str = "") -> None:
    """Print to standard error without wrapping or markup."""
    from rich.text import Text

    from vse_ens.cli.console import PlainConsole

    line = Text(f"{prefix}: ", style="bold red") if prefix else Text()
    line.append(text, style="not bold default" if prefix else "")
    PlainConsole(stderr=True, highlight=False).print(line, soft_wrap=True)
