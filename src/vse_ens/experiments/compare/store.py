"""What a comparison leaves on disk: the rankings of every entry, and ``comparison.json`` with all that is not in them.

Both are written as each entry is done, so that a comparison that is killed has lost only the entry it was at.

Runs in words.
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
_DOCUMENT = "comparison.json"

State = Literal["done", "failed", "not run"]


@dataclass(frozen=True)
class Run:
    """What happened to one entry."""

    name: str
    kind: str
    settings: dict[str, Any]
    state: State
    error: str = ""
    """Why there is no result."""
    seconds: float | None = None
    """Fitting alone."""
    stopped: str = ""
    """``budget`` or ``interrupt`` where that ended it before its own end."""
    over_budget: bool = False
    """It could not be stopped and took longer than the budget."""
    epochs: float | None = None
    epochs_planned: int | None = None
    draws: int | None = None
    curve: list[tuple[float, float]] = field(default_factory=list)
    rankings: str = ""
    """The file beside comparison.json."""

    @property
    def draws_per_second(self) -> float | None:
        """Pairs visited a second of fitting."""
        return self.draws / self.seconds if self.draws is not None and self.seconds else None


@dataclass
class Record:
    """All of comparison.json."""

    pairs: str
    """The file that was read."""
    split: dict[str, Any]
    budget: float | None
    command: str
    machine: dict[str, str]
    runs: list[Run] = field(default_factory=list)


class Folder:
    """A folder with one comparison."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def clear(self) -> None:
        """Make room for a new comparison in the place of an earlier one; a folder of anything else is refused."""
        if not self.path.exists() or (self.path.is_dir() and not any(self.path.iterdir())):
            return
        if not (self.path / _DOCUMENT).is_file():
            raise DataError(f"{self.path} holds no {_DOCUMENT} and is not empty; choose another place for the rankings")
        for run in self.read().runs:
            if run.rankings:
                (self.path / run.rankings).unlink(missing_ok=True)

    def keep(self, base: str, rankings: Rankings, taken: list[Run]) -> str:
        """Write rankings and return the name of the file: the entry's, numbered where settings alone differ."""
        names = {run.rankings for run in taken}
        number = 1
        while (name := f"{base}{f'-{number}' if number > 1 else ''}.parquet") in names:
            number += 1
        rankings.save(self.path / name)
        return name

    def write(self, record: Record) -> None:
        """Write comparison.json atomically."""
        write_json(self.path / _DOCUMENT, {"format": _FORMAT, **asdict(record)})

    def read(self) -> Record:
        """Read comparison.json."""
        path = self.path / _DOCUMENT
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise DataError(f"{self.path} has no {_DOCUMENT}: it is no folder that vse compare wrote") from None
        except (OSError, ValueError) as error:
            raise DataError(
                f"{path} cannot be read: {error}; remove the folder and run the comparison again"
            ) from error
        try:
            if document.pop("format") != _FORMAT:
                raise DataError(f"{path} is not of format {_FORMAT}; remove the folder and run the comparison again")
            runs = [
                Run(**{**run, "curve": [(float(x), float(y)) for x, y in run["curve"]]}) for run in document.pop("runs")
            ]
            if any(Path(run.rankings).name != run.rankings for run in runs):
                raise DataError(f"{path} names rankings outside its folder; remove it and run the comparison again")
            return Record(**document, runs=runs)
        except (AttributeError, KeyError, TypeError) as error:
            raise DataError(f"{path} is damaged ({error}); remove the folder and run the comparison again") from error

    def rankings(self, run: Run) -> Rankings:
        """The rankings of a run."""
        return Rankings.load(self.path / run.rankings)


def remarks(run: Run, budget: float | None) -> list[str]:
    """What a reader must know of a run to judge its figures."""
    if run.state != "done":
        return [f"{run.state}: {run.error}"]
    found = []
    if run.stopped:
        why = f"budget of {budget:g} s" if run.stopped == "budget" else "interrupt"
        found.append(f"stopped by the {why} at epoch {run.epochs:.4g} of {run.epochs_planned}")
    if run.over_budget:
        found.append(f"took longer than the budget of {budget:g} s")
    return found


def seconds_text(seconds: float | None) -> str:
    """Seconds with about three digits."""
    if seconds is None:
        return "–"
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.3g}" if seconds >= 0.001 else "<0.001"


def speed_text(draws_per_second: float | None) -> str:
    """Draws a second, in millions where there are that many."""
    if draws_per_second is None:
        return "–"
    return f"{draws_per_second / 1e6:.1f} M" if draws_per_second >= 1e6 else f"{draws_per_second:,.0f}"
