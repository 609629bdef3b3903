"""Comparison of models and baselines on one leave-one-out split, with the same evaluation for all.

Only the fitting of an entry is timed, without compilation, evaluation and progress output.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vse_ens.baselines.base import Baseline
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations, Split
from vse_ens.errors import VseError
from vse_ens.evaluate.metrics import per_image
from vse_ens.evaluate.rank import FunctionScorer, Scorer, evaluate, mean_metrics
from vse_ens.experiments.compare.entries import Entry
from vse_ens.experiments.compare.results import CURVE_METRIC, Comparison, ComparisonInfo, EntryRun, RunStore, State
from vse_ens.experiments.machine import describe_machine
from vse_ens.run.interrupt import Interrupt
from vse_ens.train.progress import EpochReport, Progress
from vse_ens.train.trainer import Trainer

# Training time before the first point of a curve, and the minimum ratio of the times of consecutive points.
_FIRST_SECONDS = 0.02
_TIME_RATIO = 1.3
Point = tuple[float, float]


class ProgressListener(Protocol):
    """Receives the progress of a comparison."""

    def running(self, entry: Entry) -> AbstractContextManager[Callable[[Progress], None]]:
        """Return a context for the work on an entry; it yields a callback for the end of every training round."""

    def finished(self, run: EntryRun, error: Exception | None) -> None:
        """Handle the end of an entry, with its error if it failed."""


def compare(
    data: Annotations,
    entries: Sequence[Entry],
    folder: Path,
    listener: ProgressListener,
    *,
    pairs: str,
    command: str,
    seed: int = 0,
    budget: float | None = None,
    workers: int | None = None,
) -> Comparison:
    """Fit and rank every entry, store the rankings in ``folder``, and compute all metrics from them.

    An entry that fails is stored with the reason, and the others continue. Ctrl-C stops the current training after its
    round, keeps its result, and skips the remaining entries.
    """
    split = data.leave_one_out(seed=seed)
    store = RunStore(folder)
    store.clear()
    info = ComparisonInfo(pairs, _describe_split(data, split, seed), budget, command, describe_machine())
    interrupted = False
    for entry in entries:
        if interrupted:
            run = _without_result(entry, "not run", "skipped after the interrupt")
        else:
            run, interrupted = _run_entry(entry, split, store, info, listener, workers)
        info.runs.append(run)
        store.write(info)
    return Comparison.load(folder)


def _run_entry(
    entry: Entry, split: Split, store: RunStore, info: ComparisonInfo, listener: ProgressListener, workers: int | None
) -> tuple[EntryRun, bool]:
    """Return the run of an entry, and whether it was interrupted."""
    cause: Exception | None = None
    try:
        with listener.running(entry) as progress:
            run = _fit_and_rank(entry, split, store, info, workers, progress)
    except KeyboardInterrupt:
        return _without_result(entry, "not run", "interrupted"), True
    except (VseError, MemoryError) as error:
        cause, run = error, _without_result(entry, "failed", str(error) or "not enough memory")
    except Exception as error:  # noqa: BLE001  # an unexpected error of one entry must not lose the others
        message = f"unexpected error ({type(error).__name__}: {error}); please report it"
        cause, run = error, _without_result(entry, "failed", message)
    listener.finished(run, cause)
    return run, run.stopped == "interrupt"


def _fit_and_rank(
    entry: Entry,
    split: Split,
    store: RunStore,
    info: ComparisonInfo,
    workers: int | None,
    progress: Callable[[Progress], None],
) -> EntryRun:
    warm_up(entry.method, workers)
    budget = info.budget
    if isinstance(entry.method, Config):
        scorer, facts = train_model(entry.method, split, budget=budget, workers=workers, progress=progress)
    else:
        scorer, facts = fit_baseline(entry.method, split)
        facts["over_budget"] = budget is not None and facts["seconds"] > budget
    rankings = evaluate(scorer, split.train, split.test, workers=workers)
    final = float(per_image(rankings, (10,))[CURVE_METRIC].mean())
    facts["curve"] = [*facts.get("curve", ()), (facts["seconds"], final)]
    stored = store.save_rankings(entry.base_name, rankings, info.runs)
    return EntryRun(entry.name, entry.kind, entry.settings(), "done", rankings=stored, **facts)


def _without_result(entry: Entry, state: State, error: str) -> EntryRun:
    return EntryRun(name=entry.name, kind=entry.kind, settings=entry.settings(), state=state, error=error)


def _describe_split(data: Annotations, split: Split, seed: int) -> dict[str, Any]:
    return {
        "protocol": "leave-one-out",
        "seed": seed,
        "images": len(data.images),
        "labels": len(data.labels),
        "pairs": data.pairs,
        "train": split.train.pairs,
        "test": split.test.pairs,
    }


def warm_up(method: Config | Baseline, workers: int | None) -> None:
    """Fit a tiny data set, so that compiling kernels and importing libraries is not timed later."""
    tiny = Annotations.from_pairs((f"image {n}", f"label {(n + m) % 6}") for n in range(6) for m in range(3))
    if isinstance(method, Config):
        # Two slices also compile the kernel that merges slices; the serial engine has none.
        slices = 2 if method.engine == "fast" else None
        for _ in Trainer(method.override(epochs=1, slices=slices), tiny, workers).epochs():
            pass
    else:
        method.fit(tiny)


def fit_baseline(baseline: Baseline, split: Split) -> tuple[Scorer, dict[str, Any]]:
    """Fit a baseline in one call, which cannot be stopped early; return what ranks, and what an `EntryRun` says."""
    start = time.perf_counter()
    fitted = baseline.fit(split.train)
    return fitted, {"seconds": time.perf_counter() - start}


def train_model(
    config: Config,
    split: Split,
    *,
    budget: float | None,
    workers: int | None,
    progress: Callable[[Progress], None],
) -> tuple[Scorer, dict[str, Any]]:
    """Train to the end of the schedule, to the first round after ``budget`` seconds, or to Ctrl-C; as `fit_baseline`.

    Between rounds the held-out labels are evaluated for the curve, at times spaced about evenly on a logarithmic scale.
    """
    start = time.perf_counter()
    trainer = Trainer(config, split.train, workers)
    seconds = 0.0
    stopped = ""
    curve = _Curve(lambda: mean_metrics(_scores(trainer, split), *split, workers)[CURVE_METRIC])
    with Interrupt() as interrupt:
        for step in trainer.rounds():
            seconds += time.perf_counter() - start
            last = step
            progress(step)
            if interrupt.requested:
                stopped = "interrupt"
            elif budget is not None and seconds >= budget and not trainer.finished:
                stopped = "budget"
            if stopped:
                break
            if not trainer.finished:
                curve.measure_if_due(seconds)
            start = time.perf_counter()
    unfinished_draws = 0 if last.report else EpochReport.of(last.epoch, last.stats, trainer.learning_rate).draws
    scorer = FunctionScorer(split.train.images, split.train.labels, _scores(trainer, split))
    return scorer, {
        "seconds": seconds,
        "stopped": stopped,
        "epochs": last.epoch - 1 + last.rounds_done / last.rounds,
        "epochs_planned": config.epochs,
        "draws": sum(report.draws for report in trainer.history) + unfinished_draws,
        "curve": curve.points,
    }


class _Curve:
    """Points of a metric over training time."""

    def __init__(self, measure: Callable[[], float]) -> None:
        self.points: list[Point] = []
        self._measure = measure
        self._due = _FIRST_SECONDS

    def measure_if_due(self, seconds: float) -> None:
        """Add a point if enough training has passed since the last one."""
        if seconds < self._due:
            return
        start = time.perf_counter()
        self.points.append((seconds, self._measure()))
        # Training continues for at least as long as the measurement took, so a curve never costs more than training.
        self._due = max(seconds * _TIME_RATIO, seconds + time.perf_counter() - start)


def _scores(trainer: Trainer, split: Split) -> Callable[[NDArray[np.int64]], NDArray[np.float32]]:
    """Return the score function of the current model."""
    model, train = trainer.model, split.train
    return lambda images: model.scores(images, train, train.features)
