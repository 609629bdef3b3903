"""Training time and accuracy of the default preset, against earlier versions of the sources in the same run.

Settings are chosen on the odd data sets and confirmed on the even ones, never the other way around. A version that is
less accurate than the one before on any of them, by more than a standard error, fails the run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from benchmarks.core.benchmark import Benchmark, Check, Parts, Raw, Score, Table, log
from benchmarks.core.data_sets import real_files
from benchmarks.core.parts import measure_parts
from benchmarks.core.process import call

BEFORE = "VSE_ENS_BEFORE"
"""The environment variable with the ``src`` folder of the version before."""
SLOW = "VSE_ENS_SLOW"
"""The environment variable with the ``src`` folder of commit db1807b: the default before it was made faster."""
ODD = ("corel5k", "iaprtc12", "lastfm2k", "openimages_v1val_sample")
"""The data sets on which settings are chosen."""
EVEN = ("mirflickr25k", "nuswide81", "eurlex4k")
"""The data sets on which they are confirmed."""
_LIMIT = 0.5
_METRICS = {"recall@10": "recall@10", "mrr": "MRR", "auc": "AUC"}
_JUDGED = ("recall@10", "mrr")
EFFORTS = ("quick", "thorough")
"""The presets that spend less and more time than the default; they are versions of their own."""

# Runs with all versions, so it uses names that all have. The labels to predict are held out of the training part of
# the leave-one-out split: the test labels stay unseen.
_TRAIN = """
import json, sys, time
from vse_ens import Annotations
from vse_ens.model.blas import one_thread
from vse_ens.train.trainer import Trainer
try:
    from vse_ens.evaluate.rank import mean_metrics
    from vse_ens.presets import PRESETS
except ImportError:  # db1807b
    from vse_ens.config import PRESETS
    from vse_ens.evaluate.means import mean_metrics

def train(data, seed, **settings):
    start = time.process_time()
    trainer = Trainer(PRESETS[preset].override(seed=seed, **settings), data, workers=1)
    for _ in trainer.rounds():
        pass
    return trainer, trainer.model, time.process_time() - start

path, seed, preset = sys.argv[1], int(sys.argv[2]), sys.argv[3]
part, _ = Annotations.read(path, header=False).leave_one_out(seed=0)
data, held_out = part.leave_one_out(seed=100 + seed)
train(data, seed, epochs=1)  # compiles the kernels
trainer, model, seconds = train(data, seed)
with one_thread():
    metrics = mean_metrics(lambda images: model.scores(images, data, None), data, held_out, workers=1)
found = {name: metrics[name] for name in ("recall@10", "mrr", "auc")}
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

    data_sets: tuple[str, ...] = (*ODD, *EVEN)
    seeds: int = 3
    large: tuple[int, int] = (1_000_000, 20_000)
    """Images and labels of ``scenes``."""
    fewer_images: int = 30_000
    """Images of the same, of which a training to its end gives the number of epochs."""


def parts(sizes: Sizes) -> list[str]:
    """Return the names of all parts: the trainings on a data set with a seed, a profile, and many images."""
    return [*(f"{name} {seed}" for seed in range(sizes.seeds) for name in sizes.data_sets), "profile", "large"]


def measure_part(sizes: Sizes, part: str) -> Raw:
    """Measure every version in turn, on one core, each in its own process."""
    raw: Raw = {}
    versions = {}
    for version, variable in (("slow", SLOW), ("before", BEFORE)):
        if variable in os.environ:
            versions[version] = os.environ[variable]
            raw[f"commit_{version}"] = _commit(versions[version])
    versions["now"] = ""
    if part in ("profile", "large"):
        versions.pop("slow", None)  # its modules have other names
        measured = _measure_profile(versions) if part == "profile" else _measure_large(sizes, versions)
        return raw | measured
    name, seed = part.split()
    paths, skipped = real_files((name,))
    if skipped:
        return {"skipped": skipped[0]}
    raw["runs"] = []
    for version in (*versions, *EFFORTS):
        log(f"{part}, {version}")
        preset = version if version in EFFORTS else "context"
        run = _run(_TRAIN, versions.get(version, ""), paths[name], seed, preset)
        raw["runs"].append({"data_set": name, "seed": int(seed), "version": version} | run)
    return raw


