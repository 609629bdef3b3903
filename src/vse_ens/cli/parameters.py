"""Commands of click from functions: the signature of a function is its command line.

    def similar(model: ModelDir, *, top: Annotated[int, Option("Number of results.", "N", min=1)] = 10) -> None:
        '''Find similar labels.

        Example: vse similar model beach
        '''

The docstring is the help. A parameter whose type is a class is a group of options, which the function receives filled:
a dataclass of such fields, or a class with ``parameters()`` that takes their values.
"""

from __future__ import annotations

import difflib
import inspect
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, NoReturn, Union, get_args, get_origin, get_type_hints

import click

from vse_ens.read_options import Option as Option


@dataclass(frozen=True)
class Argument:
    """A positional argument; the metavar is its name in help and messages."""

    help: str
    metavar: str


class Field(NamedTuple):
    """A parameter of a command."""

    name: str
    hint: Any
    """Its type, annotated with an `Argument` or an `Option`."""
    default: Any = inspect.Parameter.empty

    def parameter(self, section: str = "Options") -> click.Parameter:
        """Return the parameter for click."""
        hint, spec = get_args(self.hint)[:2]
        kind, is_optional, is_list = _kind(hint)
        required = self.default is inspect.Parameter.empty
        default = None if required else self.default
        if isinstance(spec, Argument):
            return click.Argument(
                [self.name],
                required=required,
                type=_type(kind),
                metavar=spec.metavar,
                nargs=-1 if is_list else 1,
                help=spec.help,
            )
        option = f"--{self.name.replace('_', '-')}"
        names = spec.name or (f"{option}/--no-{option[2:]}" if is_optional or default else option)
        shown = spec.default or (option[2:] if default is True else _text(default))
        limits = [f"at least {spec.min:g}"] if spec.min is not None and spec.max is None else []
        limits += [f"{spec.min:g} to {spec.max:g}"] if spec.min is not None and spec.max is not None else []
        notes = "; ".join([f"default: {shown}"] * bool(shown) + limits)
        return SectionOption(
            [names if kind is bool else spec.name or option, self.name],
            section,
            **({"required": True} if required else {"default": default}),
            type=bool if kind is bool else _type(kind, spec.min, spec.max),
            is_flag=kind is bool,
            multiple=is_list,
            metavar=spec.metavar,
            help=f"{spec.help}  [{notes}]" if notes else spec.help,
            show_default=False,
            callback=spec.callback,
            is_eager=spec.callback is not None,
        )


class SectionOption(click.Option):
    """An option that the help lists under a heading."""

    def __init__(self, names: Sequence[str], section: str, **settings: Any) -> None:
        super().__init__(names, **settings)
        self.section = section


class Command(click.Command):
    """A command that calls a function."""

    def __init__(self, function: Callable[..., None], name: str) -> None:
        help_text, _, example = (inspect.getdoc(function) or "").partition("\n\nExample: ")
        hints = get_type_hints(function, include_extras=True)
        groups: dict[str, tuple[type[Any], list[str]]] = {}
        parameters: list[click.Parameter] = []
        for parameter in inspect.signature(function).parameters.values():
            hint = hints[parameter.name]
            if get_origin(hint) is Annotated:
                parameters.append(Field(parameter.name, hint, parameter.default).parameter())
            else:
                members = _members(hint)
                groups[parameter.name] = hint, [str(member.name) for member in members]
                parameters += members

        def run(**values: Any) -> None:
            filled = {
                name: group(**{member: values.pop(member) for member in members})
                for name, (group, members) in groups.items()
            }
            function(**values, **filled)

        super().__init__(name, params=parameters, callback=run, help=help_text, epilog=example_text(example))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; the state of the run learns the names of its options, for error messages."""
        ctx.obj.options = {
            str(parameter.name): next(name for name in parameter.opts if name.startswith("--"))
            for parameter in self.params
            if isinstance(parameter, click.Option)
        }
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = None if isinstance(parameter, click.Argument) else parameter.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def example_text(example: str) -> str:
    """Return the end of a help text."""
    return f"\b\nExample:\n  $ {example}"


def _members(group: type[Any]) -> list[click.Parameter]:
    """Return the parameters of a group."""
    if not is_dataclass(group):
        found: list[click.Parameter] = group.parameters()
        return found
    hints = get_type_hints(group, include_extras=True)
    section = getattr(group, "SECTION", "Options")
    return [Field(field.name, hints[field.name], field.default).parameter(section) for field in fields(group)]


def _kind(hint: Any) -> tuple[Any, bool, bool]:
    """Return the type of a value on the command line, whether it may be None, and whether it may be repeated."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    lists = [kind for kind in kinds if get_origin(kind) in (list, Sequence)]
    first = get_args(lists[0])[0] if lists else next(kind for kind in kinds if kind is not type(None))
    return first, type(None) in kinds, bool(lists)


