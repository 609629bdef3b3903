"""Finished parts of the work, kept on disk: what was done is not done again.

The whole reproduction, part by part; ``report.json`` and ``report.html`` are up to date after each.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from vse_ens import __version__
from vse_ens.experiments.machine import describe_machine
from vse_ens.experiments.paper import draws, example
from vse_ens.experiments.paper.data_sets import DataSet, load
from vse_ens.experiments.paper.findings import findings
from vse_ens.experiments.paper.learning_curve import Limits
from vse_ens.experiments.paper.numbers import DATA_SETS, KNOWN, Paper
from vse_ens.experiments.paper.page import page
from vse_ens.experiments.paper.training import presets, train
from vse_ens.presets import preset
from vse_ens.storage.atomic import write_json
from vse_ens.train.progress import EpochReport

_FORMAT = 1


@dataclass(frozen=True)
class Parts:
    """A folder with one JSON file for each part."""

    folder: Path
    fresh: bool = False
    """Do every part anew."""

    def get(self, name: str, key: dict[str, Any], work: Callable[[], Any]) -> Any:
        """The result of a part: as it was kept if it was done with the same ``key``, else done now, and kept."""
        path = self.folder / f"{name}.json"
        key = {"format": _FORMAT, **key}
        kept = None if self.fresh else _read(path)
        if kept is not None and kept.get("key") == key:
            return kept["result"]
        result = work()
        write_json(path, {"key": key, "result": result}, indent=1)
        return result


def _read(path: Path) -> dict[str, Any] | None:
    """What a file holds; None where there is none or it is damaged: the part is then done again."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return kept if isinstance(kept, dict) and "result" in kept else None


@dataclass(frozen=True)
class Effort:
    """How much is done."""

    name: str
    shares: Mapping[str, float]
    """Of the images and pairs of each stand-in."""
    limits: Limits
    grid: draws.Grid


QUICK = Effort(
    "quick",
    {"iaprtc12": 1.0, "nuswide": 0.05, "openimages": 0.1},
    Limits(points=16, seconds=20.0, scores=24_000_000),
    draws.Grid((50, 100, 200), (100, 1_000, 10_000)),
)
FULL = Effort(
    "full",
    dict.fromkeys(DATA_SETS, 1.0),
    Limits(points=30, seconds=600.0, scores=120_000_000),
    draws.Grid((25, 50, 100, 200, 400), (100, 300, 1_000, 3_000, 10_000, 30_000)),
)


class Watcher(Protocol):
    """Who is told how it goes."""

    def part(self, name: str, number: int, of: int) -> None:
        """A part of the work begins."""

    def epoch(self, report: EpochReport, epochs: int) -> None:
        """A model has trained an epoch."""

    def step(self, text: str) -> None:
        """A part is at this step."""


def reproduce(
    out: Path,
    watcher: Watcher,
    *,
    effort: Effort = FULL,
    paths: Mapping[str, Path] | None = None,
    paper: Paper = KNOWN,
    seed: int = 0,
    workers: int | None = None,
    fresh: bool = False,
) -> dict[str, Any]:
    """Do everything that is not done yet in ``out``, write the report there, and return what report.json holds."""
    work = _Work(effort, paths or {}, paper, seed, workers, Parts(out / "parts", fresh), watcher)
    document: dict[str, Any] = {
        "vse_ens": __version__,
        "complete": False,
        "effort": effort.name,
        "seed": seed,
        "limits": {**asdict(effort.limits), "seconds": min(effort.limits.seconds, 1e9)},
        "grid": {
            name: list(values) if isinstance(values, tuple) else values for name, values in asdict(effort.grid).items()
        },
        "machine": describe_machine(),
        "paper": paper.to_dict(),
        "data_sets": {},
        "models": {name: {} for name in DATA_SETS},
        "draws": [],
        "example": None,
        "seconds": 0.0,
    }
    began = time.perf_counter()
    for _ in work.into(document):
        document["seconds"] = time.perf_counter() - began
        document["findings"] = [asdict(finding) for finding in findings(document)]
        write_json(out / "report.json", document, indent=1)
        page(document).write(out / "report.html")
    return document


@dataclass(frozen=True)
class _Work:
    """The parts in order."""

    effort: Effort
    paths: Mapping[str, Path]
    paper: Paper
    seed: int
    workers: int | None
    parts: Parts
    watcher: Watcher

    def into(self, document: dict[str, Any]) -> Iterator[None]:
        """Fill the document, and yield after every part."""
        count = 2 + len(DATA_SETS) * (1 + len(presets()))
        number = 0

        def begin(name: str) -> None:
            nonlocal number
            number += 1
            self.watcher.part(name, number, count)

        begin("figure 2: a draw step by step")
        document["example"] = example.draw(self.seed)
        yield
        begin("table 3: what a draw costs")
        key = {"seed": self.seed, "grid": document["grid"]}
        document["draws"] = self.parts.get(
            "draws", key, lambda: draws.measure(self.effort.grid, self.seed, self.watcher.step)
        )
        yield
        for name, title in DATA_SETS.items():
            begin(f"table 1: {title}")
            data_set = load(name, self.paths.get(name), self.paper, self.effort.shares[name], self.seed)
            document["data_sets"][name] = data_set.describe()
            yield
            for method in presets():
                begin(f"tables 2 and 4: {method} on {title}")
                document["models"][name][method] = self._trained(data_set, method, document["limits"])
                document["complete"] = number == count
                yield

    def _trained(self, data_set: DataSet, method: str, limits: dict[str, Any]) -> Any:
        config = preset(method).override(seed=self.seed)
        key = {"config": config.to_dict(), "pairs": data_set.digest, "limits": limits}

        def tell(report: EpochReport) -> None:
            self.watcher.epoch(report, config.epochs)

        return self.parts.get(
            f"{data_set.name}-{method}",
            key,
            lambda: train(config, data_set.split, self.effort.limits, self.workers, tell),
        )
