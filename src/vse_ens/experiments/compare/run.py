"""Any models and baselines on one leave-one-out split: the same pairs, the same held-out labels, the same evaluator."""

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
from vse_ens.experiments.compare.store import Folder, Record, Run, State
from vse_ens.experiments.machine import machine
from vse_ens.train.progress import Progress


class Watcher(Protocol):
    """Who is told how it goes."""

    def during(self, entry: Entry) -> AbstractContextManager[Callable[[Progress], None]]:
        """Around the work on an entry; gives what is to be called after every round."""

    def after(self, run: Run, error: Exception | None) -> None:
        """When an entry is done or has failed."""


def compare(
    data: Annotations,
    entries: Sequence[Entry],
    folder: Path,
    watcher: Watcher,
    *,
    pairs: str,
    command: str,
    seed: int = 0,
    budget: float | None = None,
    workers: int | None = None,
) -> Comparison:
    """Fit and rank every entry, keep the rankings in ``folder``, and compute all metrics from what was kept.

    An entry that fails is recorded with the reason, and the others go on. Ctrl-C ends the training under way after its
    round, keeps what it has, and leaves the rest out.
    """
    split = data.leave_one_out(seed=seed)
    store = Folder(folder)
    store.clear()
    record = Record(pairs, _split_facts(data, split, seed), budget, command, machine())
    stop = False
    for entry in entries:
        run = _unfinished(entry, "not run", "interrupted before its turn")
        if not stop:
            run, stop = _turn(entry, split, store, record, watcher, workers)
        record.runs.append(run)
        store.write(record)
    return Comparison.load(folder)


def _turn(
    entry: Entry, split: Split, store: Folder, record: Record, watcher: Watcher, workers: int | None
) -> tuple[Run, bool]:
    """One entry's run, and whether it was interrupted."""
    cause: Exception | None = None
    try:
        with watcher.during(entry) as progress:
            run = _run(entry, split, store, record, workers, progress)
    except KeyboardInterrupt:
        return _unfinished(entry, "not run", "interrupted"), True
    except (VseError, MemoryError) as error:
        cause, run = error, _unfinished(entry, "failed", str(error) or "there is not enough memory")
    except Exception as error:  # noqa: BLE001  # whatever is wrong with one entry must not lose the others
        sentence = f"it failed in a way it should not ({type(error).__name__}: {error}); please report it"
        cause, run = error, _unfinished(entry, "failed", sentence)
    watcher.after(run, cause)
    return run, run.stopped == "interrupt"


def _run(
    entry: Entry,
    split: Split,
    store: Folder,
    record: Record,
    workers: int | None,
    progress: Callable[[Progress], None],
) -> Run:
    warm_up(entry.method, workers)
    budget = record.budget
    if isinstance(entry.method, Config):
        fit = train_model(entry.method, split, budget=budget, workers=workers, progress=progress)
        planned = entry.method.epochs
    else:
        fit, planned = fit_baseline(entry.method, split), None
    rankings = evaluate(fit.scorer, split.train, split.test, workers=workers)
    final = float(per_image(rankings, (10,))[CURVE_METRIC].mean())
    return Run(
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
        rankings=store.keep(entry.base, rankings, record.runs),
    )


def _unfinished(entry: Entry, state: State, error: str) -> Run:
    return Run(name=entry.name, kind=entry.kind, settings=entry.settings(), state=state, error=error)


def _split_facts(data: Annotations, split: Split, seed: int) -> dict[str, Any]:
    return {
        "protocol": "leave-one-out",
        "seed": seed,
        "images": len(data.images),
        "labels": len(data.labels),
        "pairs": data.pairs,
        "train": split.train.pairs,
        "test": split.test.pairs,
    }
