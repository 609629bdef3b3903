"""Who takes part in a comparison: models and baselines by name, each with settings of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from vse_ens.baselines.base import Baseline
from vse_ens.baselines.registry import BASELINES, make_baseline
from vse_ens.config import Config
from vse_ens.errors import ConfigError
from vse_ens.presets import PRESETS, configure


@dataclass(frozen=True)
class Entry:
    """One that takes part: the name it was asked for by, such as ``vse-ens:loss=logistic,epochs=50``."""

    name: str
    method: Config | Baseline

    @property
    def base(self) -> str:
        """The name without the settings."""
        return self.name.partition(":")[0]

    @property
    def kind(self) -> str:
        """Whether it is trained in epochs or fitted at once."""
        return "model" if isinstance(self.method, Config) else "baseline"

    def settings(self) -> dict[str, Any]:
        """All of them, as JSON can hold them."""
        return self.method.to_dict()


def parse_entries(text: str, *, seed: int = 0, dimensions: int | None = None) -> list[Entry]:
    """The entries of a list such as ``vse-ens:loss=logistic,epochs=50,warp,ease:regularization=10``.

    A piece with an equals sign and no colon before it goes on with the settings of the name before it. ``seed`` and
    ``dimensions`` are those of every entry that has such a setting and does not give it itself.
    """
    entries = [_entry(name, settings, seed, dimensions) for name, settings in _pieces(text)]
    names = [entry.name for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"models names {name!r} twice; give one of them other settings or leave it out")
    if not entries:
        raise ConfigError(f"models must name one or more of {_known()}")
    return entries


def _pieces(text: str) -> Iterator[tuple[str, list[str]]]:
    """Names, each with its settings as they stand."""
    name, settings = "", list[str]()
    for piece in (piece.strip() for piece in text.split(",")):
        before, equals, _ = piece.partition("=")
        if equals and ":" not in before:
            if not name:
                raise ConfigError(f"models has the setting {piece!r} with no model before it")
            settings.append(piece)
        elif piece:
            if name:
                yield name, settings
            name, _, first = piece.partition(":")
            settings = [first] if first else []
    if name:
        yield name, settings


def _entry(base: str, settings: list[str], seed: int, dimensions: int | None) -> Entry:
    name = f"{base}:{','.join(settings)}" if settings else base
    given = dict(_setting(base, text) for text in settings)
    try:
        if base in PRESETS:
            return Entry(name, configure(base, **{"seed": seed, "dimensions": dimensions, **given}))
        if base in BASELINES:
            known = {field.name for field in fields(BASELINES[base])}
            common = {"seed": seed, **({"factors": dimensions} if dimensions else {})}
            shared = {setting: value for setting, value in common.items() if setting in known}
            return Entry(name, make_baseline(base, **{**shared, **given}))
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from error
    raise ConfigError(f"models must be of {_known()}; got {base!r}")


def _setting(base: str, text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"{text!r} of {base} is not a setting such as {base}:seed=1")
    try:
        return name.strip(), json.loads(value)
    except json.JSONDecodeError:
        return name.strip(), value.strip()


def _known() -> str:
    return ", ".join([*PRESETS, *BASELINES])
