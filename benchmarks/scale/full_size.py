"""Time and RAM at the size of the full Open Images: 9 million images, 20,000 labels and about 70 million pairs."""

from __future__ import annotations

import ctypes
import gc
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.process import call
from vse_ens.data.datasets.scenes import scenes
from vse_ens.presets import configure
from vse_ens.train.ram_estimate import estimate_ram
from vse_ens.train.trainer import Trainer

_SECONDS = 120.0
_RAM_ERROR = 0.2


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    presets: tuple[str, ...] = ("context", "vse-ens")
    images: int = 9_000_000
    labels: int = 20_000


def measure(sizes: Sizes) -> Raw:
    """Train one epoch with each preset, in a process of its own."""
    raw: Raw = {"runs": [], "skipped": []}
    for preset in sizes.presets:
        log(f"{preset}, {sizes.images:,} images")
        raw["runs"].append(call(run, preset, sizes.images, sizes.labels))
    return raw


def run(preset: str, images: int, labels: int) -> Raw:
    """Generate pairs, train one epoch with all cores, and return its time, and the RAM beside its estimate.

    The epoch is that of the preset as it is, with its held-out labels and label weights. The RAM is what training adds
    to that of the process before it.
    """
    config = configure(preset, epochs=1)
    for _ in Trainer(config, scenes(min(images, 2_000), labels)).rounds():  # compiles the kernels
        pass
    data = scenes(images, labels)
    foretold = estimate_ram(config, data).total
    before = _reset_peak()
    trainer = Trainer(config, data)
    seconds = draws = 0.0
    for report in trainer.epochs():
        seconds, draws = report.seconds, report.draws
    _ = trainer.model
    return {
        "preset": preset,
        "images": len(data.images),
        "labels": len(data.labels),
        "pairs": data.pairs,
        "seconds": seconds,
        "draws": draws,
        "bytes_foretold": foretold,
        "bytes_used": _status("VmHWM") - before,
    }


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
    """Return the times of an epoch, and how far the RAM is from its estimate."""
    checks, rows = [], []
    for found in raw["runs"]:
        preset, used, foretold = found["preset"], found["bytes_used"], found["bytes_foretold"]
        if preset == "context":
            checks.append(Check("an epoch of the default", found["seconds"], "at most", _SECONDS, unit=" s", digits=0))
        error = abs(foretold / used - 1) if used else 0.0
        checks.append(Check(f"`{preset}`: error of the RAM foretold", error, "at most", _RAM_ERROR))
        rows.append(
            (
                f"`{preset}`",
                f"{found['images']:,}",
                f"{found['labels']:,}",
                f"{found['pairs'] / 1e6:.1f} million",
                f"{found['seconds']:.0f} s",
                f"{found['draws'] / found['seconds'] / 1e3:,.0f} thousand",
                f"{foretold / 1e9:.2f} GB",
                f"{used / 1e9:.2f} GB",
            )
        )
    columns = ("preset", "images", "labels", "pairs", "an epoch", "draws per second", "RAM foretold", "RAM used")
    note = "One epoch on `scenes`, all cores. The RAM is what training adds to a process that has the pairs."
    return Score(checks, [Table(columns, rows)], [note])


FULL_SIZE = Benchmark(
    "full-size",
    "Nine million images fit one machine, and the RAM is foretold.",
    Sizes(),
    Sizes(("context",), images=500, labels=50),
    measure,
    score,
    measures=("kernels", "train", "label_weights", "presets"),
)
