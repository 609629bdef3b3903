"""How a function becomes a command, and how commands share options.

An option group is a dataclass whose fields are typer options. A command that names one as a parameter gets all its
options on the command line and the filled-in dataclass in its hand:

    def info(file: PairsFile, reading: Reading, screen: Screen) -> None: ...

    add(app, info, example="vse info pairs.csv")
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, Literal, get_type_hints

import typer

Function = Callable[..., None]


@dataclass
class Place:
    """The option group of commands whose work a cluster can do."""

    cluster: Annotated[
        Literal["ray"] | None,
        typer.Option(metavar="ray", show_default=False, help="Work on a Ray cluster: docs/scale.md."),
    ] = None
    address: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", show_default=False, help="Of the cluster; else one starts on this machine."),
    ] = None


def add(app: typer.Typer, function: Function, *, example: str) -> None:
    """Make a function a command of ``app``, under its own name, with help that ends with ``example``."""
    app.command(epilog=f"\b\nExample:\n  $ {example}")(unfold(function))


def unfold(function: Function) -> Function:
    """The same function as typer should see it: every option group replaced by the options it holds."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, type[Any]] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if is_dataclass(group := hints[name]) and isinstance(group, type):
            groups[name] = group
            parameters += _parameters_of(group)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name]))

    @functools.wraps(function)
    def run(**given: Any) -> None:
        filled = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        function(**given, **filled)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parameters_of(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(group)
    ]
