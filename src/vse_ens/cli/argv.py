"""The command that is running, as it was typed."""

from __future__ import annotations

import shlex
from typing import Any

import typer


def given(context: typer.Context) -> list[str]:
    """The names of the parameters that were given, in the order the command declares them."""
    names = [str(parameter.name) for parameter in context.command.params]
    sources = {name: context.get_parameter_source(name) for name in names}
    return [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]


def typed_command(context: typer.Context) -> str:
    """The command with every argument and option that was given, as a shell takes it."""
    words = context.command_path.split()
    parameters = {str(parameter.name): parameter for parameter in context.command.params}
    for name in given(context):
        words += _words(parameters[name], context.params[name])
    return shlex.join(words)


def _words(parameter: Any, value: Any) -> list[str]:
    if parameter.param_type_name == "argument":
        return [str(value)]
    if parameter.is_flag:
        return [(parameter.opts if value else parameter.secondary_opts)[0]]
    values = value if isinstance(value, list | tuple) else [value]
    return [word for one in values for word in (parameter.opts[0], str(one))]
