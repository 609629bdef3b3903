"""The effect on accuracy of every departure of the fast engine from algorithm 1 of the paper.

Test labels are not used: one label of every image is held out of the training part of the leave-one-out split of seed
0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.fitting import fit_and_rank
from benchmarks.core.benchmark import Benchmark, Raw, Score, Table, log
from benchmarks.core.data_sets import real
from benchmarks.core.report import markdown_table, stale_note
from benchmarks.core.results import Result
from vse_ens.config import Config
from vse_ens.errors import TrainingError
from vse_ens.presets import configure
from vse_ens.train.schedule import MIN_ROUND_DRAWS

DOCUMENT = Path(__file__).parents[2] / "docs" / "training.md"
_METRICS = ("recall@10", "map")
_NOT_MEASURED = "not measured yet"
_SMALL_LAMBDA = 0.001

Pair = tuple[Config, Config]


@dataclass(frozen=True)
class Departure:
    """One difference between the fast engine and algorithm 1, and two configurations that differ in it only."""

    name: str
    paper: str
    fast: str
    configs: Callable[[int], Pair]
    """The two configurations, given the number of labels."""


def _algorithm(**settings: Any) -> Config:
    return configure("paper-vse-ens", **settings)


def _minimum_round(labels: int) -> float:
    """Return the setting `refresh` with which algorithm 1 refreshes as rarely as one slice of the fast engine."""
    return max(1.0, MIN_ROUND_DRAWS / (labels * math.log(labels)))


def _serial_twin(labels: int) -> Config:
    """Return algorithm 1 with the order, redraws and rounds of the fast engine."""
    return _algorithm(positives="by-image", redraw_positives=True, refresh=_minimum_round(labels))


def _fast(**settings: Any) -> Config:
    fast = {"engine": "fast", "positives": "by-image", "redraw_positives": True, "slices": 1}
    return _algorithm(**{**fast, **settings})


DEPARTURES = (
    Departure(
        "order of positives",
        "draws a pair with replacement",
        "each pair once per epoch, image by image",
        lambda _: (_algorithm(), _algorithm(positives="by-image")),
    ),
    Departure(
        "drawn positive",
        "keeps it as a negative",
        "redraws it",
        lambda _: (_algorithm(), _algorithm(redraw_positives=True)),
    ),
    Departure(
        "minimum round",
        r"refreshes every \|A\| ln \|A\| draws",
        f"not before {MIN_ROUND_DRAWS:,} draws",
        lambda labels: (_algorithm(), _algorithm(refresh=_minimum_round(labels))),
    ),
    Departure(
        "sort and draws ahead",
        "exact; from the current vector",
        "4,096 steps (a 16-bit key); at the start of a visit",
        lambda labels: (_serial_twin(labels), _fast()),
    ),
    Departure(
        "slices and merge, 2",
        "one stream of steps",
        "2 slices from one snapshot, merged; rounds twice as long",
        lambda _: (_fast(), _fast(slices=2)),
    ),
    Departure(
        "slices and merge, 4",
        "one stream of steps",
        "4 slices from one snapshot, merged; rounds twice as long",
        lambda _: (_fast(), _fast(slices=4)),
    ),
    Departure(
        "label bias",
        "none",
        "one more factor, unless `label_bias=false`",
        lambda _: (_fast(), _fast(label_bias=True)),
    ),
    Departure(
        "floor of lambda",
        f"any lambda, here {_SMALL_LAMBDA:g}",
        r"lambda \|A\| is at least 1",
        lambda labels: (_algorithm(rank_scale=_SMALL_LAMBDA), _algorithm(rank_scale=max(_SMALL_LAMBDA, 1 / labels))),
    ),
    Departure(
        "all, with the paper's settings",
        "algorithm 1",
        "the fast engine without a label bias, slices chosen from the data",
        lambda _: (_algorithm(), _fast(slices=0)),
    ),
)

CHOICES = (
    Departure(
        "order of positives",
        "with replacement",
        "each pair once per epoch, shuffled",
        lambda _: (_algorithm(), _algorithm(positives="shuffled")),
    ),
    Departure(
        "N(0, 0.01)",
        "standard deviation 0.01",
        "variance 0.01",
        lambda _: (_algorithm(), _algorithm(init_scale=0.1)),
    ),
    Departure(
        "WARP: tries",
        r"at most \|A\| - 1",
        "until a label violates the margin",
        lambda _: (configure("paper-warp"), configure("paper-warp", warp_cap=False)),
    ),
    Departure(
        "WARP: drawn positive",
        "redrawn",
        "kept",
        lambda _: (configure("paper-warp"), configure("paper-warp", redraw_positives=False)),
    ),
    Departure(
        "Opt-AUC: drawn positive",
        "redrawn",
        "kept",
        lambda _: (configure("paper-opt-auc"), configure("paper-opt-auc", redraw_positives=False)),
    ),
)


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    real: tuple[str, ...] = ("iaprtc12",)
    seeds: tuple[int, ...] = (0, 1, 2)
    epochs: int | None = None


def measure(sizes: Sizes) -> Raw:
    """Train both configurations of every departure with every seed; equal configurations are trained once."""
    found, skipped = real(sizes.real)
    sets: Raw = {}
    for name, data in found.items():
        split = data.leave_one_out(seed=0).train.leave_one_out(seed=0)

        @cache
        def train(config: Config, name: str = name, split: Any = split) -> dict[str, float] | None:
            log(f"{config.sampler}, engine {config.engine}, seed {config.seed} on {name}")
            try:
                metrics = fit_and_rank(config, split)
            except TrainingError as error:
                skipped.append(f"{config.to_dict()} on {name}: {error}.")
                return None
            return {metric: metrics[metric] for metric in (*_METRICS, "seconds")}

        labels = len(split.train.labels)
        groups = {
            group: [
                {
                    "name": departure.name,
                    "runs": [
                        [train(config.override(seed=seed, epochs=sizes.epochs)) for config in departure.configs(labels)]
                        for seed in sizes.seeds
                    ],
                }
                for departure in departures
            ]
            for group, departures in (("departures", DEPARTURES), ("choices", CHOICES))
        }
        sets[name] = {"labels": labels, **groups}
    return {"sets": sets, "skipped": skipped}


def score(raw: Raw) -> Score:
    """Return a table of departures and one of the choices that the paper leaves open, per data set."""
    note = (
        "Metrics on labels held out of the training part; mean over model seeds, and the mean difference between the "
        "second column and the first with its standard error, paired by seed. Both models of a row differ in the named "
        "setting only; `sort and draws ahead` compares the fast engine in one slice with algorithm 1 in the same "
        "order, with redraws and rounds of the same length. All other settings are as in the `paper-` presets."
    )
    tables = [
        Table((name, "first", "second", "recall@10", "map", "recall@10 changes by", "map changes by"), rows)
        for name, facts in raw["sets"].items()
        for rows in (_rows(DEPARTURES, facts["departures"]), _rows(CHOICES, facts["choices"]))
    ]
    return Score(tables=tables, notes=[note])


def _rows(departures: tuple[Departure, ...], measured: list[Raw]) -> list[tuple[str, ...]]:
    runs = {row["name"]: row["runs"] for row in measured}
    rows = []
    for departure in departures:
        found = runs.get(departure.name, [])
        means = [_mean(found, metric) for metric in _METRICS]
        rows.append((departure.name, departure.paper, departure.fast, *means, *_changes(found)))
    return rows


def _complete(runs: list[list[Any]], metric: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return one row per seed with both values of a metric; a seed with a run that diverged is left out."""
    return np.array([[run[metric] for run in pair] for pair in runs if None not in pair]).reshape(-1, 2)


