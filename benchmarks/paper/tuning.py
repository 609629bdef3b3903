"""Settings chosen as the paper says: rate and regularization of the rivals in 0.001..0.1, lambda in 0.001..1.

Every candidate is trained without one more label of every image, and is measured on those labels. The grids are ordered
from coarse to fine, so that a smaller budget still covers the whole range.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from benchmarks.paper.numbers import RIVALS
from vse_ens.config import Config

TUNING_METRIC = "recall@10"
BEST = "best recall@10"

_RATES = (0.001, 0.003, 0.01, 0.03, 0.1)
_LAMBDAS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)

Settings = dict[str, float]


def candidates(model: str, labels: int) -> list[Settings]:
    """Return the settings to try for a model, coarse grid first."""
    if model in RIVALS:
        grid = product(_by_coarseness(_RATES), repeat=2)
        pairs = [{"learning_rate": rate, "regularization": decay} for rate, decay in grid]
        return sorted(pairs, key=lambda one: _is_fine(one.values()))
    shares = [*_by_coarseness(_LAMBDAS), literal_share(labels)]
    return [{"rank_scale": share} for share in sorted(set(shares), key=shares.index)]


def literal_share(labels: int) -> float:
    """Return lambda as a share of |A| if the largest lambda of the paper, 1, counts ranks, as its text prints."""
    return 1.0 / labels


def best_candidate(results: Sequence[Mapping[str, Any]], by: str = TUNING_METRIC) -> Mapping[str, Any] | None:
    """Return the candidate with the highest recall@10 on the labels held out of the training part.

    With `BEST` the recall at the best iteration counts, where the training is to stop, else that at the last.
    """
    return max(results, key=lambda one: float(one[by]), default=None)


def candidate(settings: Settings, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of the training of a candidate: recall@10 after the last iteration, and after the best."""
    top = max(result["points"], key=lambda point: float(point[2]), default=(0, 0.0, 0.0))
    return {
        "settings": settings,
        TUNING_METRIC: result["metrics"][TUNING_METRIC],
        "map": result["metrics"]["map"],
        BEST: top[2],
        "best_iteration": top[0],
        "ending": result["ending"],
        "seconds": result["seconds"],
    }


def is_at_edge(model: str, settings: Mapping[str, float]) -> bool:
    """Return whether a chosen value is at an end of its range, so that a wider range might be better."""
    ends = {value for grid in ((_RATES,) if model in RIVALS else (_LAMBDAS,)) for value in (grid[0], grid[-1])}
    return any(value in ends for value in settings.values())


def tuned_settings(config: Config) -> Settings:
    """Return the tuned settings of a configuration: rate and regularization, and lambda for VSE-ens."""
    names = ("learning_rate", "regularization") + (("rank_scale",) if config.sampler in ("vse-ens", "naive") else ())
    return {name: getattr(config, name) for name in names}


def _by_coarseness(grid: Sequence[float]) -> list[float]:
    """Return the powers of ten first."""
    return sorted(grid, key=_is_fine_value)


def _is_fine(values: Iterable[float]) -> int:
    return sum(_is_fine_value(value) for value in values)


def _is_fine_value(value: float) -> bool:
    return f"{value:e}".startswith("3")
