"""Training time and accuracy of the default preset, against an earlier version of the sources in the same run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.data_sets import real_files
from benchmarks.core.process import call

BEFORE = "VSE_ENS_BEFORE"
"""The environment variable with the ``src`` folder of the earlier version."""
_LIMIT = 1 / 3

# Runs with both versions, so it uses names that both have. The labels to predict are held out of the training part of
# the leave-one-out split: the test labels stay unseen.
_TRAIN = """
import json, sys, time
from vse_ens import Annotations
from vse_ens.evaluate.rank import mean_metrics
from vse_ens.model.blas import one_thread
from vse_ens.presets import PRESETS
from vse_ens.train.trainer import Trainer

def train(data, seed, **settings):
    start = time.process_time()
    trainer = Trainer(PRESETS["context"].override(seed=seed, **settings), data, workers=1)
    for _ in trainer.rounds():
        pass
    return trainer, trainer.model, time.process_time() - start

path, seed = sys.argv[1], int(sys.argv[2])
part, _ = Annotations.read(path, header=False).leave_one_out(seed=0)
data, held_out = part.leave_one_out(seed=100 + seed)
train(data, seed, epochs=1)  # compiles the kernels
trainer, model, seconds = train(data, seed)
with one_thread():
    metrics = mean_metrics(lambda images: model.scores(images, data, None), data, held_out, workers=1)
found = {name: metrics[name] for name in ("recall@10", "map", "auc")}
print(json.dumps({"cpu_seconds": seconds, "epochs": len(trainer.history)} | found))
"""

# Which files count to which part of a profile, by how their paths begin below vse_ens.
_PARTS = {
    "kernels/context": "training kernels",
    "kernels/rank": "rankings of the sampler and of validation",
    "label_weights": "label weights",
    "kernels/gram": "label weights, kernels",
    "kernels/label_pairs": "label pairs",
    "evaluate": "validation",
    "train": "schedule",
}
_PROFILE = """
import cProfile, json, pstats, sys
from vse_ens import Annotations
from vse_ens.presets import PRESETS
from vse_ens.train.trainer import Trainer

path, seed, parts = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
data, _ = Annotations.read(path, header=False).leave_one_out(seed=0)

def train():
    trainer = Trainer(PRESETS["context"].override(seed=seed), data, workers=1)
    for _ in trainer.rounds():
        pass
    trainer.model
    return trainer

train()  # compiles the kernels
profile = cProfile.Profile()
trainer = profile.runcall(train)
found = dict.fromkeys([*parts.values(), "rest"], 0.0)
for (file, _, _), (_, _, seconds, _, _) in pstats.Stats(profile).stats.items():
    inside = file.partition("vse_ens/")[2]
    part = next((name for start, name in parts.items() if inside.startswith(start)), "rest")
    found[part] += seconds