def _measure_profile(versions: dict[str, str]) -> Raw:
    paths, skipped = real_files(("iaprtc12",))
    if skipped:
        return {"skipped": skipped[0]}
    profiles = {
        version: _run(_PROFILE, source, paths["iaprtc12"], 0, json.dumps(_PARTS))
        for version, source in versions.items()
    }
    return {"product_gflops": call(product_gflops, OPENBLAS_NUM_THREADS="1"), "profile": profiles}


def _measure_large(sizes: Sizes, versions: dict[str, str]) -> Raw:
    runs = {version: _run(_LARGE, source, *sizes.large, sizes.fewer_images) for version, source in versions.items()}
    return {"large": {"images": sizes.large[0], "fewer_images": sizes.fewer_images, "runs": runs}}


def measure(sizes: Sizes) -> Raw:
    """Measure all parts without storing them."""
    return measure_parts(PARTS, sizes).raw


def whole(raw: Raw) -> Raw:
    """Return the runs of all parts together, and what else they measured."""
    found: Raw = {"runs": []}
    for part in raw["parts"].values():
        found["runs"] += part["raw"].get("runs", [])
        found |= {name: value for name, value in part["raw"].items() if name not in ("runs", "skipped")}
    return found


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
    """Return the ratio of CPU seconds, and the accuracy of all versions with its standard error over seeds."""
    raw = whole(raw)
    runs = by_data_set(raw)
    commits = {version: raw[f"commit_{version}"][:7] for version in ("slow", "before") if f"commit_{version}" in raw}
    names = {"now": "now"} | {version: f"{version}, {commit}" for version, commit in commits.items()}
    parts = {"odd, for choosing": ODD, "even, for confirming": EVEN}
    tables, checks = [], []
    for part, data_sets in parts.items():
        some = {name: runs[name] for name in data_sets if name in runs}
        if some:
            tables.append(_accuracy_table(part, some, names))
            checks += [check for name, versions in some.items() for check in _not_below(name, versions)]
    if runs and all({"now", *EFFORTS} <= versions.keys() for versions in runs.values()):
        tables.append(_effort_table(runs))
    checks += _time_check(runs)
    note = (
        "Mean and standard error over seeds, one core, with compiled kernels. The labels are held out of the training "
        "part of the leave-one-out split; test labels are not used. Every seed holds out other labels, the same for "
        "all versions. A check of accuracy is the mean over seeds of the difference of two versions; it is missed if "
        "that is below 0 by more than its standard error (by more than half of it, against the slow version). Settings "
        "are chosen on the odd data sets and confirmed on the even ones."
    )
    notes = [note]
    if raw.get("large"):
        large = raw["large"]
        tables.append(_large_table(large))
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


def by_data_set(raw: Raw) -> dict[str, dict[str, list[Raw]]]:
    """Return the runs by data set and version."""
    runs: dict[str, dict[str, list[Raw]]] = {}
    for run in raw["runs"]:
        runs.setdefault(run["data_set"], {}).setdefault(run["version"], []).append(run)
    return runs


def _accuracy_table(part: str, runs: dict[str, dict[str, list[Raw]]], names: dict[str, str]) -> Table:
    rows = []
    for data_set, versions in runs.items():
        for version, some in versions.items():
            seconds = f"{fmean(run['cpu_seconds'] for run in some):.1f}"
            epochs = f"{fmean(run['epochs'] for run in some):.0f}"
            values = (_mean_and_error([run[metric] for run in some]) for metric in _METRICS)
            rows.append((data_set, names.get(version, version), seconds, epochs, *values))
    return Table((f"data set ({part})", "version", "CPU seconds", "epochs", *_METRICS.values()), rows)


