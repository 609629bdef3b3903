"""The whole reproduction, in parts; ``report.json`` and ``report.html`` are updated after each part.

Results of finished parts are cached on disk and reused.
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
from vse_ens.experiments.paper.data_sets import DataSet, load_data_set
from vse_ens.experiments.paper.draws import Grid, measure_costs
from vse_ens.experiments.paper.example import draw_example
from vse_ens.experiments.paper.findings import findings_of
from vse_ens.experiments.paper.learning_curve import Limits
from vse_ens.experiments.paper.numbers import DATA_SETS, KNOWN_NUMBERS, PaperNumbers
from vse_ens.experiments.paper.page import reproduction_page
from vse_ens.experiments.paper.training import preset_names, train_and_evaluate
from vse_ens.presets import preset
from vse_ens.storage.atomic import write_json
from vse_ens.train.progress import EpochReport

_CACHE_FORMAT = 2


@dataclass(frozen=True)
class Effort:
    """The size of a reproduction."""

    name: str
    fractions: Mapping[str, float]
    """Fraction of the images and pairs of each synthetic data set."""
    limits: Limits
    grid: Grid


QUICK = Effort(
    "quick",
    {"iaprtc12": 1.0, "nuswide": 0.05, "openimages": 0.1},
    Limits(points=16, seconds=20.0, scores=24_000_000),
    Grid((50, 100, 200), (100, 1_000, 10_000)),
)
FULL = Effort(
    "full",
    dict.fromkeys(DATA_SETS, 1.0),
    Limits(points=30, seconds=600.0, scores=120_000_000),
    Grid((25, 50, 100, 200, 400), (100, 300, 1_000, 3_000, 10_000, 30_000)),
)


class ProgressListener(Protocol):
    """Receives the progress of a reproduction."""

    def part(self, name: str, number: int, of: int) -> None:
        """Handle the start of a part."""

    def epoch(self, report: EpochReport, epochs: int) -> None:
        """Handle the end of a training epoch."""

    def step(self, text: str) -> None:
        """Handle the start of a step within a part."""


def reproduce(
    out: Path,
    listener: ProgressListener,
    *,
    effort: Effort = FULL,
    paths: Mapping[str, Path] | None = None,
    paper: PaperNumbers = KNOWN_NUMBERS,
    seed: int = 0,
    workers: int | None = None,
    fresh: bool = False,
) -> dict[str, Any]:
    """Run all parts that ``out`` has no result of, write the report there, and return the content of report.json."""
    experiments = _Experiments(effort, paths or {}, paper, seed, workers, ResultCache(out / "parts", fresh), listener)
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
    start = time.perf_counter()
    for _ in experiments.run(document):
        document["seconds"] = time.perf_counter() - start
        document["findings"] = [asdict(finding) for finding in findings_of(document)]
        write_json(out / "report.json", document, indent=1)
        reproduction_page(document).write(out / "report.html")
    return document


@dataclass(frozen=True)
class ResultCache:
    """A folder with the result of each finished part as a JSON file."""

    folder: Path
    fresh: bool = False
    """Ignore stored results."""

    def get(self, name: str, key: dict[str, Any], compute: Callable[[], Any]) -> Any:
        """Return the stored result of a part if its ``key`` is the same; otherwise compute and store it."""
        path = self.folder / f"{name}.json"
        key = {"format": _CACHE_FORMAT, **key}
        stored = None if self.fresh else _read_stored(path)
        if stored is not None and stored.get("key") == key:
            return stored["result"]
        result = compute()
        write_json(path, {"key": key, "result": result}, indent=1)
        return result


def _read_stored(path: Path) -> dict[str, Any] | None:
    """Return the content of a cache file; None if it is missing or damaged, so that the part is computed again."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return stored if isinstance(stored, dict) and "result" in stored else None


@dataclass(frozen=True)
class _Experiments:
    """All parts, in order."""

    effort: Effort
    paths: Mapping[str, Path]
    paper: PaperNumbers
    seed: int
    workers: int | None
    cache: ResultCache
    listener: ProgressListener

    def run(self, document: dict[str, Any]) -> Iterator[None]:
        """Fill the document, and yield after every part."""
        count = 2 + len(DATA_SETS) * (1 + len(preset_names()))
        number = 0

        def begin(name: str) -> None:
            nonlocal number
            number += 1
            self.listener.part(name, number, count)

        begin("figure 2: a draw step by step")
        document["example"] = draw_example(self.seed)
        yield
        begin("table 3: cost of a draw")
        key = {"seed": self.seed, "grid": document["grid"]}
        document["draws"] = self.cache.get(
            "draws", key, lambda: measure_costs(self.effort.grid, self.seed, self.listener.step)
        )
        yield
        for name, title in DATA_SETS.items():
            begin(f"table 1: {title}")
            data_set = load_data_set(name, self.paths.get(name), self.paper, self.effort.fractions[name], self.seed)
            document["data_sets"][name] = data_set.describe()
            yield
            for method in preset_names():
                begin(f"tables 2 and 4: {method} on {title}")
                document["models"][name][method] = self._train(data_set, method, document["limits"])
                document["complete"] = number == count
                yield

    def _train(self, data_set: DataSet, method: str, limits: dict[str, Any]) -> Any:
        config = preset(method).override(seed=self.seed)
        key = {"config": config.to_dict(), "pairs": data_set.digest, "limits": limits}

        def on_epoch(report: EpochReport) -> None:
            self.listener.epoch(report, config.epochs)

        return self.cache.get(
            f"{data_set.name}-{method}",
            key,
            lambda: train_and_evaluate(config, data_set.split, self.effort.limits, self.workers, on_epoch),
        )
