"""`vse tune` on the training part of real data: what it finds, and whether it helps on test labels measured once."""

from __future__ import annotations

import math
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.core.benchmark import Benchmark, Raw, Score, Table, log
from benchmarks.core.data_sets import real
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations, Split
from vse_ens.evaluate.metrics import Numbers, per_image
from vse_ens.experiments.tune import Budget, TrialResult, TuneResult, tune

_METRICS = ("recall@5", "recall@10", "map", "auc")


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    real: tuple[str, ...] = ("iaprtc12",)
    preset: str = "context"
    minutes: float = 10.0
    settings: Mapping[str, Any] | None = None


def measure(sizes: Sizes) -> Raw:
    """Search on the training part, then train the preset and what was found, and rank the test labels of both once."""
    found, skipped = real(sizes.real)
    sets = {name: _measure(name, data, sizes) for name, data in found.items()}
    return {"commit": _commit(), "sets": sets, "skipped": skipped}


def _measure(name: str, data: Annotations, sizes: Sizes) -> Raw:
    split = data.leave_one_out(seed=0)
    log(f"{sizes.minutes:g} minutes of search on {name}")
    with tempfile.TemporaryDirectory(prefix="vse-tune-") as folder:
        result = tune(
            split.train,
            Path(folder) / "study.sqlite",
            Budget(minutes=sizes.minutes),
            preset=sizes.preset,
            settings=sizes.settings,
            listener=_Log(),
        )
    log("training the preset and the settings found")
    before = _train(sizes.preset, dict(sizes.settings or {}), split)
    after = _train(sizes.preset, result.settings(), split)
    return {
        "images": len(data.images),
        "labels": len(data.labels),
        "test": split.test.pairs,
        "minutes": sizes.minutes,
        "search": _search(result),
        "default": _means(before),
        "tuned": _means(after),
        "gain": {name: _difference(before["values"][name], after["values"][name]) for name in _METRICS},
    }


class _Log:
    """Logs every trial."""

    def opened(self, finished: int, default_in_space: bool) -> None:
        """Do nothing."""

    def epoch(self, settings: Mapping[str, Any], epoch: int, value: float) -> None:
        """Do nothing."""

    def finished(self, result: TrialResult, best: TrialResult | None) -> None:
        """Log a trial and the best so far."""
        log(f"trial {result.number}: {result.value} ({result.state}), best {None if best is None else best.value}")


def _search(result: TuneResult) -> Raw:
    document = result.to_dict()
    kept = ("preset", "metric", "settings", "best", "default", "importance", "counts", "seconds")
    return {name: document[name] for name in kept}


def _train(preset: str, settings: dict[str, Any], split: Split) -> Raw:
    started = time.perf_counter()
    model = Annotator(preset, **settings).fit(split.train)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "values": per_image(model.rankings(split.test))}


def _means(trained: Raw) -> Raw:
    return {
        "seconds": trained["seconds"],
        "metrics": {name: float(trained["values"][name].mean()) for name in _METRICS},
    }


def _difference(before: Numbers, after: Numbers) -> Raw:
    """Return the mean difference over images, and its standard error."""
    difference = after - before
    return {"mean": float(difference.mean()), "error": float(difference.std() / math.sqrt(len(difference)))}


def _commit() -> str:
    done = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def score(raw: Raw) -> Score:
    """Return what was found and the metrics on test labels."""
    notes, tables = [], []
    for name, facts in raw["sets"].items():
        search, counts = facts["search"], facts["search"]["counts"]
        default = search["default"]
        held_out = "" if default is None else f", {default['value']:.4f} for the preset itself"
        notes.append(
            f"{name}, commit {raw['commit']}: {counts['trials']} trials in {facts['minutes']:g} minutes, "
            f"{counts['pruned']} pruned and {counts['failed']} failed; the best {search['metric']} on held-out "
            f"training labels is {search['best']['value']:.4f}{held_out}. Found: "
            + ", ".join(f"`{setting} = {value}`" for setting, value in search["settings"].items())
            + "."
        )
        if search["importance"]:
            shares = ", ".join(f"{setting} {share:.0%}" for setting, share in search["importance"].items())
            notes.append(f"Importance of the settings: {shares}.")
        rows = [
            (label, *(f"{facts[key]['metrics'][metric]:.4f}" for metric in _METRICS), f"{facts[key]['seconds']:.1f} s")
            for label, key in ((search["preset"], "default"), ("tuned", "tuned"))
        ]
        gains = (f"{facts['gain'][metric]['mean']:+.4f} ± {facts['gain'][metric]['error']:.4f}" for metric in _METRICS)
        rows.append(("difference ± standard error", *gains, ""))
        tables.append(Table((f"{name}, {facts['test']:,} test labels", *_METRICS, "training"), rows))
    return Score([], tables, notes)


TUNE = Benchmark(
    "tune",
    "Ten minutes of search find settings that are at least as good as the default on test labels.",
    Sizes(),
    Sizes(("corel5k",), "opt-auc", 0.1, {"epochs": 4, "dimensions": 16}),
    measure,
    score,
    measures=("experiments/tune", "kernels", "label_weights", "presets", "train"),
)
