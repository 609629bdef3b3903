"""Entries of a comparison: presets and baselines by name, each with its own settings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import PurePath
from typing import Any

from vse_ens.baselines.base import Baseline
from vse_ens.baselines.registry import BASELINES, make_baseline
from vse_ens.config import Config
from vse_ens.errors import ConfigError
from vse_ens.presets import PRESETS, configure, is_preset_file


@dataclass(frozen=True)
class Entry:
    """A preset or baseline with settings."""

    name: str
    """The name as given, such as ``vse-ens:loss=logistic,epochs=50``."""
    method: Config | Baseline

    @property
    def base_name(self) -> str:
        """The name without settings; of a preset file, without its folder."""
        return PurePath(self.name.partition(":")[0]).name

    @property
    def kind(self) -> str:
        """``model`` if it is trained in epochs, ``baseline`` if it is fitted in one call."""
        return "model" if isinstance(self.method, Config) else "baseline"

    def settings(self) -> dict[str, Any]:
        """Return all settings in a form that JSON can store."""
        return self.method.to_dict()


def parse_entries(text: str, *, seed: int = 0, dimensions: int | None = None) -> list[Entry]:
    """Parse a list such as ``vse-ens:loss=logistic,epochs=50,warp,ease:regularization=10``.

    A part with an equals sign and no colon before it is another setting of the preceding name. ``seed`` and
    ``dimensions`` apply to every entry that has such a setting and does not set it itself.
    """
    entries = [_entry(name, settings, seed, dimensions) for name, settings in _names_with_settings(text)]
    names = [entry.name for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"models names {name!r} twice; give one of them other settings or remove it")
    if not entries:
        raise ConfigError(f"models must name one or more of {_known_names()}")
    return entries


def _names_with_settings(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each name with the texts of its settings."""
    name, settings = "", list[str]()
    for part in (part.strip() for part in text.split(",")):
        before, equals, _ = part.partition("=")
        if equals and ":" not in before:
            if not name:
                raise ConfigError(f"models has the setting {part!r} with no model before it")
            settings.append(part)
        elif part:
            if name:
                yield name, settings
            name, _, first = part.partition(":")
            settings = [first] if first else []
    if name:
        yield name, settings


def _entry(base_name: str, settings: list[str], seed: int, dimensions: int | None) -> Entry:
    name = f"{base_name}:{','.join(settings)}" if settings else base_name
    given = dict(_setting(base_name, text) for text in settings)
    try:
        if base_name in PRESETS or is_preset_file(base_name):
            return Entry(name, configure(base_name, **{"seed": seed, "dimensions": dimensions, **given}))
        if base_name in BASELINES:
            known = {field.name for field in fields(BASELINES[base_name])}
            defaults = {"seed": seed, **({"factors": dimensions} if dimensions else {})}
            applicable = {setting: value for setting, value in defaults.items() if setting in known}
            return Entry(name, make_baseline(base_name, **{**applicable, **given}))
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from error
    raise ConfigError(f"models must be of {_known_names()}; got {base_name!r}")


def _setting(base_name: str, text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"{text!r} of {base_name} is not a setting such as {base_name}:seed=1")
    try:
        return name.strip(), json.loads(value)
    except json.JSONDecodeError:
        return name.strip(), value.strip()


def _known_names() -> str:
    return ", ".join([*PRESETS, *BASELINES])
