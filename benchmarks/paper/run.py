"""The whole reproduction; ``report.json``, ``report.md`` and ``report.html`` are updated as results come in."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.core.markdown import page_markdown
from benchmarks.paper import authors_java
from benchmarks.paper.accuracy import accuracy, differences
from benchmarks.paper.cost import Grid, measure_costs
from benchmarks.paper.data_sets import DataSet, load_data_set
from benchmarks.paper.equivalence import sampler_config
from benchmarks.paper.example import worked_example
from benchmarks.paper.findings import doubt_about_data, findings_of
from benchmarks.paper.jobs import Job, Listener, Result, ResultCache, engine_digest, measured, run_jobs
from benchmarks.paper.numbers import DATA_SETS, MODELS
from benchmarks.paper.page import reproduction_page
from benchmarks.paper.training import READINGS, Limits, paper_config
from benchmarks.paper.tuning import BEST, Settings, best_candidate, candidate, candidates, tuned_settings
from vse_ens import __version__
from vse_ens.experiments.machine import describe_machine
from vse_ens.storage.atomic import write_json, write_text

_PAIRS = (
    ("vse-ens", "warp"),
    ("vse-ens", "opt-auc"),
    ("warp", "opt-auc"),
    ("vse-ens", "naive"),
    ("vse-ens", "uniform"),
)
Plan = Callable[[DataSet], Iterator[Job]]
_LAWS = ("geometric", "linear")
# Without a cap WARP takes hours; it stays at its level long before all of its iterations.
_UNCAPPED_ITERATIONS = 60


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
    """Trainings of each model on data of the paper's size, each on a split of its own; other data have one."""
    trials: int | None = None
    """Settings to try for each model on real data; None for the whole grid, 0 for none."""
    shortlist: Mapping[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)
    """Settings to try in place of the grid, by model: those that were best in an earlier run over all of it."""
    left_out: Sequence[str] = ()
    """Stages that are not run."""
    stored_only: bool = False
    """Whether to assemble the parts that are stored, and run nothing; the report then says what is missing."""
    java_rounds: int = authors_java.ROUNDS
    """Rounds of the authors' Java; 0 leaves it out."""
    stand_in_seconds: Mapping[str, float] = field(default_factory=dict)
    """CPU time of one training of a model on a stand-in or a sample, where it differs from ``limits``."""


