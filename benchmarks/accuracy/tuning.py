"""The search for the settings of a preset, on validation splits of the training part.

    python -m benchmarks.accuracy.tuning vse-ens --trials 40     random search
    python -m benchmarks.accuracy.tuning context                 one setting at a time (`sensitivity.py`)
    python -m benchmarks.accuracy.tuning context --seeds 2       with a second seed; the rows of the first are kept
    python -m benchmarks.accuracy.tuning context --quick         one small data set; nothing is stored

Random search does not use test labels: one label of up to 4,000 images is held out of the *training* part of the
leave-one-out split of seed 0. A trial is one random choice of settings, trained on every data set. Its score is the
mean over data sets of (recall@10 + map), relative to the best trial on that data set. Trials are appended to
benchmarks/results/tuning.jsonl, so that a search can continue.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import sensitivity
from benchmarks.accuracy.fitting import fit_and_rank
from benchmarks.core.data_sets import REAL, real
from benchmarks.core.results import FOLDER
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations, Split
from vse_ens.data.splits import leave_one_out
from vse_ens.streams import Streams

RESULTS = FOLDER / "tuning.jsonl"
DATA_SETS = ("iaprtc12", "openimages_v1val_sample", "mirflickr25k")
_QUICK = ("corel5k",)

# The search space: a range (lowest, highest) on a logarithmic scale, or a list of choices.
Space = dict[str, tuple[float, float] | list[Any]]
SPACES: dict[str, tuple[dict[str, Any], Space]] = {
    "vse-ens": (
        {"sampler": "vse-ens", "loss": "hinge", "epochs": 160},
        {
            "learning_rate": (0.03, 0.1),
            "learning_rate_decay": [0.98, 0.985, 0.99],
            "regularization": (0.015, 0.06),
            "bias_regularization": (0.02, 0.3),
            "rank_scale": (0.03, 0.3),
        },
    ),
    "vse-ens-logistic": (
        {"sampler": "vse-ens", "loss": "logistic", "epochs": 160},
        {
            "learning_rate": (0.06, 0.3),
            "learning_rate_decay": [0.98, 0.99, 1.0],
            "regularization": (0.002, 0.01),
            "bias_regularization": (0.001, 0.03),
            "rank_scale": (0.05, 0.6),
        },
    ),
    "opt-auc": (
        {"sampler": "uniform", "loss": "logistic", "epochs": 160},
        {
            "learning_rate": (0.06, 0.4),
            "learning_rate_decay": [0.98, 0.99, 1.0],
            "regularization": (0.001, 0.01),
            "bias_regularization": (0.0003, 0.01),
        },
    ),
    "warp": (
        {"sampler": "warp", "loss": "warp", "epochs": 60},
        {
            "learning_rate": (0.008, 0.03),
            "learning_rate_decay": [0.94, 0.96, 0.97],
            "regularization": (0.2, 0.8),
            "bias_regularization": (0.2, 1.5),
        },
    ),
}


def validation_split(data: Annotations) -> Split:
    """Return training and validation pairs of a data set, without its test labels."""
    return leave_one_out(data.leave_one_out(seed=0).train, seed=1, max_images=4_000)


def draw_settings(stream: Streams, space: Space) -> dict[str, Any]:
    """Draw settings: log-uniform from a range, uniform from a list."""
    settings: dict[str, Any] = {}
    for (name, values), u in zip(space.items(), stream.uniforms(len(space)), strict=True):
        if isinstance(values, list):
            settings[name] = values[int(u * len(values))]
        else:
            low, high = values
            settings[name] = float(f"{low * (high / low) ** u:.3g}")
    return settings


def rank_trials(trials: list[dict[str, Any]]) -> list[tuple[float, dict[str, Any]]]:
    """Return trials by descending score, relative to the best trial of each data set."""

    def value(trial: dict[str, Any], name: str) -> float:
        return float(trial["figures"][name]["recall@10"] + trial["figures"][name]["map"])

    names = trials[0]["figures"]
    best = {name: max(value(trial, name) for trial in trials) for name in names}
    scored = [(float(np.mean([value(trial, name) / best[name] for name in names])), trial) for trial in trials]
    return sorted(scored, key=lambda pair: -pair[0])


def search(preset: str, trials: int, results: Path = RESULTS, names: tuple[str, ...] = DATA_SETS) -> None:
    """Run the trials that ``results`` lacks, and print the best ones."""
    fixed, space = SPACES[preset]
    data, missing = real(names)
    if missing:
        raise SystemExit(missing[0])
    splits = {name: validation_split(pairs) for name, pairs in data.items()}
    lines = results.read_text().splitlines() if results.exists() else []
    kept = [trial for trial in map(json.loads, lines) if trial["preset"] == preset]
    for number in range(len(kept), trials):
        settings = draw_settings(Streams(0).child("tuning", preset, number), space)
        metrics = {name: fit_and_rank(Config(**fixed, **settings), split) for name, split in splits.items()}
        kept.append({"preset": preset, "trial": number, "settings": settings, "figures": metrics})
        with results.open("a") as file:
            file.write(json.dumps(kept[-1]) + "\n")
        print(number, settings, {name: round(one["recall@10"] + one["map"], 4) for name, one in metrics.items()})
    for score, trial in rank_trials(kept)[:8]:
        shown = {name: f"{one['recall@10']:.4f} {one['map']:.4f}" for name, one in trial["figures"].items()}
        print(f"{score:.4f}", trial["settings"], shown)


def main(given: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset", choices=(*SPACES, "context"))
    parser.add_argument("--trials", type=int, default=40, help="number of trials of a random search")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds of context")
    parser.add_argument("--quick", action="store_true", help="one small data set and one trial; nothing is stored")
    arguments = parser.parse_args(given)
    preset, seeds = arguments.preset, tuple(range(arguments.seeds))
    if arguments.quick:
        with tempfile.TemporaryDirectory() as folder:
            _run(preset, 1, (0,), Path(folder) / "rows.jsonl", _QUICK)
    elif preset == "context":
        _run(preset, arguments.trials, seeds, sensitivity.RESULTS, REAL)
    else:
        _run(preset, arguments.trials, seeds, RESULTS, DATA_SETS)


def _run(preset: str, trials: int, seeds: tuple[int, ...], results: Path, names: tuple[str, ...]) -> None:
    if preset == "context":
        print(sensitivity.compare(results, names, seeds))
    else:
        search(preset, trials, results, names)


if __name__ == "__main__":
    main()
