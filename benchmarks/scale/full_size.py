"""Time and RAM at the size of the full Open Images: 9 million images, 20,000 labels and about 70 million pairs.

The RAM is also compared with its estimate on smaller data of several shapes, because other arrays decide there.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.data_sets import real, real_files
from benchmarks.core.process import call
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.presets import configure
from vse_ens.train.ram_estimate import estimate_ram
from vse_ens.train.trainer import Trainer

_SECONDS = 120.0
_RAM_FACTOR = 3.0


@dataclass(frozen=True)
class Shape:
    """Data of ``scenes``, or a real data set, and how it is trained."""

    preset: str
    images: int = 0
    labels: int = 0
    data_set: str = ""
    features: int = 0
    """Columns of random features, with a tower that has them."""

    def __str__(self) -> str:
        name = self.data_set or f"{self.images:,} images, {self.labels:,} labels"
        return f"`{self.preset}`, {name}" + (f", {self.features} features" if self.features else "")


_PRESETS = ("context", "vse-ens", "opt-auc", "warp")
_SMALLER = (
    *(
        Shape(preset, data_set=name)
        for name in ("iaprtc12", "mirflickr25k", "openimages_v1val_sample")
        for preset in _PRESETS
    ),
    Shape("context", data_set="openimages_v1val_sample", features=64),
    *(Shape(preset, images, labels) for images, labels in ((112_000, 6_000), (300_000, 20_000)) for preset in _PRESETS),
)


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run: those that are timed, and those whose RAM alone counts."""

    timed: tuple[Shape, ...] = (Shape("context", 9_000_000, 20_000), Shape("vse-ens", 9_000_000, 20_000))
    smaller: tuple[Shape, ...] = _SMALLER


def measure(sizes: Sizes) -> Raw:
    """Train one epoch of every shape, in a process of its own."""
    names = dict.fromkeys(shape.data_set for shape in sizes.smaller if shape.data_set)
    found, skipped = real_files(tuple(names))
    raw: Raw = {"runs": [], "smaller": [], "skipped": skipped}
    for kind, shapes in (("runs", sizes.timed), ("smaller", sizes.smaller)):
        for shape in shapes:
            if not shape.data_set or shape.data_set in found:
                log(str(shape))
                raw[kind].append({"shape": str(shape)} | call(run, *astuple(shape)))
    return raw


def run(preset: str, images: int, labels: int, data_set: str = "", features: int = 0) -> Raw:
    """Train one epoch with all cores, and return its time, and the RAM with its estimate.

    The epoch is the preset's, with its held-out labels and label weights. The RAM is what training adds
    to that of the process before it.
    """
    config = configure(preset, epochs=1, tower=f"{configure(preset).tower}+features" if features else None)
    for _ in Trainer(
        config, _with_features(scenes(2_000 if data_set else min(images, 2_000), labels or 100), features)
    ).rounds():
        pass  # compiles the kernels
    data = _with_features(real((data_set,))[0][data_set] if data_set else scenes(images, labels), features)
    estimated = estimate_ram(config, data).total
    before = _reset_peak()
    trainer = Trainer(config, data)
    reports = list(trainer.epochs())
    _ = trainer.model
    return {
        "preset": preset,
        "images": len(data.images),
        "labels": len(data.labels),
        "pairs": data.pairs,
        "seconds": reports[0].seconds,
        "draws": reports[0].draws,
        "bytes_foretold": estimated,
        "bytes_used": _status("VmHWM") - before,
    }


def _with_features(data: Annotations, columns: int) -> Annotations:
    if not columns:
        return data
    return data.with_features(np.random.default_rng(0).random((len(data.images), columns), np.float32))


def _reset_peak() -> int:
    """Give unused RAM back, let the peak count from now on, and return the RAM in use; 0 except on Linux."""
    gc.collect()
    if sys.platform != "linux":
        return 0
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _status(name: str) -> int:
    if sys.platform != "linux":
        return 0
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def score(raw: Raw) -> Score:
    """Return the times of an epoch, and the bound of the RAM as a multiple of what was used."""
    checks, rows, smaller = [], [], []
    for found in raw["runs"]:
        preset = found["preset"]
        if preset == "context":
            checks.append(Check("an epoch of the default", found["seconds"], "at most", _SECONDS, unit=" s", digits=0))
        checks.append(Check(f"`{preset}`: RAM bound over RAM used", _factor(found), "at most", _RAM_FACTOR))
        rows.append(
            (
                f"`{preset}`",
                f"{found['images']:,}",
                f"{found['labels']:,}",
                f"{found['pairs'] / 1e6:.1f} million",
                f"{found['seconds']:.0f} s",
                f"{found['draws'] / found['seconds'] / 1e3:,.0f} thousand",
                f"{found['bytes_foretold'] / 1e9:.2f} GB",
                f"{found['bytes_used'] / 1e9:.2f} GB",
            )
        )
    for found in raw["smaller"]:
        sizes = (f"{found[name] / 1e6:,.0f} MB" for name in ("bytes_foretold", "bytes_used"))
        smaller.append((found["shape"], *sizes, f"{_factor(found):.2f}"))
    if smaller:
        worst = max(map(_factor, raw["smaller"]))
        checks.append(Check("smaller data: largest RAM bound over RAM used", worst, "at most", _RAM_FACTOR))
    columns = ("preset", "images", "labels", "pairs", "an epoch", "draws per second", "RAM at most", "RAM used")
    note = "One epoch, all cores, on `scenes` unless a data set is named. The RAM is what training adds to a process "
    note += "that has the pairs."
    tables = [Table(columns, rows), Table(("smaller data", "RAM at most", "RAM used", "factor"), smaller)]
    return Score(checks, [table for table in tables if table.rows], [note])


def _factor(found: Raw) -> float:
    """Return the bound of the RAM as a multiple of what was used."""
    used = float(found["bytes_used"])
    return float(found["bytes_foretold"]) / used if used else 1.0


FULL_SIZE = Benchmark(
    "full-size",
    "Nine million images fit one machine, and the RAM has an upper bound.",
    Sizes(),
    Sizes((Shape("context", 500, 50),), (Shape("context", 500, 50, features=8), Shape("vse-ens", 500, 50))),
    measure,
    score,
    measures=("data/annotations", "data/splits", "kernels", "train", "label_weights", "presets"),
)