QUICK = Effort(
    "quick",
    {"iaprtc12": 1.0, "nuswide": 0.05, "openimages": 0.1},
    Limits(points=16, seconds=80.0, scores=24_000_000),
    Grid((50, 100, 200), (100, 1_000, 10_000), pairs=(10_000, 30_000, 100_000)),
    readings=("deviation",),
    seeds=1,
    trials=0,
    java_rounds=0,
    stand_in_seconds=dict.fromkeys(MODELS, 10.0),
)
FULL = Effort(
    "full",
    dict.fromkeys(DATA_SETS, 1.0),
    Limits(seconds=900.0),
    Grid(
        (25, 50, 100, 200, 400),
        (100, 300, 1_000, 3_000, 10_000, 30_000),
        pairs=(10_000, 30_000, 100_000, 300_000, 1_000_000),
    ),
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
        document["complete"] = not document["missing"]
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
            "left_out": list(effort.left_out),
            "java_rounds": effort.java_rounds,
            "shortlist": {model: [dict(one) for one in listed] for model, listed in effort.shortlist.items()},
            "limits": {name: value for name, value in asdict(effort.limits).items() if value != float("inf")},
            "stand_in_seconds": dict(effort.stand_in_seconds),
            "grid": asdict(effort.grid),
            "machine": describe_machine(),
            "data_sets": {},
            "runs": {},
            "tuning": {},
            "tuning-variance": {},
            "parts": {},
            "missing": {},
            "cost": [],
            "example": worked_example(),
        }

    def run(self) -> Iterator[None]:
        """Do everything, and yield after every result."""
        loaded = [self._load(name) for name in DATA_SETS if name in self.names]
        yield
        first: tuple[tuple[str, Plan], ...] = (
            ("tuning", lambda data_set: self._tuning(data_set, "deviation")),
            ("tuned settings", lambda data_set: self._tuned(data_set, "deviation")),
            ("samplers", lambda data_set: self._samplers(data_set, "vse-ens", "uniform")),
            ("the authors' Java", self._java),
            ("other data", self._other_data),
        )
        then: tuple[tuple[str, Plan], ...] = (
            ("the paper's settings", lambda data_set: self._printed(data_set, "deviation")),
            ("any number of tries", self._uncapped),
            ("the naive sampler", lambda data_set: self._samplers(data_set, "naive")),
            ("other laws and fewer pairs", self._variants),
            ("tuning, the other reading", lambda data_set: self._tuning(data_set, "variance")),
            ("tuned settings, the other reading", lambda data_set: self._tuned(data_set, "variance")),
            ("the paper's settings, the other reading", lambda data_set: self._printed(data_set, "variance")),
        )
        yield from self._train(loaded, first)
        self.document["cost"] = self._cost()
        yield
        yield from self._train(loaded, then)

    def _train(self, loaded: Sequence[DataSet], plans: Sequence[tuple[str, Plan]]) -> Iterator[None]:
        for title, plan in plans:
            if title in self.effort.left_out:
                continue
            jobs = [job for data_set in loaded for job in plan(data_set)]
            if self.effort.stored_only:
                stored = [job for job in jobs if self.cache.get(job.part, job.key) is not None]
                if len(stored) < len(jobs):
                    self.document["missing"][title] = f"{len(jobs) - len(stored)} of {len(jobs)}"
                jobs = stored
            for job, result in run_jobs(title, jobs, self.cache, self.listener, self.workers):
                self._add(job, result)
                yield

    def _load(self, name: str) -> DataSet:
        self.listener.message(f"data: {DATA_SETS[name]}")
        data_set = load_data_set(name, self.paths.get(name), self.effort.fractions[name])
        self.document["data_sets"][name] = data_set.describe()
        return data_set

    # --- the trainings ---

    def _full(self, data_set: DataSet) -> bool:
        """Return whether a data set is the paper's: the others decide nothing, and are trained once."""
        return not doubt_about_data(self.document, data_set.name)

    def _seeds(self, data_set: DataSet) -> range:
        return range(self.effort.seeds if self._full(data_set) else 1)

    def _limits(self, data_set: DataSet, model: str) -> Limits:
        limits, seconds = self.effort.limits, self.effort.stand_in_seconds
        full = self._full(data_set)
        return limits if full else replace(limits, seconds=min(limits.seconds, seconds.get(model, limits.seconds)))

    def _other_data(self, data_set: DataSet) -> Iterator[Job]:
        """Train once on stand-ins and samples, which decide nothing."""
        if not self._full(data_set):
            yield from self._fixed(data_set, "deviation")
            yield from self._without_cap(data_set)

    def _printed(self, data_set: DataSet, reading: str) -> Iterator[Job]:
        if reading in self.effort.readings and self._full(data_set):
            yield from self._fixed(data_set, reading)

    def _uncapped(self, data_set: DataSet) -> Iterator[Job]:
        if self._full(data_set):
            yield from self._without_cap(data_set)

    def _fixed(self, data_set: DataSet, reading: str) -> Iterator[Job]:
        for seed in self._seeds(data_set):
            for model in MODELS:
                config = paper_config(model, seed, reading)
                yield Job(data_set, reading, model, config, self._limits(data_set, model))

    def _without_cap(self, data_set: DataSet) -> Iterator[Job]:
        for seed in self._seeds(data_set):
            config = paper_config("warp", seed).override(warp_cap=False, epochs=_UNCAPPED_ITERATIONS)
            yield Job(data_set, "uncapped", "warp", config, self._limits(data_set, "warp"))

    def _samplers(self, data_set: DataSet, *samplers: str) -> Iterator[Job]:
        # The naive sampler scores and sorts all labels for every draw: only IAPR-TC12 has few enough of them.
        if data_set.name == "iaprtc12":
            for seed in self._seeds(data_set):
                for sampler in samplers:
                    yield Job(data_set, "samplers", sampler, sampler_config(sampler, seed), self.effort.limits)

    def _java(self, data_set: DataSet) -> Iterator[Job]:
        if data_set.name == "iaprtc12" and self._full(data_set) and self.effort.java_rounds:
            for seed in self._seeds(data_set):
                for model, (_, rate, decay) in authors_java.SETTINGS.items():
                    config = paper_config(model, seed).override(
                        learning_rate=rate, regularization=decay, epochs=self.effort.java_rounds
                    )
                    yield Job(data_set, "java", model, config, self.effort.limits)

    def _tuning(self, data_set: DataSet, reading: str) -> Iterator[Job]:
        if reading not in self.effort.readings or not self._full(data_set):  # no evidence about the paper's data
            return
        for model in MODELS:
            for settings in self._candidates(model, len(data_set.data.labels)):
                name = "-".join((model, *(f"{value:.6g}" for value in settings.values())))
                config = paper_config(model, 0, reading).override(**settings)
                yield Job(data_set, _group("tuning", reading), name, config, self.effort.limits, tunes=True)

    def _candidates(self, model: str, labels: int) -> list[Settings]:
        listed = [dict(one) for one in self.effort.shortlist.get(model, ())]
        return listed or candidates(model, labels)[: self.effort.trials]

    def _tuned(self, data_set: DataSet, reading: str) -> Iterator[Job]:
        """Train with the settings that are best after the last iteration, and those that are best at some iteration."""
        for model, tried in self.document[_group("tuning", reading)].get(data_set.name, {}).items():
            last, early = best_candidate(tried), best_candidate(tried, BEST)
            if last is None or early is None:
                continue
            same = last["settings"] == early["settings"]
            for seed in self._seeds(data_set):
                start = paper_config(model, seed, reading)
                for group, chosen in (("tuned", last), ("early", early)):
                    if same and group == "early":  # the same training, whose model at that iteration is kept too
                        continue
                    stop_at = early["best_iteration"] if same or group == "early" else None
                    config = start.override(**chosen["settings"])
                    job = Job(data_set, _group(group, reading), model, config, self.effort.limits, stop_at)
                    yield job
                    if model == "vse-ens":  # the same training with uniform negatives
                        yield replace(job, name="uniform", config=config.override(sampler="uniform"))

    def _variants(self, data_set: DataSet) -> Iterator[Job]:
        """Train what the paper or its authors' code might have done: other laws, fewer pairs, the Java's sampling."""
        tuned = {
            model: best["settings"]
            for model, tried in self.document["tuning"].get(data_set.name, {}).items()
            if (best := best_candidate(tried))
        }
        if not tuned:
            return
        for seed in self._seeds(data_set):
            for law in _LAWS:
                config = paper_config("vse-ens", seed).override(**tuned["vse-ens"], rank_distribution=law)
                yield Job(data_set, "laws", law, config, self.effort.limits)
            if data_set.cut is not None:
                for model, settings in tuned.items():
                    config = paper_config(model, seed).override(**settings)
                    yield Job(data_set.cut, "cut", model, config, self.effort.limits)

    def _cost(self) -> Any:
        key = {"grid": self.document["grid"], "engine": engine_digest(), "clock": "CPU time"}
        stored = self.cache.get("cost", key)
        if stored is None and self.effort.stored_only:
            self.document["missing"]["cost of a step"] = "1 of 1"
            return []
        if stored is None:

            def work() -> Result:
                return {
                    "costs": measure_costs(
                        self.effort.grid, lambda text: self.listener.message(f"cost of a step: {text}")
                    )
                }

            stored = measured(work)
            self.cache.put("cost", key, stored)
        self.document["parts"]["cost"] = stored["provenance"]
        return stored["costs"]

    # --- their results ---

    def _add(self, job: Job, result: Result) -> None:
        self.document["parts"][job.part] = result.get("provenance")
        if job.tunes:
            self._add_candidate(job, result)
            return
        if job.group.startswith("early"):
            result = {**result, **result["stopped"]}
        self._add_run(job, job.group, result)
        if job.group.startswith("tuned") and "stopped" in result:
            self._add_run(job, job.group.replace("tuned", "early"), {**result, **result["stopped"]})

    def _add_run(self, job: Job, group_name: str, result: Result) -> None:
        name, document = job.data_set.name, self.document
        runs = self._runs.setdefault((name, group_name, job.name), {})
        runs[job.config.seed] = result
        group = document["runs"].setdefault(name, {}).setdefault(group_name, {"models": {}, "differences": {}})
        ordered = [runs[seed] for seed in sorted(runs)]
        labels = len(job.data_set.data.labels)
        searches = job.name == "warp" and group_name in ("deviation", "uncapped")
        group["models"][job.name] = {
            "settings": tuned_settings(job.config),
            "runs": [_summary(run, whole=number == 0 or searches) for number, run in enumerate(ordered)],
            "accuracy": {metric: list(value) for metric, value in accuracy(ordered, labels).items()},
            "equivalence": next((run["equivalence"] for run in ordered if "equivalence" in run), None),
        }
        for model, other in _PAIRS:
            self._compare(name, group_name, model, other, labels)

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
        options = self._candidates(model, len(job.data_set.data.labels))
        config = job.config.to_dict()
        settings = next(one for one in options if all(config[key] == value for key, value in one.items()))
        tried = self.document[job.group].setdefault(job.data_set.name, {}).setdefault(model, [])
        tried.append(candidate(settings, result))
        tried.sort(key=lambda one: options.index(one["settings"]))


def _group(name: str, reading: str) -> str:
    """Return the group of a reading of N(0, 0.01)."""
    return name if reading == "deviation" else f"{name}-{reading}"


def _summary(result: Result, whole: bool = True) -> dict[str, Any]:
    """Return a result without the ranks of all images, and except for the first seed without its iterations."""
    kept = ("iterations", "ending", "seconds", "projected_seconds", "points", "metrics")
    summary = {name: result[name] for name in kept}
    summary["points"] = [[at, round(seconds, 6), round(recall, 6)] for at, seconds, recall in result["points"]]
    summary["provenance"] = {"others": (result.get("provenance") or {}).get("others")}
    if "at" in result:
        summary["stopped_at"] = result["at"]
    if whole:
        for name in ("draws", "tries", "violations", "given_up"):
            summary[name] = [epoch[name] for epoch in result["epochs"]]
    return summary
