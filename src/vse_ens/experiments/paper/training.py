"""Tables 2 and 4 and figure 1: three models, each trained with the paper's settings and with ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vse_ens.config import Config
from vse_ens.data.annotations import Split
from vse_ens.evaluate.rank import evaluate
from vse_ens.evaluate.report import summarise
from vse_ens.evaluate.scorer import FunctionScorer
from vse_ens.experiments.paper.learning_curve import (
    Limits,
    Point,
    first_reaching,
    measure_learning_curve,
    score_function,
)
from vse_ens.experiments.paper.numbers import MODELS
from vse_ens.train.progress import EpochReport

SETTINGS = {"paper": "the paper's settings", "ours": "our settings"}
METRICS = ("precision@5", "recall@5", "precision@10", "recall@10", "map", "auc@10", "auc")

# A model has converged once its recall@10 is at least this fraction of its best.
_CONVERGED = 0.99
# A run may still be improving if it converged after this fraction of its epochs. A run out of time may miss many
# epochs, so its limit is lower.
_SETTLED_BEFORE = {"all epochs done": 0.9, "out of time": 2 / 3, "no improvement": 1.0}


def preset_name(settings: str, model: str) -> str:
    """Return the preset of a model with the paper's settings or ours."""
    return f"paper-{model}" if settings == "paper" else model


def preset_names() -> list[str]:
    """Return the presets of all models with both settings."""
    return [preset_name(settings, model) for settings in SETTINGS for model in MODELS]


def train_and_evaluate(
    config: Config,
    split: Split,
    limits: Limits,
    workers: int | None,
    on_epoch: Callable[[EpochReport], None],
) -> dict[str, Any]:
    """Train one model and evaluate its best point on all held-out pairs."""
    curve = measure_learning_curve(config, split, limits, workers=workers, on_epoch=on_epoch)
    scorer = FunctionScorer(split.train.images, split.train.labels, score_function(curve.best, split.train))
    report = summarise(evaluate(scorer, split.train, split.test, workers=workers), seed=config.seed)
    return {
        "config": config.to_dict(),
        "ending": curve.ending,
        "points": [{"epoch": p.epoch, "seconds": p.seconds, "recall@10": p.recall} for p in curve.points],
        "epochs": [_counts(epoch) for epoch in curve.epochs],
        "metrics": {name: report[name] for name in METRICS},
        "intervals": {name: list(report.intervals[name]) for name in METRICS},
    }


def _counts(epoch: EpochReport) -> dict[str, Any]:
    return {
        "draws": epoch.draws,
        "tries": epoch.tries,
        "violations": epoch.violations,
        "given_up": epoch.given_up,
        "seconds": epoch.seconds,
    }


def curve_points(run: dict[str, Any]) -> list[Point]:
    """Return the points of a run."""
    return [Point(point["epoch"], point["seconds"], point["recall@10"]) for point in run["points"]]


def best_point(run: dict[str, Any]) -> Point:
    """Return the point with the highest recall@10."""
    return max(curve_points(run), key=lambda point: point.recall)


def convergence_point(run: dict[str, Any]) -> Point:
    """Return the first point within 1 % of the best."""
    best = best_point(run)
    return first_reaching(curve_points(run), _CONVERGED * best.recall) or best


def still_rising(run: dict[str, Any]) -> bool:
    """Return whether the run ended before the model settled, so that its convergence time is a lower bound."""
    return convergence_point(run).epoch > _SETTLED_BEFORE[run["ending"]] * curve_points(run)[-1].epoch


def common_level(runs: Sequence[dict[str, Any]]) -> float:
    """Return a recall@10 that all runs reach: 99 % of the lowest of their best values."""
    return _CONVERGED * min(best_point(run).recall for run in runs)


def tries_per_draw(run: dict[str, Any]) -> list[float]:
    """Return the number of labels examined per training step, by epoch."""
    return [epoch["tries"] / epoch["draws"] for epoch in run["epochs"]]
