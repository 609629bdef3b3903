"""Baselines by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from vse_ens.baselines.als import Als
from vse_ens.baselines.contract import Baseline
from vse_ens.baselines.cooccurrence import Cooccurrence
from vse_ens.baselines.ease import Ease
from vse_ens.baselines.popularity import Popularity
from vse_ens.errors import ConfigError

BASELINES: dict[str, type[Baseline]] = {one.name: one for one in (Popularity, Cooccurrence, Ease, Als)}


def make_baseline(name: str, **settings: Any) -> Baseline:
    """The baseline of that name with these settings; the others as they are by default."""
    if name not in BASELINES:
        raise ConfigError(f"baseline must be one of {', '.join(BASELINES)}; got {name!r}")
    known = [field.name for field in fields(BASELINES[name])]
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise ConfigError(
            f"unknown setting {unknown[0]!r} of the baseline {name}; "
            + (f"known are {', '.join(known)}" if known else "it has none")
        )
    return BASELINES[name](**settings)
