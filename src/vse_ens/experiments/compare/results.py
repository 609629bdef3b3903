"""What a comparison found: every run with the metrics of its rankings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vse_ens.evaluate.report import Report, summarise
from vse_ens.experiments.compare.fit import CURVE_METRIC
from vse_ens.experiments.compare.store import Folder, Record, Run

METRICS = ("recall@5", "recall@10", "map", "mrr", "auc", "ndcg@10")
"""The metrics a comparison shows."""


@dataclass(frozen=True)
class Result:
    """A run with the metrics of its rankings, if it has any."""

    run: Run
    report: Report | None


@dataclass(frozen=True)
class Comparison:
    """All results, in the order asked for."""

    record: Record
    results: list[Result]

    @property
    def failed(self) -> bool:
        """Whether an entry has no result by its own fault."""
        return any(result.run.state == "failed" for result in self.results)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C kept an entry from its end."""
        return any(result.run.state == "not run" or result.run.stopped == "interrupt" for result in self.results)

    def best(self, metric: str) -> float | None:
        """The highest value of a metric."""
        return max((result.report[metric] for result in self.results if result.report), default=None)

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        record = self.record
        return {
            "models": [_result(result) for result in self.results],
            "pairs": record.pairs,
            "split": record.split,
            "budget": record.budget,
            "command": record.command,
            "machine": record.machine,
        }

    @classmethod
    def load(cls, folder: Path) -> Comparison:
        """All metrics anew from the rankings in a folder; nothing is trained."""
        store = Folder(folder)
        record = store.read()
        return cls(
            record,
            [Result(run, summarise(store.rankings(run)) if run.rankings else None) for run in record.runs],
        )


def _result(result: Result) -> dict[str, Any]:
    run = result.run
    found = result.report.to_dict() if result.report else {"metrics": {}, "intervals": {}, "groups": {}}
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
        "metrics": found["metrics"],
        "intervals": found["intervals"],
        "groups": found["groups"],
        "curve": [{"seconds": round(seconds, 6), CURVE_METRIC: value} for seconds, value in run.curve],
        "settings": run.settings,
        "rankings": run.rankings,
    }
