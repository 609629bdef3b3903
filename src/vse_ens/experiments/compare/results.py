"""Results of a comparison: every run with the metrics computed from its rankings, and their text form."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vse_ens.evaluate.report import Report, summarise
from vse_ens.experiments.compare.fit import CURVE_METRIC
from vse_ens.experiments.compare.store import ComparisonInfo, EntryRun, RunStore

METRICS = ("recall@5", "recall@10", "map", "mrr", "auc", "ndcg@10")
"""The metrics that a comparison shows."""


@dataclass(frozen=True)
class Result:
    """A run, and its metrics if it has rankings."""

    run: EntryRun
    report: Report | None


@dataclass(frozen=True)
class Comparison:
    """All results, in the order of the entries."""

    info: ComparisonInfo
    results: list[Result]

    @property
    def failed(self) -> bool:
        """Whether an entry failed."""
        return any(result.run.state == "failed" for result in self.results)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C stopped or skipped an entry."""
        return any(result.run.state == "not run" or result.run.stopped == "interrupt" for result in self.results)

    def best(self, metric: str) -> float | None:
        """Return the highest value of a metric."""
        return max((result.report[metric] for result in self.results if result.report), default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in the form of ``vse compare --json``."""
        info = self.info
        return {
            "models": [_result(result) for result in self.results],
            "pairs": info.pairs,
            "split": info.split,
            "budget": info.budget,
            "command": info.command,
            "machine": info.machine,
        }

    @classmethod
    def load(cls, folder: Path) -> Comparison:
        """Compute all metrics from the rankings in a folder, without training."""
        store = RunStore(folder)
        info = store.read()
        return cls(
            info,
            [Result(run, summarise(store.load_rankings(run)) if run.rankings else None) for run in info.runs],
        )


def run_notes(run: EntryRun, budget: float | None) -> list[str]:
    """Return notes on a run that failed, was stopped, or took longer than the budget."""
    if run.state != "done":
        return [f"{run.state}: {run.error}"]
    notes = []
    if run.stopped:
        reason = f"budget of {budget:g} s" if run.stopped == "budget" else "interrupt"
        notes.append(f"stopped by the {reason} at epoch {run.epochs:.4g} of {run.epochs_planned}")
    if run.over_budget:
        notes.append(f"took longer than the budget of {budget:g} s")
    return notes


def format_seconds(seconds: float | None) -> str:
    """Format seconds with about three digits."""
    if seconds is None:
        return "–"
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.3g}" if seconds >= 0.001 else "<0.001"


def format_speed(draws_per_second: float | None) -> str:
    """Format draws per second, in millions from one million on."""
    if draws_per_second is None:
        return "–"
    return f"{draws_per_second / 1e6:.1f} M" if draws_per_second >= 1e6 else f"{draws_per_second:,.0f}"


def _result(result: Result) -> dict[str, Any]:
    run = result.run
    report = result.report.to_dict() if result.report else {"metrics": {}, "intervals": {}, "groups": {}}
    speed = run.draws_per_second
    return {
        "name": run.name,
        "kind": run.kind,
        "state": run.state,
        "error": run.error,
        "seconds": None if run.seconds is None else round(run.seconds, 6),
        "stopped": run.stopped,
        "over_budget": run.over_budget,
        "epochs": None if run.epochs is None else round(run.epochs, 3),
        "epochs_planned": run.epochs_planned,
        "draws": run.draws,
        "draws_per_second": None if speed is None else round(speed, 1),
        "metrics": report["metrics"],
        "intervals": report["intervals"],
        "groups": report["groups"],
        "curve": [{"seconds": round(seconds, 6), CURVE_METRIC: value} for seconds, value in run.curve],
        "settings": run.settings,
        "rankings": run.rankings,
    }
