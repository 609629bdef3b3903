"""Training speed of a Ray cluster of two workers relative to two threads, and the RAM of the driver.

Every measurement is a child process, so that its RAM is its own.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.process import PeakPrivateRam, call
from vse_ens.config import Config
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.partition.build import partition
from vse_ens.data.partition.parts import PartFiles
from vse_ens.data.partition.store import Partition
from vse_ens.kernels.arrays import DRAWS
from vse_ens.presets import configure
from vse_ens.system import available_cores
from vse_ens.train.sharded.merge import exchanges_per_epoch
from vse_ens.train.trainer import Trainer

_PARTS = 8
_WORKERS = 2


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    images: int
    labels: int
    context_images: int
    shards: int = 4
    dimensions: int = 100
    epochs: int = 8
    context_epochs: int = 2
    turns: int = 2


def measure(sizes: Sizes) -> Raw:
    """Train each preset with threads and on the cluster, and the fast one also with a quarter of the images."""
    if find_spec("ray") is None or available_cores() < _WORKERS:
        return {"skipped": ["Everything: it needs Ray (pip install 'vse-ens[cluster]') and two cores."]}
    cases = {
        "vse-ens": (sizes.images, sizes.epochs),
        "vse-ens, a quarter of the images": (sizes.images // 4, sizes.epochs),
        "context": (sizes.context_images, sizes.context_epochs),
    }
    raw: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (images, epochs) in cases.items():
            preset = name.partition(",")[0]
            data = str(Path(folder) / str(images))
            log(f"{name}: {images:,} images")
            raw[name] = {"partition": call(write_and_partition, data, images, sizes.labels, sizes.shards)}
            raw[name] |= {"threads": [], "cluster": []}
            for _ in range(sizes.turns):
                for train, shards in ((train_by_threads, 1), (train_on_cluster, sizes.shards)):
                    key = "threads" if train is train_by_threads else "cluster"
                    raw[name][key].append(call(train, data, preset, shards, sizes.dimensions, epochs))
    return {"shards": sizes.shards, "dimensions": sizes.dimensions, "cases": raw, "skipped": []}


def write_and_partition(folder: str, images: int, labels: int, shards: int) -> Raw:
    """Write Parquet files, unless they exist, and partition them by shard."""
    parts = Path(folder) / "parts"
    if not parts.exists():
        parts.mkdir(parents=True)
        frame = scenes(images, labels).to_frame("polars")
        for number in range(_PARTS):
            first, last = (len(frame) * place // _PARTS for place in (number, number + 1))
            frame[first:last].write_parquet(parts / f"part-{number}.parquet")
        del frame
    with PeakPrivateRam() as peak:
        began = time.perf_counter()
        made = partition(PartFiles.find(parts), Path(folder) / "partition", shards)
        seconds = time.perf_counter() - began
    return {"seconds": seconds, "peak_bytes": peak.bytes, **asdict(made.counts)}


def train_by_threads(folder: str, preset: str, shards: int, dimensions: int, epochs: int) -> Raw:
    """Train in this process with two threads."""
    config = _config(preset, shards, dimensions, epochs)
    with PeakPrivateRam() as peak:
        trainer = Trainer(config, Partition.open(Path(folder) / "partition").known, _WORKERS)
        reports = [report.to_dict() for report in trainer.epochs()]
    return {"epochs": [[one["draws"], one["seconds"]] for one in reports], "peak_bytes": peak.bytes}


def train_on_cluster(folder: str, preset: str, shards: int, dimensions: int, epochs: int) -> Raw:
    """Train on a Ray cluster of two workers on this machine."""
    from vse_ens.run.ray.pool import RayPool

    config = _config(preset, shards, dimensions, epochs)
    found, shares = [], []
    pairs = Partition.open(Path(folder) / "partition")
    with RayPool(workers=_WORKERS) as pool, tempfile.TemporaryDirectory() as rows, PeakPrivateRam() as peak:
        trainer = Trainer(config, pairs, pool=pool, folder=Path(rows))
        for progress in trainer.rounds():
            if progress.epoch == config.epochs:
                shares += [[share.computing, share.moving, share.waiting] for share in progress.timings]
            if progress.report:
                found.append([int(progress.stats.counts[DRAWS]), progress.stats.seconds])
    return {"epochs": found, "peak_bytes": peak.bytes, "shares": shares}


def _config(preset: str, shards: int, dimensions: int, epochs: int) -> Config:
    return configure(preset, validate=False, label_pairs=0, shards=shards, dimensions=dimensions, epochs=epochs)


def score(raw: Raw) -> Score:
    """Return draws per second over all epochs of the preset, extrapolated from the measured ones."""
    if "cases" not in raw:
        return Score()
    checks, rows = [], []
    for name, case in raw["cases"].items():
        config = configure(name.partition(",")[0], shards=raw["shards"])
        labels = case["partition"]["labels"]
        rates = {way: _rate(config, labels, [turn["epochs"] for turn in case[way]]) for way in ("threads", "cluster")}
        ratio = rates["cluster"] / rates["threads"]
        checks.append(Check(f"`{name}`: draws per second, cluster / threads", ratio, "at least", 0.75))
        spent = [sum(column) for column in zip(*case["cluster"][-1]["shares"], strict=True)]
        rows.append(
            (
                name,
                f"{case['partition']['images']:,}",
                f"{case['partition']['pairs']:,}",
                f"{rates['threads'] / 1e3:,.0f}",
                f"{rates['cluster'] / 1e3:,.0f}",
                f"{ratio:.2f}",
                " / ".join(f"{100 * part / sum(spent):.0f}" for part in spent),
                f"{_driver_bytes(case) / 1e6:,.0f} MB",
                f"{case['partition']['seconds']:.0f} s, {case['partition']['peak_bytes'] / 1e6:,.0f} MB",
            )
        )
    whole, quarter = (_driver_bytes(case) for case in list(raw["cases"].values())[:2])
    checks.append(Check("RAM of the driver, all images / a quarter of them", whole / quarter, "at most", 1.1))
    columns = (
        "preset", "images", "pairs", "threads", "cluster", "ratio", "computing / moving / waiting, %", "driver",
        "partitioning",
    )  # fmt: skip
    note = (
        f"{raw['shards']} shards, two workers, k = {raw['dimensions']}; thousand draws per second over the epochs of "
        "the preset."
    )
    return Score(checks, [Table(columns, rows)], [note])


def _driver_bytes(case: Raw) -> int:
    """Return the peak RAM of the driver."""
    return max(int(turn["peak_bytes"]) for turn in case["cluster"])


def _rate(config: Config, labels: int, turns: list[list[tuple[int, float]]]) -> float:
    """Return draws per second over all epochs of the preset.

    An epoch takes the best measured time of the epochs with the same number of exchanges. The first epoch of a turn
    may compile and is left out, unless it is the only one.
    """
    draws = turns[0][0][0]
    kinds: dict[int, list[float]] = {}
    for epochs in turns:
        for epoch, (_, seconds) in enumerate(epochs):
            if epoch or len(epochs) == 1:
                kinds.setdefault(exchanges_per_epoch(config, labels, draws, epoch), []).append(seconds)
    seconds = sum(min(kinds[exchanges_per_epoch(config, labels, draws, epoch)]) for epoch in range(config.epochs))
    return config.epochs * draws / seconds


CLUSTER = Benchmark(
    "cluster",
    "A Ray cluster of two workers is at least 0.75 times as fast as two threads, and the RAM of its driver does not "
    "grow with the number of images.",
    Sizes(1_260_000, 20_000, context_images=100_000),
    Sizes(2_000, 200, context_images=1_000, dimensions=8, epochs=7, turns=1),
    measure,
    score,
    measures=("kernels", "run", "train"),
    repetitions=lambda sizes: sizes.turns,
)