config = trainer.config
draws = sum(report.draws for report in trainer.history)
# Per label that a positive is compared with: its score, its gradient, and its part of the positive's gradient.
flops = draws * (config.negatives + 1) * config.dimensions * 2 * 3
print(json.dumps(found | {"gflops": flops / found["training kernels"] / 1e9}))
"""


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    data_sets: tuple[str, ...] = ("iaprtc12", "mirflickr25k", "openimages_v1val_sample", "corel5k", "nuswide81")
    seeds: int = 3


def measure(sizes: Sizes) -> Raw:
    """Train with every version in turn, on one core, each in its own process."""
    paths, skipped = real_files(sizes.data_sets)
    raw: Raw = {"runs": [], "skipped": skipped}
    versions = {"now": ""}
    if BEFORE in os.environ:
        versions = {"before": os.environ[BEFORE]} | versions
        raw["commit_before"] = _commit(versions["before"])
    else:
        raw["skipped"].append(f"the comparison with an earlier version: set {BEFORE} to the src folder of one")
    for name, path in paths.items():
        for seed in range(sizes.seeds):
            for version, source in versions.items():
                log(f"{name}, seed {seed}, {version}")
                raw["runs"].append(
                    {"data_set": name, "seed": seed, "version": version} | _run(_TRAIN, path, seed, source)
                )
    if "iaprtc12" in paths:
        log("profiles")
        raw["product_gflops"] = call(product_gflops, OPENBLAS_NUM_THREADS="1")
        raw["profile"] = {
            version: _run(_PROFILE, paths["iaprtc12"], 0, source, json.dumps(_PARTS))
            for version, source in versions.items()
        }
    return raw


def product_gflops(size: int = 1024, repetitions: int = 5) -> float:
    """Return the speed of a float32 matrix product on one core, in GFlop/s."""
    import numpy as np

    matrix = np.ones((size, size), np.float32)
    best = float("inf")
    for _ in range(repetitions):
        start = time.process_time()
        _ = matrix @ matrix
        best = min(best, time.process_time() - start)
    return float(2e-9 * size**3 / best)


def _run(code: str, path: Path, seed: int, source: str, *more: str) -> dict[str, Any]:
    command = [sys.executable, "-c", code, str(path), str(seed), *more]
    environment = os.environ | ({"PYTHONPATH": source} if source else {})
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _commit(source: str) -> str:
    command = ["git", "-C", source, "rev-parse", "HEAD"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def score(raw: Raw) -> Score:
    """Return the ratio of CPU seconds, and the accuracy of both versions with its standard error over seeds."""
    names = list(dict.fromkeys(run["data_set"] for run in raw["runs"]))
    checks, rows = [], []
    for name in names:
        runs = {
            version: [run for run in raw["runs"] if (run["data_set"], run["version"]) == (name, version)]
            for version in ("before", "now")
        }
        seconds = {version: fmean(run["cpu_seconds"] for run in some) for version, some in runs.items() if some}
        if "before" in seconds:
            ratio = seconds["now"] / seconds["before"]
            checks.append(Check(f"CPU seconds, now / before: {name}", ratio, "at most", round(_LIMIT, 3)))
        for version, some in runs.items():
            if some:
                values = (_mean_and_error([run[metric] for run in some]) for metric in ("recall@10", "map", "auc"))
                epochs = f"{fmean(run['epochs'] for run in some):.0f}"
                rows.append((name, version, f"{seconds[version]:.1f}", epochs, *values))
    columns = ("data set", "version", "CPU seconds", "epochs", "recall@10", "MAP", "AUC")
    note = (
        "Mean and standard error over seeds, one core, with compiled kernels. The labels are held out of the training "
        "part of the leave-one-out split; test labels are not used."
    )
    notes = [note]
    if "commit_before" in raw:
        notes.append(f"Before: commit {raw['commit_before'][:7]}.")
    tables = [Table(columns, rows)]
    if raw.get("profile"):
        tables.append(_profile_table(raw["profile"]))
        notes.append(
            "The second table is a profile of one training on IAPR TC-12 in CPU seconds; the profiler adds some. "
            f"This core multiplies float32 matrices at {raw['product_gflops']:.0f} GFlop/s."
        )
    return Score(checks, tables, notes)


def _profile_table(profile: dict[str, dict[str, float]]) -> Table:
    parts = [*_PARTS.values(), "rest"]
    rows = [(part, *(f"{seconds[part]:.2f}" for seconds in profile.values())) for part in parts]
    rows.append(("GFlop/s of the training kernels", *(f"{seconds['gflops']:.1f}" for seconds in profile.values())))
    return Table(("part", *profile), rows)


def _mean_and_error(values: list[float]) -> str:
    error = f" ± {stdev(values) / len(values) ** 0.5:.4f}" if len(values) > 1 else ""
    return f"{fmean(values):.4f}{error}"


DEFAULT = Benchmark(
    "default",
    "The default preset trains faster than an earlier version, and as accurately.",
    Sizes(),
    Sizes(data_sets=("corel5k",), seeds=1),
    measure,
    score,
    measures=("kernels", "label_weights", "presets", "train"),
    repetitions=lambda sizes: sizes.seeds,
)
