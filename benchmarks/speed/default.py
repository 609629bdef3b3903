"""Training time and accuracy of the default preset, against an earlier version of the sources in the same run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
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

# Training to the end takes too long here: its parts are measured once, and the number of epochs comes from
# a complete training on fewer images of the same vocabulary. That training also compiles the kernels.
_LARGE = """
import inspect, json, sys, time
from vse_ens.data.datasets.scenes import scenes
from vse_ens.presets import PRESETS
from vse_ens.train.trainer import Trainer
from vse_ens.train.validation import Validator

images, labels, fewer = map(int, sys.argv[1:])
config = PRESETS["context"].override(seed=0)
whole = Trainer(config, scenes(fewer, labels), workers=1)
for _ in whole.rounds():
    pass
whole.model

data, measure = scenes(images, labels), Validator.validate
validations = []

def validate(*given):
    start = time.process_time()
    found = measure(*given)
    validations.append(time.process_time() - start)
    return found

Validator.validate = validate
times = [time.process_time()]
trainer = Trainer(config.override(epochs=1, refit=False), data, workers=1)
times.append(time.process_time())
for _ in trainer.rounds():
    pass
times.append(time.process_time())
trainer.model
times.append(time.process_time())
validator = trainer._validator
current = trainer._backend.validation_embeddings(validator.images)
# After epoch 4 the scale of the label weights is searched; an earlier version searches it after every epoch.
validator.validate(current, *([4] if "epoch" in inspect.signature(measure).parameters else []))
begin, train, end = (after - before for before, after in zip(times, times[1:]))
first, later = validations
found = {"once": begin + first + end, "epoch": train - first, "validation": later, "epochs": len(whole.history)}
print(json.dumps(found | {"labels": len(data.labels), "pairs": data.pairs}))
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
    large: tuple[int, int] = (1_000_000, 20_000)
    """Images and labels of ``scenes``."""
    fewer_images: int = 30_000
    """Images of the same, of which a training to its end gives the number of epochs."""


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
                    {"data_set": name, "seed": seed, "version": version} | _run(_TRAIN, source, path, seed)
                )
    if "iaprtc12" in paths:
        log("profiles")
        raw["product_gflops"] = call(product_gflops, OPENBLAS_NUM_THREADS="1")
        raw["profile"] = {
            version: _run(_PROFILE, source, paths["iaprtc12"], 0, json.dumps(_PARTS))
            for version, source in versions.items()
        }
    raw["large"] = {"images": sizes.large[0], "fewer_images": sizes.fewer_images, "runs": {}}
    for version, source in versions.items():
        log(f"{sizes.large[0]:,} images, {sizes.large[1]:,} labels, {version}")
        raw["large"]["runs"][version] = _run(_LARGE, source, *sizes.large, sizes.fewer_images)
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


def _run(code: str, source: str, *arguments: object) -> dict[str, Any]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
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
    if raw.get("large"):
        large = raw["large"]
        table, computed = _large_table(large)
        tables.append(table)
        if computed is not None:
            name = f"CPU seconds, now / before: {large['images']:,} images, computed"
            checks.append(Check(name, computed, "at most", round(_LIMIT, 3)))
        notes.append(
            f"The table of {large['images']:,} images of `scenes` is computed, because training them to the end takes "
            "too long. Measured, in CPU seconds on one core: one epoch; what happens once (labels held out, label "
            "pairs, start vectors, the first validation, label weights twice, the model); and a later validation with "
            "a search for the scale of the label weights. The number of epochs comes from a complete training on "
            f"{large['fewer_images']:,} images of the same vocabulary. In all: once + epochs x epoch + (epochs - 1) x "
            "validation."
        )
    if raw.get("profile"):
        tables.append(_profile_table(raw["profile"]))
        notes.append(
            "The last table is a profile of one training on IAPR TC-12 in CPU seconds; the profiler adds some. "
            f"This core multiplies float32 matrices at {raw['product_gflops']:.0f} GFlop/s."
        )
    return Score(checks, tables, notes)


def _large_table(large: Raw) -> tuple[Table, float | None]:
    """Return the parts of a training on many images by version, and the ratio of their sums, now / before."""
    rows, sums = [], {}
    for version, run in large["runs"].items():
        sums[version] = run["once"] + run["epochs"] * run["epoch"] + (run["epochs"] - 1) * run["validation"]
        size = f"{large['images']:,} images, {run['labels']:,} labels, {run['pairs']:,} pairs"
        seconds = (f"{run[part]:.1f}" for part in ("once", "epoch", "validation"))
        rows.append((size, version, *seconds, str(run["epochs"]), f"{sums[version]:.0f}"))
    columns = ("computed", "version", "once", "an epoch", "a validation", "epochs", "in all")
    return Table(columns, rows), sums["now"] / sums["before"] if "before" in sums else None


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
    Sizes(data_sets=("corel5k",), seeds=1, large=(3_000, 300), fewer_images=1_000),
    measure,
    score,
    measures=("kernels", "label_weights", "presets", "train"),
    repetitions=lambda sizes: sizes.seeds,
)
