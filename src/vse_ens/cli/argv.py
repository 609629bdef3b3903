"""Reconstruct the command line of the running command."""

from __future__ import annotations

import shlex
from typing import Any

import typer


def given_parameters(context: typer.Context) -> list[str]:
    """Return the names of the parameters given on the command line, in the order the command declares them."""
    names = [str(parameter.name) for parameter in context.command.params]
    sources = {name: context.get_parameter_source(name) for name in names}
    return [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]


def command_line(context: typer.Context) -> str:
    """Return the command with all given arguments and options, quoted for a shell."""
    words = context.command_path.split()
    parameters = {str(parameter.name): parameter for parameter in context.command.params}
    for name in given_parameters(context):
        words += _words(parameters[name], context.params[name])
    return shlex.join(words)


def _words(parameter: Any, value: Any) -> list[str]:
    if parameter.param_type_name == "argument":
        return [str(value)]
    if parameter.is_flag:
        return [(parameter.opts if value else parameter.secondary_opts)[0]]
    values = value if isinstance(value, list | tuple) else [value]
    return [word for item in values for word in (parameter.opts[0], str(item))]
