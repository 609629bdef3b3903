"""Results of a comparison: every run with the metrics computed from its rankings, their text form, and their folder.

The folder has one Parquet file of rankings per entry, and ``comparison.json`` with everything else. Both are written
after each entry, so a comparison that is killed loses only the current entry.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from vse_ens.errors import DataError
from vse_ens.evaluate.rankings import Rankings
from vse_ens.evaluate.report import Report, summarize
from vse_ens.storage.atomic import write_json

METRICS = ("recall@5", "recall@10", "map", "mrr", "auc", "ndcg@10")
"""The metrics that a comparison shows."""
CURVE_METRIC = "recall@10"
"""The metric of the curves over training time."""

_FORMAT = 1
_FILE = "comparison.json"
_REPEAT = "remove the folder and run the comparison again"
State = Literal["done", "failed", "not run"]


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
        info = RunStore(folder).read()
        loaded = ((run, Rankings.load(folder / run.rankings) if run.rankings else None) for run in info.runs)
        return cls(info, [Result(run, summarize(rankings) if rankings else None) for run, rankings in loaded])


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
    return asdict(run) | {
        "seconds": None if run.seconds is None else round(run.seconds, 6),
        "epochs": None if run.epochs is None else round(run.epochs, 3),
        "draws_per_second": None if speed is None else round(speed, 1),
        "metrics": report["metrics"],
        "intervals": report["intervals"],
        "groups": report["groups"],
        "curve": [{"seconds": round(seconds, 6), CURVE_METRIC: value} for seconds, value in run.curve],
    }


@dataclass(frozen=True)
class EntryRun:
    """The outcome of one entry, without its metrics."""

    name: str
    kind: str
    settings: dict[str, Any]
    state: State
    error: str = ""
    """Why there is no result."""
    seconds: float | None = None
    """Training time."""
    stopped: str = ""
    """``budget`` or ``interrupt`` if training ended early."""
    over_budget: bool = False
    """Whether a baseline, which cannot be stopped, took longer than the budget."""
    epochs: float | None = None
    epochs_planned: int | None = None
    draws: int | None = None
    curve: list[tuple[float, float]] = field(default_factory=list)
    rankings: str = ""
    """Name of the file of rankings beside comparison.json."""

    @property
    def draws_per_second(self) -> float | None:
        """Training draws per second of training."""
        return self.draws / self.seconds if self.draws is not None and self.seconds else None


@dataclass
class ComparisonInfo:
    """The content of comparison.json."""

    pairs: str
    """Path of the pairs as given."""
    split: dict[str, Any]
    budget: float | None
    command: str
    machine: dict[str, str]
    runs: list[EntryRun] = field(default_factory=list)


class RunStore:
    """Reads and writes the folder of one comparison."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def clear(self) -> None:
        """Delete the rankings of an earlier comparison; refuse a folder that contains anything else."""
        if not self.path.exists() or (self.path.is_dir() and not any(self.path.iterdir())):
            return
        if not (self.path / _FILE).is_file():
            raise DataError(f"{self.path} is not empty and has no {_FILE}; choose another folder for the rankings")
        for run in self.read().runs:
            if run.rankings:
                (self.path / run.rankings).unlink(missing_ok=True)

    def save_rankings(self, base_name: str, rankings: Rankings, earlier: list[EntryRun]) -> str:
        """Write rankings and return the file name, which is numbered if an earlier run has the same base name."""
        names = {run.rankings for run in earlier}
        number = 1
        while (name := f"{base_name}{f'-{number}' if number > 1 else ''}.parquet") in names:
            number += 1
        rankings.save(self.path / name)
        return name

    def write(self, info: ComparisonInfo) -> None:
        """Write comparison.json atomically."""
        write_json(self.path / _FILE, {"format": _FORMAT, **asdict(info)})

    def read(self) -> ComparisonInfo:
        """Read comparison.json."""
        path = self.path / _FILE
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise DataError(f"{self.path} has no {_FILE}; give a folder written by vse compare") from None
        except (OSError, ValueError) as error:
            raise DataError(f"{path} cannot be read: {error}; {_REPEAT}") from error
        try:
            if document.pop("format") != _FORMAT:
                raise DataError(f"{path} is not of format {_FORMAT}; {_REPEAT}")
            runs = [
                EntryRun(**{**run, "curve": [(float(x), float(y)) for x, y in run["curve"]]})
                for run in document.pop("runs")
            ]
            if any(Path(run.rankings).name != run.rankings for run in runs):
                raise DataError(f"{path} names rankings outside its folder; {_REPEAT}")
            return ComparisonInfo(**document, runs=runs)
        except (AttributeError, KeyError, TypeError) as error:
            raise DataError(f"{path} is damaged ({error}); {_REPEAT}") from error