def effort(runs: dict[str, dict[str, list[Raw]]]) -> list[tuple[str, float, dict[str, float]]]:
    """Return for quick, default and thorough the CPU seconds of all data sets in sum, and the means of the metrics."""
    found = []
    for name, version in (("quick", "quick"), ("context", "now"), ("thorough", "thorough")):
        some = [versions[version] for versions in runs.values()]
        seconds = sum(fmean(run["cpu_seconds"] for run in of_set) for of_set in some)
        means = {metric: fmean(fmean(run[metric] for run in of_set) for of_set in some) for metric in _METRICS}
        found.append((name, seconds, means))
    return found


def _effort_table(runs: dict[str, dict[str, list[Raw]]]) -> Table:
    rows = [
        (f"`{name}`", f"{seconds:.1f}", *(f"{means[metric]:.4f}" for metric in _METRICS))
        for name, seconds, means in effort(runs)
    ]
    return Table(("preset", f"CPU seconds of {len(runs)} data sets", *_METRICS.values()), rows)


def _not_below(data_set: str, versions: dict[str, list[Raw]]) -> Iterator[Check]:
    """Yield the differences to the versions before, which must not be below 0 by more than a standard error."""
    for version, errors in (("before", 1.0), ("slow", 0.5)):
        for metric in _JUDGED if version in versions else ():
            earlier = {run["seed"]: run[metric] for run in versions[version]}
            found = [run[metric] - earlier[run["seed"]] for run in versions["now"] if run["seed"] in earlier]
            if len(found) < 2:
                continue  # no standard error
            limit = round(-errors * stdev(found) / len(found) ** 0.5, 4)
            name = f"{data_set}: {_METRICS[metric]}, now - {version}"
            yield Check(name, fmean(found), "at least", limit, digits=4, required=version == "before")


def _time_check(runs: dict[str, dict[str, list[Raw]]]) -> list[Check]:
    """Return the check of the CPU seconds of a training on every data set, summed."""
    means = [
        {version: fmean(run["cpu_seconds"] for run in some) for version, some in versions.items()}
        for versions in runs.values()
    ]
    if not means or not all("slow" in one for one in means):
        return []
    ratio = sum(one["now"] for one in means) / sum(one["slow"] for one in means)
    return [Check(f"CPU seconds of {len(means)} data sets in sum, now / slow", ratio, "at most", _LIMIT)]


def _large_table(large: Raw) -> Table:
    """Return the parts of a training on many images by version, and their sums."""
    rows = []
    for version, run in large["runs"].items():
        computed = run["once"] + run["epochs"] * run["epoch"] + (run["epochs"] - 1) * run["validation"]
        size = f"{large['images']:,} images, {run['labels']:,} labels, {run['pairs']:,} pairs"
        seconds = (f"{run[part]:.1f}" for part in ("once", "epoch", "validation"))
        rows.append((size, version, *seconds, str(run["epochs"]), f"{computed:.0f}"))
    columns = ("computed", "version", "once", "an epoch", "a validation", "epochs", "in all")
    return Table(columns, rows)


def _profile_table(profile: dict[str, dict[str, float]]) -> Table:
    parts = [*_PARTS.values(), "rest"]
    rows = [(part, *(f"{seconds[part]:.2f}" for seconds in profile.values())) for part in parts]
    rows.append(("GFlop/s of the training kernels", *(f"{seconds['gflops']:.1f}" for seconds in profile.values())))
    return Table(("part", *profile), rows)


def _mean_and_error(values: list[float]) -> str:
    error = f" ± {stdev(values) / len(values) ** 0.5:.4f}" if len(values) > 1 else ""
    return f"{fmean(values):.4f}{error}"


PARTS = Parts(parts, measure_part, lambda _: ("kernels", "label_weights", "model", "presets", "train"))
DEFAULT = Benchmark(
    "default",
    "The default preset is at least as accurate as the version before on every data set, in half the time of db1807b.",
    Sizes(),
    Sizes(data_sets=("corel5k",), seeds=2, large=(3_000, 300), fewer_images=1_000),
    measure,
    score,
    measures=("kernels", "label_weights", "model", "presets", "train"),
    parts=PARTS,
    repetitions=lambda sizes: sizes.seeds,
)
