"""The folder of a comparison: one Parquet file of rankings per entry, and ``comparison.json`` with everything else.

Both are written after each entry, so a comparison that is killed loses only the current entry.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from vse_ens.errors import DataError
from vse_ens.evaluate.rankings import Rankings
from vse_ens.storage.atomic import write_json

_FORMAT = 1
_FILE = "comparison.json"
_REPEAT = "remove the folder and run the comparison again"

State = Literal["done", "failed", "not run"]


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

    def load_rankings(self, run: EntryRun) -> Rankings:
        """Read the rankings of a run."""
        return Rankings.load(self.path / run.rankings)

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
