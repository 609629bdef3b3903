"""Baselines by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from vse_ens.baselines.als import Als
from vse_ens.baselines.base import Baseline, Popularity
from vse_ens.baselines.cooccurrence import Cooccurrence
from vse_ens.baselines.ease import Ease
from vse_ens.baselines.image_knn import ImageKnn
from vse_ens.errors import ConfigError

BASELINES: dict[str, type[Baseline]] = {one.name: one for one in (Popularity, Cooccurrence, Ease, ImageKnn, Als)}


def make_baseline(name: str, **settings: Any) -> Baseline:
    """Return the baseline of that name; settings that are not given have their defaults."""
    if name not in BASELINES:
        raise ConfigError(f"baseline must be one of {', '.join(BASELINES)}; got {name!r}")
    known = [field.name for field in fields(BASELINES[name])]
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise ConfigError(
            f"unknown setting {unknown[0]!r} of the baseline {name}; "
            + (f"choose one of {', '.join(known)}" if known else "it has no settings")
        )
    return BASELINES[name](**settings)