def _mean(runs: list[list[Any]], metric: str) -> str:
    values = _complete(runs, metric)
    return " → ".join(f"{value:.4f}" for value in values.mean(axis=0)) if len(values) else "-"


def _changes(runs: list[list[Any]]) -> list[str]:
    shown = []
    for metric in _METRICS:
        change = np.diff(_complete(runs, metric), axis=1)[:, 0]
        error = f" ± {change.std(ddof=1) / math.sqrt(len(change)):.4f}" if len(change) > 1 else ""
        shown.append(f"{change.mean():+.4f}{error}" if len(change) else "-")
    return shown


def training_table(result: Result | None) -> str:
    """Return the table of docs/training.md: every departure with its measured effect on IAPR TC-12."""
    facts: Raw = result.raw["sets"].get("iaprtc12", {}) if result else {}
    runs = {row["name"]: row["runs"] for row in facts.get("departures", [])}
    rows = []
    for departure in DEPARTURES:
        changes = _changes(runs[departure.name]) if departure.name in runs else [_NOT_MEASURED, _NOT_MEASURED]
        rows.append((departure.name, departure.paper, departure.fast, *changes))
    table = markdown_table(Table(("departure", "algorithm 1", "fast engine", "recall@10", "map"), rows))
    stale = stale_note([result]) if result else ""
    return f"{table}\n\n{stale}" if stale else table


DEPARTURES_BENCHMARK = Benchmark(
    "departures",
    "The effect of each departure of the fast engine from algorithm 1.",
    Sizes(),
    Sizes(seeds=(0,), epochs=2),
    measure,
    score,
    measures=("kernels", "presets", "train"),
    repetitions=lambda sizes: len(sizes.seeds),
    timed=False,
)
