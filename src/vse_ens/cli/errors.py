"""Turn exceptions into one-sentence messages and exit codes."""

from __future__ import annotations

import difflib
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
from typing import Annotated, Any

import typer

from vse_ens.errors import VseError

FAILED, BAD_USAGE, INTERRUPTED = 1, 2, 130


@dataclass
class CliState:
    """State of one run of ``vse``, passed to every command as ``context.obj``."""

    debug: bool = False
    options: dict[str, str] = field(default_factory=dict)
    """The options of the running command by the names of their parameters, such as ``top`` and ``--top``."""


def _set_debug(context: typer.Context, debug: bool) -> bool:
    # Shell completion runs without a CliState.
    if isinstance(context.obj, CliState):
        # The option may come before or after the command name, so one call must not reset the other.
        context.obj.debug = context.obj.debug or debug
        # Every command has this option, so that this is called for the running one.
        context.obj.options = {
            str(parameter.name): next(name for name in parameter.opts if name.startswith("--"))
            for parameter in context.command.params
            if parameter.param_type_name == "option"
        }
    return debug


Debug = Annotated[
    bool, typer.Option("--debug", callback=_set_debug, is_eager=True, help="Show the traceback if the command fails.")
]


def run(command: Callable[[], Any], state: CliState) -> int:
    """Run a command and return its exit code, after printing an error message if it failed."""
    try:
        with _interrupts_kept():
            status = command()  # typer returns the code of a typer.Exit, otherwise the command's result: None
            sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  # Ctrl-C is not an Exception
        if isinstance(error, OSError) and error.filename is None:
            _discard_stdout()
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
        return _name_options(str(error), state.options)
    if isinstance(error, typer.BadParameter) and (message := _bad_value(error)):
        return f"{message}{_help_hint(error)}"
    if isinstance(error, typer.TyperException):
        return _lower_first(" ".join(error.format_message().split()).rstrip(".")) + _help_hint(error)
    if isinstance(error, OSError) and error.strerror:
        name = os.fsdecode(error.filename) if error.filename is not None else "standard output"
        return f"{name}: {_lower_first(error.strerror)}"
    cause = " ".join(f"{type(error).__name__}: {error}".split())
    advice = "please report it" if state.debug else "run it again with --debug for the traceback and please report it"
    return f"unexpected error in vse ({cause}); {advice}"


def _help_hint(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    return f" (see '{context.command_path} --help')" if context is not None else ""


def _bad_value(error: typer.BadParameter) -> str | None:
    """Return the rule that a value breaks, in place of the message of Pydantic, which typer checks values with."""
    faults = getattr(error.__cause__, "errors", None)
    if faults is None or error.param is None:
        return None
    fault = faults()[0]
    limits = fault.get("ctx", {})
    rules = {
        "int_parsing": "must be a whole number",
        "int_from_float": "must be a whole number",
        "float_parsing": "must be a number",
        "greater_than_equal": f"must be at least {limits.get('ge')}",
        "greater_than": f"must be above {limits.get('gt')}",
        "less_than_equal": f"must be at most {limits.get('le')}",
        "less_than": f"must be below {limits.get('lt')}",
    }
    given = fault["input"]
    rule = rules.get(fault["type"])
    near = ""
    if rule is None:
        _, found, text = fault["msg"].partition("is not one of ")
        choices = re.findall(r"'([^']*)'", text) if found else []
        if not choices:
            return None
        rule = f"must be {'one of ' if len(choices) > 1 else ''}{', '.join(choices)}"
        close = difflib.get_close_matches(str(given), choices, n=1)
        near = f"; did you mean {close[0]}?" if close else ""
    name = next((one for one in error.param.opts if one.startswith("--")), error.param.metavar or error.param.name)
    return f"{name} {rule}, got {given!r}{near}"


def _name_options(message: str, options: dict[str, str]) -> str:
    """Return a message of the library with the options of a command in place of the arguments of a function."""
    if "image_column" in options:
        pair = f"{options['image_column']} and {options['label_column']}"
        message = re.sub("^image and label(?= are both column)", pair, message)
    for name, option in options.items():
        if "_" in name:
            message = re.sub(rf"(?<![\w'\"./-]){name}(?![\w'\"./=-])", option, message)
        # A name of one word may also be an ordinary word, except before its predicate.
        message = re.sub(rf"^{name.removesuffix('_column')}(?= (must|is for|names|cannot) )", option, message)
    return message


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _print(text: str, prefix: str = "") -> None:
    """Print to standard error without wrapping or markup."""
    from rich.text import Text

    from vse_ens.cli.terminal import PlainConsole

    line = Text(f"{prefix}: ", style="bold red") if prefix else Text()
    line.append(text, style="not bold default" if prefix else "")
    PlainConsole(stderr=True, highlight=False).print(line, soft_wrap=True)
