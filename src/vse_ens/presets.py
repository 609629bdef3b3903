"""Named, complete sets of settings, and files of settings that change one of them."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from vse_ens.config import Config
from vse_ens.errors import ConfigError
from vse_ens.system import open_regular

_MAX_BYTES, _MAX_REASON = 1 << 14, 300


def read_toml(path: str | Path, what: str) -> dict[str, Any]:
    """Read a TOML file; ``what`` it is, for messages."""
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            return tomllib.loads(file.read(_MAX_BYTES).decode())
    except OSError as error:
        raise ConfigError(f"the {what} {path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the {what} {path} is not TOML: {str(error)[:_MAX_REASON]}") from error


_FILE = read_toml(Path(__file__).with_name("presets.toml"), "presets")
STEPS: dict[str, dict[str, Any]] = _FILE["steps"]
CONTEXT_STEPS: dict[str, Any] = _FILE["context-steps"]
CONTEXT_SOFTMAX_STEPS: dict[str, Any] = {**CONTEXT_STEPS, **_FILE["context-softmax-steps"]}


def _steps(tower: str, loss: str) -> dict[str, Any]:
    """Return the step sizes of a tower and loss; defaults for an unknown name, which `Config` refuses."""
    if "context" in tower:
        return CONTEXT_SOFTMAX_STEPS if loss == "softmax" else CONTEXT_STEPS
    return {"init_scale": Config.init_scale, **STEPS.get(loss, {})}


def _presets(tables: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Config]]:
    """Yield the presets, each with the settings in its table in place of those of the preset that it is like."""
    found: dict[str, Config] = {}
    for name, table in tables.items():
        settings = dict(table)
        if like := settings.pop("like", None):
            found[name] = replace(found[like], **settings)
        else:
            steps = {} if name.startswith("paper-") else _steps(settings.get("tower", ""), settings["loss"])
            found[name] = Config(**{**steps, **settings})
        yield name, found[name]


PRESETS: dict[str, Config] = dict(_presets(_FILE["presets"]))


def preset(name: str) -> Config:
    """Return the settings of a named preset."""
    if name not in PRESETS:
        raise ConfigError(f"preset must be one of {', '.join(PRESETS)}; got {name!r}")
    return PRESETS[name]


class PresetFile(NamedTuple):
    """The content of a preset file: a named preset, and the settings that differ from it."""

    base: str
    settings: dict[str, Any]


def is_preset_file(name: str) -> bool:
    """Return whether a preset is given by a file rather than by its name."""
    return name.endswith(".toml")


def read_preset_file(path: str | Path) -> PresetFile:
    """Read a preset file; `preset_text` makes its content."""
    content = read_toml(path, "preset file")
    unknown = sorted(set(content) - {"preset", "settings"})
    base, settings = content.get("preset"), content.get("settings", {})
    if unknown or not isinstance(base, str) or base not in PRESETS or not isinstance(settings, dict):
        fault = f"it has {unknown[0]!r}" if unknown else f"its preset is {base!r}"
        raise ConfigError(
            f"{path} is not a preset file ({fault[:_MAX_REASON]}); it needs preset, one of {', '.join(PRESETS)}, "
            "and a table [settings]"
        )
    try:
        _configure(base, settings)
    except ConfigError as error:
        raise ConfigError(f"{path}: {str(error)[:_MAX_REASON]}") from error
    return PresetFile(base, settings)


def preset_text(base: str, settings: Mapping[str, Any], comment: str = "") -> str:
    """Return the text of a preset file; ``comment`` is written above it."""
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    # JSON writes text, numbers, true and false as TOML does.
    lines += [f"preset = {json.dumps(base)}", "", "[settings]"]
    lines += [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in settings.items()]
    return "\n".join([*lines, ""])


def configure(name: str, **given: Any) -> Config:
    """Return a preset with other settings where they are given and not None.

    ``name`` is a preset, or the path of a preset file, which ends in ``.toml``. Another tower or loss brings the
    step sizes that suit it, except for the paper's presets. ``validate=False`` also turns off the settings that
    need held-out labels.
    """
    chosen = {setting: value for setting, value in given.items() if value is not None}
    if is_preset_file(name):
        file = read_preset_file(name)
        return _configure(file.base, file.settings | chosen)
    return _configure(name, chosen)


def settings_of(name: str, config: Config) -> dict[str, Any]:
    """Return the settings that turn a preset into a configuration, always with sampler, loss and tower."""
    method = {"sampler": config.sampler, "loss": config.loss, "tower": config.tower}
    base = configure(name, **method, seed=config.seed).to_dict()
    return {**method, **{key: value for key, value in config.to_dict().items() if base[key] != value}}


def _configure(name: str, chosen: Mapping[str, Any]) -> Config:
    base = preset(name)
    if chosen.get("validate") is False:
        chosen = {"label_weights": False, "neighbors": False, "refit": False, **chosen}
    if not name.startswith("paper-"):
        wanted = _steps(str(chosen.get("tower", base.tower)), str(chosen.get("loss", base.loss)))
        if wanted != _steps(base.tower, base.loss):
            chosen = {**wanted, **chosen}
    return base.override(**chosen)
