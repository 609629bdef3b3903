"""Search spaces: for each setting a range or a list of choices; one per preset, or a user's own file."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from itertools import islice, product
from math import prod
from pathlib import Path
from typing import Any

from vse_ens.config import Config
from vse_ens.errors import ConfigError
from vse_ens.presets import PRESETS, configure, read_toml

# A space with more combinations of choices is checked in part.
_MAX_CHECKED = 2_000
# They decide how a trial is measured, or early stopping finds them.
_NOT_TUNED = ("epochs", "exchanges", "members", "metric", "patience", "refit", "seed", "shards", "validate")


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, on a logarithmic scale if ``log``; whole numbers if the setting is one."""

    low: float
    high: float
    log: bool = False


@dataclass(frozen=True)
class Choices:
    """Some values of a setting."""

    choices: tuple[Any, ...]


Space = Mapping[str, Range | Choices]


def read_space(path: str | Path) -> Space:
    """Read a space from a TOML file with one table per setting.

    [learning_rate]
    low = 0.01
    high = 0.2
    log = true

    [dimensions]
    choices = [64, 128]
    """
    content = read_toml(path, "space")
    try:
        return _parse_space(content)
    except ConfigError as error:
        raise ConfigError(f"{path}: {str(error)[:300]}") from error


def _parse_space(content: Mapping[str, object]) -> Space:
    return {name: _parse(name, table) for name, table in content.items()}


def _parse(name: str, table: object) -> Range | Choices:
    keys = set(table) if isinstance(table, dict) else set()
    if isinstance(table, dict) and keys == {"choices"} and isinstance(table["choices"], list):
        return Choices(tuple(table["choices"]))
    if isinstance(table, dict) and {"low", "high"} <= keys <= {"low", "high", "log"}:
        return Range(**table)
    raise ConfigError(f"{name} needs low and high (and log = true for a logarithmic scale), or a list of choices")


_FILE = read_toml(Path(__file__).with_name("spaces.toml"), "spaces")
SPACES: Mapping[str, Space] = {
    preset: _parse_space(_FILE["context" if preset in ("quick", "thorough") else preset]) for preset in PRESETS
}
"""The search space of each preset."""


def check_space(space: Space, preset: str, settings: Mapping[str, Any]) -> None:
    """Raise a `ConfigError` unless every trial is a valid configuration of the preset with ``settings``."""
    if not space:
        raise ConfigError("the space is empty; give at least one setting with low and high, or choices")
    for name, values in space.items():
        _check_setting(name, values)
        if name in settings:
            raise ConfigError(f"{name} is in the space and is also set to {settings[name]!r}; leave one of them out")
        for value in (values.low, values.high) if isinstance(values, Range) else values.choices:
            _check_settings(preset, {**settings, name: value}, f"{name} = {value!r}")
    lists = {name: values.choices for name, values in space.items() if isinstance(values, Choices)}
    combinations = islice(product(*lists.values()), min(_MAX_CHECKED, prod(map(len, lists.values()))))
    for chosen in map(dict, (zip(lists, combination, strict=True) for combination in combinations)):
        shown = ", ".join(f"{name} = {value!r}" for name, value in chosen.items())
        _check_settings(preset, {**settings, **chosen}, shown)


def _check_setting(name: str, values: Range | Choices) -> None:
    kinds = {field.name: str(field.type) for field in fields(Config)}
    if name not in kinds:
        near = difflib.get_close_matches(name, kinds, n=1)
        hint = f"did you mean {near[0]}?" if near else "docs/training.md lists all settings"
        raise ConfigError(f"the space has an unknown setting {name!r}; {hint}")
    if name in _NOT_TUNED:
        raise ConfigError(f"the space cannot have {name}: it decides how trials are measured; leave it out")
    if isinstance(values, Choices):
        if not values.choices or len(set(map(repr, values.choices))) < len(values.choices):
            raise ConfigError(f"the choices of {name} must be different values, at least one; got {values.choices!r}")
        return
    kind: type | tuple[type, ...] = int if kinds[name] == "int" else (int, float)
    if kinds[name] not in ("int", "float"):
        raise ConfigError(f"{name} is not a number and has no range; give choices, such as choices = [...]")
    for end in (values.low, values.high):
        if isinstance(end, bool) or not isinstance(end, kind):
            raise ConfigError(f"the range of {name} needs {'whole numbers' if kind is int else 'numbers'}, got {end!r}")
    if not values.low < values.high:
        raise ConfigError(f"the range of {name} needs low below high, got {values.low!r} and {values.high!r}")
    if not isinstance(values.log, bool):
        raise ConfigError(f"log of {name} must be true or false, got {values.log!r}")
    if values.log and values.low <= 0:
        raise ConfigError(f"the range of {name} needs low above 0 for a logarithmic scale, got {values.low!r}")


def _check_settings(preset: str, settings: Mapping[str, Any], shown: str) -> None:
    try:
        configure(preset, **settings)
    except ConfigError as error:
        raise ConfigError(f"the space allows {shown}, which is not a valid setting: {error}") from error


def is_whole(name: str) -> bool:
    """Return whether a setting is a whole number."""
    return any(field.name == name and str(field.type) == "int" for field in fields(Config))


def contains(space: Space, settings: Mapping[str, Any]) -> bool:
    """Return whether settings are a point of the space."""
    return all(
        settings[name] in values.choices if isinstance(values, Choices) else values.low <= settings[name] <= values.high
        for name, values in space.items()
    )


def space_dict(space: Space) -> dict[str, dict[str, Any]]:
    """Return a space ready for JSON."""
    return {
        name: {"choices": list(values.choices)} if isinstance(values, Choices) else asdict(values)
        for name, values in space.items()
    }
