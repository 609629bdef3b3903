"""Accuracy and fitting time of the baselines, without tuning."""

from __future__ import annotations

import time
from dataclasses import dataclass

from benchmarks.core.benchmark import Benchmark, Raw, Score, Table, log
from benchmarks.core.data_sets import REAL, real
from vse_ens.baselines.base import Baseline
from vse_ens.baselines.registry import make_baseline
from vse_ens.data.annotations import Split
from vse_ens.errors import MissingPartError
from vse_ens.evaluate.rank import evaluate
from vse_ens.evaluate.report import summarize
from vse_ens.experiments.compare.run import warm_up

_METRICS = ("recall@10", "mrr", "auc")


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    real: tuple[str, ...] = REAL
    # Without EASE, which the benchmark of the default preset tunes.
    models: tuple[str, ...] = ("popularity", "cooccurrence", "als")


def measure(sizes: Sizes) -> Raw:
    """Fit and evaluate every baseline on every data set."""
    found, skipped = real(sizes.real)
    models: dict[str, Baseline] = {}
    for name in sizes.models:
        model = make_baseline(name)
        try:
            warm_up(model, 1)
        except MissingPartError as error:
            skipped.append(f"{name}: {error}")
        else:
            models[name] = model
    sets: Raw = {}
    for data_set, data in found.items():
        split = data.leave_one_out(seed=0)
        sets[data_set] = {"labels": len(data.labels), "test": split.test.pairs, "models": {}}
        for name, model in models.items():
            log(f"{name} on {data_set}")
            sets[data_set]["models"][name] = _fit(model, split)
    return {"sets": sets, "skipped": skipped}


def _fit(model: Baseline, split: Split) -> Raw:
    began = time.perf_counter()
    fitted = model.fit(split.train)
    seconds = time.perf_counter() - began
    report = summarize(evaluate(fitted, split.train, split.test))
    return {
        "metrics": {metric: report[metric] for metric in _METRICS},
        "seconds": seconds,
        "settings": model.to_dict(),
    }


def score(raw: Raw) -> Score:
    """Return a table of all metrics."""
    rows = [
        (
            data_set,
            name,
            *(f"{model['metrics'][metric]:.4f}" for metric in _METRICS),
            f"{model['seconds']:.2f} s",
        )
        for data_set, facts in raw["sets"].items()
        for name, model in facts["models"].items()
    ]
    note = (
        "Leave-one-out, seed 0. All labels except the known ones of an image are ranked. Each baseline has its default "
        "settings on all data sets. ALS uses all cores, the others one."
    )
    return Score(tables=[Table(("data", "model", *_METRICS, "fitting"), rows)], notes=[note])


BASELINES = Benchmark(
    "baselines",
    "Baselines that need no tuning.",
    Sizes(),
    Sizes(("corel5k",), models=("popularity", "cooccurrence")),
    measure,
    score,
    measures=("baselines", "label_weights"),
)
