"""Sensitivity of the preset `context` to each setting, on validation splits of the training part.

Test labels are not used: one label of every image is held out of the *training* part of the leave-one-out split of seed
0. Each row of benchmarks/results/tuning_context.jsonl is one setting changed, trained on one data set with one seed. A
row with the same complete settings is not trained again, so after a change of defaults only new settings are trained.
Rows name the commit, the processor and the date. Keep the file with the code, and remove it after a change that affects
accuracy: rows of other commits are not trained again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.fitting import fit_and_rank, overall
from benchmarks.core.benchmark import Table, log
from benchmarks.core.data_sets import REAL, real
from benchmarks.core.report import markdown_table
from benchmarks.core.results import FOLDER, machine
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.splits import leave_one_out
from vse_ens.presets import configure
from vse_ens.train.schedule import resolve_auto

RESULTS = FOLDER / "tuning_context.jsonl"
_BASE = "unchanged"
_STORED = ("recall@10", "map", "auc", "seconds", "epochs")

# Factors for settings that may be chosen from the data, and values for the others.
_FACTORS: dict[str, tuple[float, ...]] = {
    "learning_rate": (0.5, 2.0),
    "regularization": (1 / 3, 3.0),
    "bias_regularization": (1 / 3, 3.0),
    "init_scale": (1 / 3, 3.0),
    "rank_scale": (0.5, 2.0),
}
_VALUES: dict[str, tuple[Any, ...]] = {
    "learning_rate_decay": (0.88, 0.96),
    "negatives": (16, 64),
    "dimensions": (64, 192, 256),
    "patience": (2, 6),
    "label_pairs": (0,),
    "label_weights": (False,),
    "neighbors": (False,),
    "sampler": ("uniform",),
}

Metrics = dict[str, float]
Found = dict[str, dict[str, list[Metrics]]]
"""By variant and data set, one entry per seed."""


def variants(data: Annotations) -> dict[str, Config]:
    """Return the preset with its automatic settings resolved, and with one setting changed, by name."""
    base = resolve_auto(configure("context"), data)
    found = {_BASE: base}
    for name, factors in _FACTORS.items():
        for factor in factors:
            found[f"{name} x {factor:.2g}"] = base.override(**{name: float(f"{getattr(base, name) * factor:.4g}")})
    for name, values in _VALUES.items():
        for value in values:
            found[f"{name} {value}"] = base.override(**{name: value})
    return found


def compare(results: Path = RESULTS, names: tuple[str, ...] = REAL, seeds: tuple[int, ...] = (0,)) -> str:
    """Train the variants that ``results`` lacks, and return a table of their differences from the preset.

    With one seed there are as many pairs to compare as data sets; another seed costs as much again.
    """
    data, skipped = real(names)
    for sentence in skipped:
        log(sentence)
    rows = _read(results)
    facts = machine()
    found: Found = {}
    for name, pairs in data.items():
        train = pairs.leave_one_out(seed=0).train
        for seed in seeds:
            split = leave_one_out(train, seed, name="tuning")
            for title, config in variants(split.train).items():
                settings = config.override(seed=seed)
                key = _key(name, settings.to_dict())
                if key not in rows:
                    log(f"{title}, seed {seed}, on {name}")
                    metrics = fit_and_rank(settings, split)
                    rows[key] = {name: metrics[name] for name in _STORED}
                    row = {"data": name, "config": settings.to_dict(), "figures": rows[key]}
                    _append(results, row | {fact: facts[fact] for fact in ("commit", "cpu", "date")})
                found.setdefault(title, {}).setdefault(name, []).append(rows[key])
    return markdown_table(differences(found))


def differences(found: Found) -> Table:
    """Return the change of `overall` by each variant, and its training time relative to the preset.

    The change is given for each data set, as the mean over seeds, and for all, with its standard error.
    """
    base, base_seconds = _values(found[_BASE])
    means = [f"{value:.4f}" for value in base.mean(axis=1)]
    lines = [(_BASE, f"{base.mean():.4f}", *means, "1.00")]
    for title in [title for title in found if title != _BASE]:
        values, seconds = _values(found[title])
        gains = values - base
        error = gains.std() / np.sqrt(gains.size)
        time = (seconds.mean(axis=1) / base_seconds.mean(axis=1)).mean()
        means = [f"{gain:+.4f}" for gain in gains.mean(axis=1)]
        lines.append((title, f"{gains.mean():+.4f} ± {error:.4f}", *means, f"{time:.2f}"))
    return Table(("variant", "mean", *found[_BASE], "time"), lines)


def _values(sets: dict[str, list[Metrics]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return `overall` and seconds, one row per data set and one column per seed."""
    rows = list(sets.values())
    return np.array([[overall(one) for one in row] for row in rows]), np.array(
        [[one["seconds"] for one in row] for row in rows]
    )


def _key(name: str, config: Mapping[str, Any]) -> str:
    return json.dumps([name, config], sort_keys=True)


def _read(path: Path) -> dict[str, Metrics]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {_key(row["data"], row["config"]): row["figures"] for row in map(json.loads, lines)}


def _append(path: Path, row: Mapping[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
