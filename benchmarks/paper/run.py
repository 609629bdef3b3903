"""The whole reproduction; ``report.json``, ``report.md`` and ``report.html`` are updated as results come in."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.core.markdown import page_markdown
from benchmarks.paper.accuracy import accuracy, differences
from benchmarks.paper.cost import Grid, measure_costs
from benchmarks.paper.data_sets import DataSet, load_data_set
from benchmarks.paper.equivalence import SAMPLERS, sampler_config
from benchmarks.paper.example import worked_example
from benchmarks.paper.findings import findings_of
from benchmarks.paper.jobs import Job, Listener, Result, ResultCache, run_jobs
from benchmarks.paper.numbers import DATA_SETS, MODELS
from benchmarks.paper.page import reproduction_page
from benchmarks.paper.training import READINGS, Limits, paper_config
from benchmarks.paper.tuning import TUNING_METRIC, best_candidate, candidates, tuned_settings
from vse_ens import __version__
from vse_ens.experiments.machine import describe_machine
from vse_ens.storage.atomic import write_json, write_text

_MODEL_PAIRS = (("vse-ens", "warp"), ("vse-ens", "opt-auc"), ("warp", "opt-auc"))
_SAMPLER_PAIRS = (("vse-ens", "naive"), ("vse-ens", "uniform"))


@dataclass(frozen=True)
class Effort:
    """The size of a reproduction."""

    name: str
    fractions: Mapping[str, float]
    """The part of the images and pairs that each stand-in has."""
    limits: Limits
    grid: Grid
    readings: Sequence[str] = tuple(READINGS)
    seeds: int = 3
    """Trainings of each model on real data; stand-ins have one."""
    trials: int | None = None
    """Settings to try for each model on real data; None for the whole grid, 0 for none."""
    stand_in_seconds: Mapping[str, float] = field(default_factory=dict)
    """CPU time of one training of a model on a stand-in, where it differs from ``limits``."""


QUICK = Effort(
    "quick",
    {"iaprtc12": 1.0, "nuswide": 0.05, "openimages": 0.1},
    Limits(points=16, seconds=80.0, scores=24_000_000),
    Grid((50, 100, 200), (100, 1_000, 10_000)),
    readings=("deviation",),
    seeds=1,
    trials=0,
    stand_in_seconds=dict.fromkeys(MODELS, 10.0),
)
FULL = Effort(
    "full",
    dict.fromkeys(DATA_SETS, 1.0),
    Limits(seconds=900.0),
    Grid((25, 50, 100, 200, 400), (100, 300, 1_000, 3_000, 10_000, 30_000)),
    # WARP would take hours: enough to see where its search comes to.
    stand_in_seconds={"warp": 250.0},
)


def reproduce(
    out: Path,
    listener: Listener,
    *,
    effort: Effort = FULL,
    paths: Mapping[str, Path] | None = None,
    data_sets: Sequence[str] = tuple(DATA_SETS),
    workers: int | None = None,
    fresh: bool = False,
) -> dict[str, Any]:
    """Run everything that ``out`` has no result of, write the report there, and return the content of report.json."""
    started = time.perf_counter()
    cache = ResultCache(out / "parts", fresh)
    experiments = _Experiments(effort, paths or {}, data_sets, workers, cache, listener)
    document = experiments.document
    written = 0.0

    def write() -> None:
        nonlocal written
        document["seconds"] = time.perf_counter() - started
        document["verdicts"] = [asdict(finding) for finding in findings_of(document)]
        page = reproduction_page(document)
        write_json(out / "report.json", document, indent=1)
        write_text(out / "report.md", page_markdown(page))
        page.write(out / "report.html")
        written = time.perf_counter()

    try:
        for _ in experiments.run():
            if time.perf_counter() - written > 5.0:
                write()
        document["complete"] = True
    finally:
        write()
    return document


@dataclass
class _Experiments:
    """All experiments; fills ``document``."""

    effort: Effort
    paths: Mapping[str, Path]
    names: Sequence[str]
    workers: int | None
    cache: ResultCache
    listener: Listener
    document: dict[str, Any] = field(init=False)
    _runs: dict[tuple[str, str, str], dict[int, Result]] = field(init=False, default_factory=dict)
    """Results by data set, group and model, then by seed."""

    def __post_init__(self) -> None:
        effort = self.effort
        self.document = {
            "vse_ens": __version__,
            "complete": False,
            "effort": effort.name,
            "seeds": effort.seeds,
            "trials": effort.trials,
            "limits": {name: value for name, value in asdict(effort.limits).items() if value != float("inf")},
            "stand_in_seconds": dict(effort.stand_in_seconds),
            "grid": asdict(effort.grid),
            "machine": describe_machine(),
            "data_sets": {},
            "runs": {},
            "tuning": {},
            "cost": [],
            "example": worked_example(),
        }

    def run(self) -> Iterator[None]:
        """Do everything, and yield after every result."""
        loaded = [self._load(name) for name in DATA_SETS if name in self.names]
        yield
        for title, plan in (
            ("the paper's settings", self._printed),
            ("samplers", self._samplers),
            ("tuning", self._tuning),
            ("tuned settings", self._tuned),
        ):
            jobs = [job for data_set in loaded for job in plan(data_set)]
            for job, result in run_jobs(title, jobs, self.cache, self.listener, self.workers):
                self._add(job, result)
                yield
        self.document["cost"] = self._cost()
        yield

    def _load(self, name: str) -> DataSet:
        self.listener.message(f"data: {DATA_SETS[name]}")
        data_set = load_data_set(name, self.paths.get(name), self.effort.fractions[name])
        self.document["data_sets"][name] = data_set.describe()
        return data_set

    # --- the trainings ---

    def _limits(self, data_set: DataSet, model: str) -> Limits:
        limits, seconds = self.effort.limits, self.effort.stand_in_seconds
        real = data_set.path is not None
        return limits if real else replace(limits, seconds=min(limits.seconds, seconds.get(model, limits.seconds)))

    def _printed(self, data_set: DataSet) -> Iterator[Job]:
        real = data_set.path is not None
        for reading in self.effort.readings if real else self.effort.readings[:1]:
            for seed in range(self.effort.seeds if real else 1):
                for model in MODELS:
                    config = paper_config(model, seed, reading)
                    yield Job(data_set, reading, model, config, self._limits(data_set, model))
        uncapped = paper_config("warp").override(warp_cap=False)
        yield Job(data_set, "uncapped", "warp", uncapped, self._limits(data_set, "warp"))

    def _samplers(self, data_set: DataSet) -> Iterator[Job]:
        # The naive sampler scores and sorts all labels for every draw: only IAPR-TC12 has few enough of them.
        if data_set.name == "iaprtc12":
            for sampler in SAMPLERS:
                yield Job(data_set, "samplers", sampler, sampler_config(sampler), self.effort.limits)

    def _tuning(self, data_set: DataSet) -> Iterator[Job]:
        if data_set.path is None:  # no evidence about the paper's data
            return
        for model in MODELS:
            for settings in candidates(model, len(data_set.data.labels))[: self.effort.trials]:
                name = "-".join((model, *(f"{value:.6g}" for value in settings.values())))
                config = paper_config(model).override(**settings)
                yield Job(data_set, "tuning", name, config, self.effort.limits)

    def _tuned(self, data_set: DataSet) -> Iterator[Job]:
        for model, tried in self.document["tuning"].get(data_set.name, {}).items():
            if chosen := best_candidate(tried):
                for seed in range(self.effort.seeds):
                    config = paper_config(model, seed).override(**chosen["settings"])
                    yield Job(data_set, "tuned", model, config, self.effort.limits)

    def _cost(self) -> Any:
        key = {"grid": self.document["grid"]}
        stored = self.cache.get("cost", key)
        if stored is None:
            stored = measure_costs(self.effort.grid, lambda text: self.listener.message(f"cost of a step: {text}"))
            self.cache.put("cost", key, stored)
        return stored

    # --- their results ---

    def _add(self, job: Job, result: Result) -> None:
        name, document = job.data_set.name, self.document
        if job.group == "tuning":
            self._add_candidate(job, result)
            return
        runs = self._runs.setdefault((name, job.group, job.name), {})
        runs[job.config.seed] = result
        group = document["runs"].setdefault(name, {}).setdefault(job.group, {"models": {}, "differences": {}})
        ordered = [runs[seed] for seed in sorted(runs)]
        labels = len(job.data_set.data.labels)
        group["models"][job.name] = {
            "settings": tuned_settings(job.config),
            "runs": [_summary(run, whole=number == 0) for number, run in enumerate(ordered)],
            "accuracy": {metric: list(value) for metric, value in accuracy(ordered, labels).items()},
            "equivalence": result.get("equivalence"),
        }
        for model, other in _SAMPLER_PAIRS if job.group == "samplers" else _MODEL_PAIRS:
            self._compare(name, job.group, model, other, labels)

    def _compare(self, name: str, group: str, model: str, other: str, labels: int) -> None:
        """Store the difference of two models over the seeds that both have."""
        mine, theirs = (self._runs.get((name, group, one), {}) for one in (model, other))
        seeds = sorted(mine.keys() & theirs.keys())
        if seeds:
            result = differences([mine[seed] for seed in seeds], [theirs[seed] for seed in seeds], labels)
            self.document["runs"][name][group]["differences"][f"{model} - {other}"] = (
                None if result is None else {metric: list(value) for metric, value in result.items()}
            )

    def _add_candidate(self, job: Job, result: Result) -> None:
        model = next(model for model in sorted(MODELS, key=len, reverse=True) if job.name.startswith(model))
        options = candidates(model, len(job.data_set.data.labels))
        config = job.config.to_dict()
        settings = next(one for one in options if all(config[key] == value for key, value in one.items()))
        tried = self.document["tuning"].setdefault(job.data_set.name, {}).setdefault(model, [])
        tried.append(
            {
                "settings": settings,
                TUNING_METRIC: result["metrics"][TUNING_METRIC],
                "map": result["metrics"]["map"],
                "ending": result["ending"],
                "seconds": result["seconds"],
            }
        )
        tried.sort(key=lambda one: options.index(one["settings"]))


def _summary(result: Result, whole: bool = True) -> dict[str, Any]:
    """Return a result without the ranks of all images, and except for the first seed without its iterations."""
    kept = ("iterations", "ending", "seconds", "projected_seconds", "points", "metrics")
    summary = {name: result[name] for name in kept}
    if whole:
        for name in ("draws", "tries", "violations", "given_up"):
            summary[name] = [epoch[name] for epoch in result["epochs"]]
    return summary
