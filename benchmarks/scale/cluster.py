"""A Ray cluster of two workers against two threads on the same pairs, and what the driver holds.

Every measurement is a process of its own, so that its memory is its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, say
from vse_ens.config import Config, configure
from vse_ens.data.part_files import PartFiles
from vse_ens.data.partition import Partition
from vse_ens.data.partitioning import partition
from vse_ens.data.scenes import scenes
from vse_ens.kernels.tables import DRAWS
from vse_ens.run.threads import available_cores
from vse_ens.train.shards.exchanges import exchanges
from vse_ens.train.shards.parted import Parted
from vse_ens.train.trainer import Trainer

_PARTS = 8
_WORKERS = 2


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    images: int
    labels: int
    context_images: int
    shards: int = 4
    dimensions: int = 100
    epochs: int = 8
    context_epochs: int = 2
    turns: int = 2


def measure(sizes: Sizes) -> Raw:
    """Each preset by threads and by the cluster; the quick one also at a quarter of the images."""
    if find_spec("ray") is None or available_cores() < _WORKERS:
        return {"skipped": ["All of it: it takes Ray (pip install 'vse-ens[cluster]') and two cores."]}
    cases = {
        "vse-ens": (sizes.images, sizes.epochs),
        "vse-ens, a quarter of the images": (sizes.images // 4, sizes.epochs),
        "context": (sizes.context_images, sizes.context_epochs),
    }
    raw: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (images, epochs) in cases.items():
            preset = name.partition(",")[0]
            place = str(Path(folder) / str(images))
            say(f"{name}: {images:,} images")
            raw[name] = {"sorted out": _child("sort_out", place, images, sizes.labels, sizes.shards)}
            for way in ("threads", "cluster"):
                raw[name][way] = []
            for _ in range(sizes.turns):
                for way, shards in (("threads", 1), ("cluster", sizes.shards)):
                    raw[name][way].append(_child(way, place, preset, shards, sizes.dimensions, epochs))
    return {"shards": sizes.shards, "dimensions": sizes.dimensions, "cases": raw, "skipped": []}


# --- what the children do ---


def sort_out(folder: str, images: int, labels: int, shards: int) -> Raw:
    """Write parts, and sort them out by shard."""
    parts = Path(folder) / "parts"
    if not parts.exists():
        parts.mkdir(parents=True)
        frame = scenes(images, labels).to_frame()
        for number in range(_PARTS):
            first, last = (len(frame) * place // _PARTS for place in (number, number + 1))
            frame[first:last].write_parquet(parts / f"part-{number}.parquet")
        del frame
    with _Peak() as peak:
        began = time.perf_counter()
        made = partition(PartFiles.find(parts), Path(folder) / "sorted", shards)
        seconds = time.perf_counter() - began
    return {"seconds": seconds, "peak_bytes": peak.bytes, **asdict(made.counts)}


def threads(folder: str, preset: str, shards: int, dimensions: int, epochs: int) -> Raw:
    """One process, two threads, no shards."""
    config = _config(preset, shards, dimensions, epochs)
    with _Peak() as peak:
        trainer = Trainer(config, Partition.open(Path(folder) / "sorted").known, _WORKERS)
        reports = [report.to_dict() for report in trainer.epochs()]
    return {"epochs": [[one["draws"], one["seconds"]] for one in reports], "peak_bytes": peak.bytes}


def cluster(folder: str, preset: str, shards: int, dimensions: int, epochs: int) -> Raw:
    """A cluster of two workers on this machine."""
    from vse_ens.run.ray_pool import RayPool

    config = _config(preset, shards, dimensions, epochs)
    found, shares = [], []
    pairs = Partition.open(Path(folder) / "sorted")
    with RayPool(workers=_WORKERS) as pool, tempfile.TemporaryDirectory() as rows, _Peak() as peak:
        trainer = Trainer(config, Parted(pairs, Path(rows)), pool=pool)
        for progress in trainer.rounds():
            if progress.epoch == config.epochs:
                shares += [[share.computing, share.moving, share.waiting] for share in progress.shares]
            if progress.report:
                found.append([int(progress.work.counts[DRAWS]), progress.work.seconds])
    return {"epochs": found, "peak_bytes": peak.bytes, "shares": shares}


def _config(preset: str, shards: int, dimensions: int, epochs: int) -> Config:
    return configure(preset, validate=False, combinations=0, shards=shards, dimensions=dimensions, epochs=epochs)


class _Peak:
    """The most memory of its own that this process holds within the block; files mapped into memory are not its own."""

    def __enter__(self) -> _Peak:
        self.bytes = 0
        self._done = threading.Event()
        self._watch = threading.Thread(target=self._look)
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watch.join()

    def _look(self) -> None:
        while not self._done.wait(0.02):
            status = Path("/proc/self/status").read_text()
            held = next(line for line in status.splitlines() if line.startswith("RssAnon"))
            self.bytes = max(self.bytes, int(held.split()[1]) * 1024)


def _child(function: str, *arguments: Any) -> Raw:
    code = f"import json\nfrom benchmarks.scale import cluster\nprint(json.dumps(cluster.{function}(*{arguments!r})))"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    found: Raw = json.loads(done.stdout.splitlines()[-1])
    return found


# --- what it comes to ---


def score(raw: Raw) -> Score:
    """Draws per second over all epochs of the preset, from an early one and a late one."""
    if "cases" not in raw:
        return Score()
    checks, rows = [], []
    for name, case in raw["cases"].items():
        config = configure(name.partition(",")[0], shards=raw["shards"])
        labels = case["sorted out"]["labels"]
        rates = {way: _rate(config, labels, [turn["epochs"] for turn in case[way]]) for way in ("threads", "cluster")}
        ratio = rates["cluster"] / rates["threads"]
        if "quarter" not in name:
            checks.append(Check(f"`{name}`: the cluster's draws a second over the threads'", ratio, "at least", 0.75))
        spent = [sum(column) for column in zip(*case["cluster"][-1]["shares"], strict=True)]
        rows.append(
            (
                name,
                f"{case['sorted out']['images']:,}",
                f"{case['sorted out']['pairs']:,}",
                f"{rates['threads'] / 1e3:,.0f}",
                f"{rates['cluster'] / 1e3:,.0f}",
                f"{ratio:.2f}",
                " / ".join(f"{100 * part / sum(spent):.0f}" for part in spent),
                f"{_held(case) / 1e6:,.0f} MB",
                f"{case['sorted out']['seconds']:.0f} s, {case['sorted out']['peak_bytes'] / 1e6:,.0f} MB",
            )
        )
    whole, quarter = (_held(case) for case in list(raw["cases"].values())[:2])
    checks.append(Check("the driver's memory over that with a quarter of the images", whole / quarter, "at most", 1.1))
    columns = (
        "preset", "images", "pairs", "threads", "cluster", "ratio", "computing / moving / waiting, %", "driver",
        "sorting out by shard",
    )  # fmt: skip
    note = (
        f"{raw['shards']} shards, two workers, k = {raw['dimensions']}; thousand draws a second, over as many epochs "
        "as the preset has."
    )
    return Score(checks, [Table(columns, rows)], [note])


def _held(case: Raw) -> int:
    """The driver's memory."""
    return max(int(turn["peak_bytes"]) for turn in case["cluster"])


def _rate(config: Config, labels: int, turns: list[list[tuple[int, float]]]) -> float:
    """Draws a second: epochs with as many exchanges count as often as the preset has them.

    The best of a kind counts; the first of a turn is left out where there are others, since it may compile.
    """
    draws = turns[0][0][0]
    kinds: dict[int, list[float]] = {}
    for epochs in turns:
        for epoch, (_, seconds) in enumerate(epochs):
            if epoch or len(epochs) == 1:
                kinds.setdefault(exchanges(config, labels, draws, epoch), []).append(seconds)
    seconds = sum(min(kinds[exchanges(config, labels, draws, epoch)]) for epoch in range(config.epochs))
    return config.epochs * draws / seconds


CLUSTER = Benchmark(
    "cluster",
    "A Ray cluster of two workers draws at least 0.75 times as fast as two threads, and its driver's memory does not "
    "follow the number of images.",
    Sizes(1_260_000, 20_000, context_images=100_000),
    Sizes(2_000, 200, context_images=1_000, dimensions=8, epochs=7, turns=1),
    measure,
    score,
)
