"""Tables 2 and 4 and figure 1: three models, trained with the paper's settings and with ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vse_ens.config import Config
from vse_ens.data.annotations import Split
from vse_ens.evaluate.rank import evaluate
from vse_ens.evaluate.report import summarise
from vse_ens.evaluate.scorer import FunctionScorer
from vse_ens.experiments.paper.learning_curve import Limits, Point, learn, scores_by, time_to
from vse_ens.experiments.paper.numbers import MODELS
from vse_ens.train.progress import EpochReport

SETTINGS = {"paper": "the paper's settings", "ours": "our settings"}
METRICS = ("precision@5", "recall@5", "precision@10", "recall@10", "map", "auc@10", "auc")

# A model has converged when it is this near to the best it ever gets.
NEAR = 0.99
# It may still have been rising where it came so near only in the last part of its run, of which much may be missing
# where time was up.
_LAST_PART = {"all epochs done": 0.9, "out of time": 2 / 3, "no better any more": 1.0}


def preset_of(settings: str, model: str) -> str:
    """The preset of a model with the paper's settings or ours."""
    return f"paper-{model}" if settings == "paper" else model


def presets() -> list[str]:
    """All six."""
    return [preset_of(settings, model) for settings in SETTINGS for model in MODELS]


def train(
    config: Config,
    split: Split,
    limits: Limits,
    workers: int | None,
    tell: Callable[[EpochReport], None],
) -> dict[str, Any]:
    """Train one model; the figures are those of its best point, on all held-out pairs."""
    learnt = learn(config, split, limits, workers=workers, tell=tell)
    scorer = FunctionScorer(split.train.images, split.train.labels, scores_by(learnt.best, split.train))
    report = summarise(evaluate(scorer, split.train, split.test, workers=workers), seed=config.seed)
    return {
        "config": config.to_dict(),
        "ending": learnt.ending,
        "points": [{"epoch": p.epoch, "seconds": p.seconds, "recall@10": p.recall} for p in learnt.points],
        "epochs": [_counts(epoch) for epoch in learnt.epochs],
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


def curve(run: dict[str, Any]) -> list[Point]:
    """The points of a run."""
    return [Point(point["epoch"], point["seconds"], point["recall@10"]) for point in run["points"]]


def best_of(run: dict[str, Any]) -> Point:
    """Where a run was best."""
    return max(curve(run), key=lambda point: point.recall)


def converged(run: dict[str, Any]) -> Point:
    """The first point within 1 % of the best."""
    found = time_to(curve(run), NEAR * best_of(run).recall)
    return found or best_of(run)


def still_rising(run: dict[str, Any]) -> bool:
    """Whether the run ended before the model had settled: its time to convergence is then a lower bound."""
    return converged(run).epoch > _LAST_PART[run["ending"]] * curve(run)[-1].epoch


def common_level(runs: Sequence[dict[str, Any]]) -> float:
    """A recall@10 that all runs reach: nearly the best of the worst of them."""
    return NEAR * min(best_of(run).recall for run in runs)


def tries(run: dict[str, Any]) -> list[float]:
    """Labels looked at for one step, epoch by epoch."""
    return [epoch["tries"] / epoch["draws"] for epoch in run["epochs"]]
