"""Named, complete sets of settings, and files of settings that change one of them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from vse_ens.config import Config
from vse_ens.errors import ConfigError

# Step sizes and epochs that suit a loss, with any sampler: docs/training.md says how they were found.
STEPS: dict[str, dict[str, Any]] = {
    "hinge": {
        "epochs": 160,
        "learning_rate": 0.075,
        "learning_rate_decay": 0.985,
        "regularization": 0.03,
        "bias_regularization": 0.08,
        "rank_scale": 0.15,
    },
    "warp": {
        "epochs": 40,
        "learning_rate": 0.013,
        "learning_rate_decay": 0.96,
        "regularization": 0.5,
        "bias_regularization": 0.7,
        "rank_scale": 0.15,
    },
    "logistic": {
        "epochs": 300,
        "learning_rate": 0.1,
        "learning_rate_decay": 1.0,
        "regularization": 0.003,
        "bias_regularization": 0.003,
        "rank_scale": 0.3,
    },
    "softmax": {
        "epochs": 60,
        "learning_rate": 0.1,
        "learning_rate_decay": 0.97,
        "regularization": 0.003,
        "bias_regularization": 0.003,
        "rank_scale": 0.3,
    },
}

# The context tower is trained with AdaGrad, which needs other values.
CONTEXT_STEPS: dict[str, Any] = {
    "epochs": 40,
    "learning_rate": 0.05,
    "learning_rate_decay": 0.93,
    "regularization": 0.001,
    "bias_regularization": 0.001,
    "init_scale": 0.02,
    "rank_scale": 0.0,
}

# With the softmax loss it needs fewer epochs: docs/context.md.
CONTEXT_SOFTMAX_STEPS: dict[str, Any] = {**CONTEXT_STEPS, "epochs": 16}

# Settings of the paper's experiments. N(0, 0.01) is read as a standard deviation; init_scale 0.1 is the other reading.
# The paper tunes lambda (rank_scale) between 0.001 and 1 and does not print the value found.
_PAPER = Config(
    engine="serial",
    positives="iid",
    dimensions=100,
    learning_rate=0.01,
    regularization=0.01,
    init_scale=0.01,
    rank_scale=0.1,
    label_bias=False,
)

_CONTEXT = Config(
    sampler="vse-ens",
    loss="softmax",
    tower="context",
    dimensions=128,
    label_pairs=-1,
    label_weights=True,
    neighbors=True,
    validate=True,
    metric="overall",
    patience=4,
    refit=True,
    **CONTEXT_SOFTMAX_STEPS,
)

PRESETS: dict[str, Config] = {
    "context": _CONTEXT,
    # The same model with less and with more work: docs/performance.md.
    "quick": replace(_CONTEXT, epochs=6, learning_rate=0.065, learning_rate_decay=0.82),
    "thorough": replace(_CONTEXT, members=5),
    "vse-ens": Config(sampler="vse-ens", loss="hinge", **STEPS["hinge"]),
    "warp": Config(sampler="warp", loss="warp", **STEPS["warp"]),
    "opt-auc": Config(sampler="uniform", loss="logistic", **STEPS["logistic"]),
    # Epochs are the iterations until convergence that the paper reports. Algorithm 1 keeps a drawn positive; WARP and
    # Opt-AUC draw from the labels that the image does not have.
    "paper-vse-ens": replace(_PAPER, sampler="vse-ens", loss="hinge", epochs=200, redraw_positives=False),
    "paper-warp": replace(_PAPER, sampler="warp", loss="warp", epochs=150),
    "paper-opt-auc": replace(_PAPER, sampler="uniform", loss="logistic", epochs=800),
}


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
            f"{path} is not a preset file ({fault}); it needs preset, one of {', '.join(PRESETS)}, "
            "and a table [settings]"
        )
    try:
        _configure(base, settings)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    return PresetFile(base, settings)


def read_toml(path: str | Path, what: str) -> dict[str, Any]:
    """Read a TOML file; ``what`` it is, for messages."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"the {what} {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the {what} {path} is not TOML: {error}") from error


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
        wanted = _steps(chosen.get("tower", base.tower), chosen.get("loss", base.loss))
        if wanted != _steps(base.tower, base.loss):
            chosen = {**wanted, **chosen}
    return base.override(**chosen)


def _steps(tower: str, loss: str) -> dict[str, Any]:
    """Return the step sizes of a tower and loss; defaults for an unknown name, which `Config` refuses."""
    if "context" in tower:
        return CONTEXT_SOFTMAX_STEPS if loss == "softmax" else CONTEXT_STEPS
    return {"init_scale": Config.init_scale, **STEPS.get(loss, {})}
