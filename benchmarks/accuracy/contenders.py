"""The models that are compared on accuracy, by name."""

from __future__ import annotations

from vse_ens.config import Config, configure

VSE_ENS_LOGISTIC = "vse-ens, logistic"


def contender(name: str) -> Config:
    """A preset, or `vse-ens` with the logistic loss in place of the hinge."""
    if name == VSE_ENS_LOGISTIC:
        return configure("vse-ens", loss="logistic")
    return configure(name)
