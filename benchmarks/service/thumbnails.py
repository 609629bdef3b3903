"""Pictures of the page: thumbnails made from photos, and the same thumbnails from the cache."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.process import call
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    pictures: int = 300
    width: int = 3_000
    connections: int = 6
    """As many as a browser opens."""
    rounds: int = 10


def measure(sizes: Sizes) -> Raw:
    """Ask for every picture once, then again and again."""
    raw: Raw = {**asdict(sizes), "skipped": []}
    with tempfile.TemporaryDirectory() as folder:
        log("photos")
        photos = Path(folder) / "photos"
        names = _write_photos(photos, sizes)
        pairs = [(name, label) for at, name in enumerate(names) for label in ("sea", f"label {at % 7}")]
        Annotator(epochs=1, dimensions=8, validate=False).fit(Annotations.from_pairs(pairs)).save(
            Path(folder) / "model"
        )
        with _serving(Path(folder)) as address:
            paths = [f"/api/picture?image={name}&size=320" for name in names]
            log("thumbnails")
            raw["made"] = call(fetch, address, paths, 1, sizes.connections)
            log("from the cache")
            raw["cached"] = call(fetch, address, paths, sizes.rounds, sizes.connections)
    return raw


def fetch(address: str, paths: list[str], rounds: int, connections: int) -> dict[str, Any]:
    """Fetch all paths this many times over some connections; return seconds, bytes, statuses and latencies (ms)."""
    host = urlsplit(address).netloc
    waiting, lock = paths[::-1] * rounds, threading.Lock()
    found: list[tuple[int, int, float]] = []

    def work() -> None:
        connection = http.client.HTTPConnection(host)
        while True:
            with lock:
                if not waiting:
                    return
                path = waiting.pop()
            start = time.perf_counter()
            connection.request("GET", path)
            answer = connection.getresponse()
            size = len(answer.read())
            found.append((answer.status, size, 1_000 * (time.perf_counter() - start)))

    threads = [threading.Thread(target=work) for _ in range(connections)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - start
    latencies = np.array([one[2] for one in found])
    return {
        "seconds": seconds,
        "good": sum(status == 200 for status, _, _ in found),
        "bytes": sum(size for _, size, _ in found),
        "median": float(np.median(latencies)),
        "99": float(np.percentile(latencies, 99)),
    }


def _write_photos(folder: Path, sizes: Sizes) -> list[str]:
    """Write JPEGs with the detail of photos."""
    from PIL import Image

    folder.mkdir()
    rows = np.random.Generator(np.random.PCG64(0))
    names = [f"photo_{number:05d}.jpg" for number in range(sizes.pictures)]
    for name in names:
        small = Image.fromarray(rows.integers(0, 255, (60, 80, 3), np.uint8))
        small.resize((sizes.width, sizes.width * 3 // 4)).save(folder / name, quality=88)
    return names


@contextmanager
def _serving(folder: Path) -> Iterator[str]:
    """Run ``vse serve`` with the photos and an empty cache, without its log."""
    command = [sys.executable, "-m", "vse_ens", "serve", str(folder / "model"), "--port", "0", "--json"]
    command += ["--images", str(folder / "photos")]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        try:
            printed = ""
            while not printed.endswith("}\n") and (line := process.stdout.readline() if process.stdout else ""):
                printed += line
            yield json.loads(printed)["address"]
        finally:
            process.terminate()


def score(raw: Raw) -> Score:
    """Return the thumbnails per second."""
    made, cached = raw["made"], raw["cached"]
    lost = raw["pictures"] * (raw["rounds"] + 1) - made["good"] - cached["good"]
    checks = [
        Check("thumbnails from the cache", _rate(cached), "at least", 200, unit=" per second", digits=0),
        Check("pictures lost", lost, "at most", 0, digits=0),
    ]
    rows = [
        (title, f"{_rate(found):.0f} per second", f"{found['median']:.1f} ms", f"{found['99']:.1f} ms")
        for title, found in (("made from a photo", made), ("from the cache", cached))
    ]
    note = (
        f"`GET /api/picture` with 320 pixels, of {raw['pictures']:,} JPEGs of {raw['width']:,} pixels in width, over "
        f"{raw['connections']} connections. `vse serve` with default settings; the client is another process on the "
        "same cores."
    )
    return Score(checks, [Table(("", "answered", "median", "99 %"), rows)], [note])


def _rate(found: dict[str, Any]) -> float:
    return float(found["good"] / found["seconds"])


THUMBNAILS = Benchmark(
    "thumbnails",
    "Pictures come from the cache faster than a page asks for them.",
    Sizes(),
    Sizes(pictures=12, width=600, rounds=5),
    measure,
    score,
    measures=("service/pictures",),
    repetitions=lambda sizes: sizes.rounds,
)
