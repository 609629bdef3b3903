"""Named, complete sets of settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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
CONTEXT_SOFTMAX_STEPS: dict[str, Any] = {
    **CONTEXT_STEPS,
    "epochs": 10,
    "learning_rate": 0.07,
    "learning_rate_decay": 0.82,
}

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

PRESETS: dict[str, Config] = {
    "context": Config(
        sampler="vse-ens",
        loss="softmax",
        tower="context",
        dimensions=128,
        label_pairs=-1,
        label_weights=True,
        validate=True,
        metric="overall",
        patience=3,
        refit=True,
        **CONTEXT_SOFTMAX_STEPS,
    ),
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


def configure(name: str, **given: Any) -> Config:
    """Return a preset with other settings where they are given and not None.

    Another tower or loss brings the step sizes that suit it, except for the paper's presets. ``validate=False`` also
    turns off the settings that need held-out labels.
    """
    base = preset(name)
    chosen = {setting: value for setting, value in given.items() if value is not None}
    if chosen.get("validate") is False:
        chosen = {"label_weights": False, "refit": False, **chosen}
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
