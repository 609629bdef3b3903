"""The models that are compared on accuracy, by name."""

from __future__ import annotations

from vse_ens.config import Config, preset

VSE_ENS_LOGISTIC = "vse-ens, logistic"
# Chosen on validation splits of the training part: the logistic loss wants draws from further down than the hinge.
_RANK_SCALE = 0.4


def contender(name: str) -> Config:
    """A preset, or `opt-auc` with the paper's sampler in place of the uniform one."""
    if name == VSE_ENS_LOGISTIC:
        return preset("opt-auc").override(sampler="vse-ens", rank_scale=_RANK_SCALE)
    return preset(name)
