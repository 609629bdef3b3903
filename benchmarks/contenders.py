"""The models that are compared on accuracy, by name."""

from __future__ import annotations

from vse_ens.config import Config, preset

VSE_ENS_LOGISTIC = "vse-ens, logistic"


def contender(name: str) -> Config:
    """A preset, or the paper's sampler with the logistic loss in place of the hinge."""
    return preset("vse-ens").override(loss="logistic") if name == VSE_ENS_LOGISTIC else preset(name)