def _text(default: Any) -> str:
    """Return a default for the help; nothing for flags and for values that mean no value."""
    if default is None or isinstance(default, bool) or default in ("", ()):
        return ""
    return ", ".join(map(str, default)) if isinstance(default, tuple) else str(default)


def _type(kind: Any, low: float | None = None, high: float | None = None) -> click.ParamType[Any]:
    if kind in (int, float):
        return _Number(kind, low, high)
    if kind is Path:
        return click.Path(path_type=Path)
    return _Choice(get_args(kind)) if get_origin(kind) is Literal else click.STRING


class _Number(click.ParamType[Any]):
    """A number within limits."""

    name = "number"

    def __init__(self, kind: type[int] | type[float], low: float | None, high: float | None) -> None:
        self._kind, self._low, self._high = kind, low, high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        try:
            number = self._kind(value)
        except ValueError:
            _refuse("must be a whole number" if self._kind is int else "must be a number", value, param, ctx)
        if self._low is not None and not number >= self._low:
            _refuse(f"must be at least {self._low}", value, param, ctx)
        if self._high is not None and not number <= self._high:
            _refuse(f"must be at most {self._high}", value, param, ctx)
        return number


class _Choice(click.Choice[str]):
    """One of several words."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word."""
        if value not in self.choices:
            rule = f"must be {'one of ' if len(self.choices) > 1 else ''}{', '.join(self.choices)}"
            _refuse(rule, value, param, ctx, difflib.get_close_matches(str(value), self.choices, n=1))
        return str(value)


def _refuse(
    rule: str, value: Any, parameter: click.Parameter | None, context: click.Context | None, near: Sequence[str] = ()
) -> NoReturn:
    names = (
        [] if parameter is None else [*(name for name in parameter.opts if name.startswith("--")), parameter.metavar]
    )
    suggestion = f"; did you mean {near[0]}?" if near else ""
    raise click.UsageError(f"{names[0] if names else 'value'} {rule}, got {value!r}{suggestion}", context)


def misuse(name: str, message: str) -> click.BadParameter:
    """Return the error of an argument or option that does not fit the others."""
    return click.BadParameter(message, param_hint=f"'{name}'")


def given_parameters() -> dict[str, None]:
    """Return the names of the parameters given on the command line, in the order in which the command declares them."""
    context = click.get_current_context()
    names = (str(parameter.name) for parameter in context.command.params)
    given = click.core.ParameterSource.COMMANDLINE
    return {name: None for name in names if context.get_parameter_source(name) is given}


def command_line() -> str:
    """Return the running command with all given arguments and options, quoted for a shell."""
    context = click.get_current_context()
    words = context.command_path.split()
    parameters = {str(parameter.name): parameter for parameter in context.command.params}
    for name in given_parameters():
        words += _words(parameters[name], context.params[name])
    return shlex.join(words)


def _words(parameter: click.Parameter, value: Any) -> list[str]:
    values = value if isinstance(value, tuple) else (value,)
    if not isinstance(parameter, click.Option):
        return [*map(str, values)]
    if parameter.is_flag:
        return [(parameter.opts if value else parameter.secondary_opts)[0]]
    return [word for item in values for word in (parameter.opts[0], str(item))]
