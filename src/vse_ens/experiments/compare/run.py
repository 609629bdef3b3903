"""Comparison of models and baselines on one leave-one-out split, with the same evaluation for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations, Split
from vse_ens.errors import VseError
from vse_ens.evaluate.metrics import per_image
from vse_ens.evaluate.rank import evaluate
from vse_ens.experiments.compare.entries import Entry
from vse_ens.experiments.compare.fit import CURVE_METRIC, fit_baseline, train_model, warm_up
from vse_ens.experiments.compare.results import Comparison
from vse_ens.experiments.compare.store import ComparisonInfo, EntryRun, RunStore, State
from vse_ens.experiments.machine import describe_machine
from vse_ens.train.progress import Progress


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
        fit = train_model(entry.method, split, budget=budget, workers=workers, progress=progress)
        planned = entry.method.epochs
    else:
        fit, planned = fit_baseline(entry.method, split), None
    rankings = evaluate(fit.scorer, split.train, split.test, workers=workers)
    final = float(per_image(rankings, (10,))[CURVE_METRIC].mean())
    return EntryRun(
        name=entry.name,
        kind=entry.kind,
        settings=entry.settings(),
        state="done",
        seconds=fit.seconds,
        stopped=fit.stopped,
        over_budget=entry.kind == "baseline" and budget is not None and fit.seconds > budget,
        epochs=fit.epochs,
        epochs_planned=planned,
        draws=fit.draws,
        curve=[*fit.curve, (fit.seconds, final)],
        rankings=store.save_rankings(entry.base_name, rankings, info.runs),
    )


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
