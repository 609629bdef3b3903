"""Conversion of plain arguments without typer's, which imports pydantic and builds a schema for every parameter.

That takes a tenth of a second in every command, also for options that are not given. Text, paths and counts are simple
to convert. Anything else, and any value that may be wrong, is left to typer, which has the messages.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

# Longer numbers may be too large, which typer decides.
_MAX_DIGITS = 9


class PlainCommand(TyperCommand):
    """A command that converts plain values itself."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        return _with_conversion(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """A group of commands that converts plain values itself."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        return _with_conversion(super().get_params(ctx))


def _with_conversion(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        # Typer builds its conversion where there is none yet. A version without this attribute is left alone.
        if getattr(parameter, "_runtime_param", ...) is None:
            parameter._runtime_param = _PlainConversion()
    return parameters


class _PlainConversion:
    """Stands in for typer's conversion of one parameter until a value needs that."""

    def coerce(self, value: Any, param: Any, ctx: typer.Context) -> Any:
        """Return the value that the command receives."""
        is_list = param.multiple or param.nargs == -1
        if value is None:
            return () if is_list else None
        if is_list and isinstance(value, list | tuple):
            inner = get_args(param.type_descriptor.annotation)
            if inner == (str,) and _is_plain(param) and all(isinstance(one, str) for one in value):
                return list(value)
        elif not is_list:
            converted = _convert(value, param)
            if converted is not None:
                return converted
        param._runtime_param = None  # typer builds its own
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _convert(value: Any, parameter: Any) -> Any:
    """Return the converted value, or None if typer has to convert it."""
    if not _is_plain(parameter):
        return None
    kind, limits = parameter.type_descriptor.annotation, parameter.type_descriptor.parameter_info
    if kind is str and isinstance(value, str):
        return value
    if kind is Path and isinstance(value, str | Path):
        path = Path(value)
        return path if os.access(path, os.R_OK) or not path.exists() else None
    if kind is int and isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS:
        value = int(value)
    if kind in (int, float) and type(value) is kind:
        inside = (limits.min is None or value >= limits.min) and (limits.max is None or value <= limits.max)
        return value if inside else None
    return None


def _is_plain(parameter: Any) -> bool:
    """Whether the parameter has no conversion of its own and no condition on a path."""
    info = parameter.type_descriptor.parameter_info
    return not (
        info.parser
        or info.exists
        or info.writable
        or info.resolve_path
        or info.allow_dash
        or info.path_type
        or not (info.file_okay and info.dir_okay)
    )
