"""Speed of reading a folder of photographs: the first read, and later reads through the cache."""

from __future__ import annotations

import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.process import call, peak_bytes, resident_bytes

_READS = 3  # of each kind; the best counts


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    files: int


def measure(sizes: Sizes) -> Raw:
    """Return the seconds of every read, each in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "Pictures"
        log(f"writing {sizes.files:,} JPEG files")
        write_photos(folder, sizes.files)
        reads: dict[str, list[dict[str, float]]] = {"first": [], "cached": []}
        for turn in range(_READS):
            cache = str(Path(name) / f"cache-{turn}")
            for kind in reads:
                log(f"{kind} read, turn {turn + 1} of {_READS}")
                reads[kind].append(call(read_once, str(folder), XDG_CACHE_HOME=cache))
    return {**asdict(sizes), "reads": reads, "skipped": []}


def write_photos(folder: Path, count: int) -> None:
    """Write JPEG files with XMP of twelve keywords, four of them in a hierarchy, in folders of a thousand."""
    from tests.support.photos import jpeg, packet

    from vse_ens.streams import Streams

    for number in range(count):
        draw = (Streams(0).child("photos", number).uniforms(12) * 500).astype(int).tolist()
        words = [f"keyword {one}" for one in dict.fromkeys(draw)]
        # The padding that programs leave for later changes.
        xmp = packet(words, [f"top|{word}" for word in words[:4]], more=" " * 2_000)
        path = folder / f"{number // 1_000:04}" / f"{number:07}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg(xmp))


def read_once(folder: str) -> dict[str, float]:
    """Read all files in this process; return the seconds, the labels and the RAM."""
    from vse_ens.data.collections.photos import PhotoFolder

    before = resident_bytes()
    start, used = time.perf_counter(), time.process_time()
    labels = sum(len(item.labels) for item in PhotoFolder(Path(folder)).items())
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - used
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "labels": labels, "ram_bytes": peak_bytes() - before}


def score(raw: Raw) -> Score:
    """Return files per second, and how many times faster the cache is."""
    first, cached = (min(one["seconds"] for one in raw["reads"][kind]) for kind in ("first", "cached"))
    ram = max(one["ram_bytes"] for reads in raw["reads"].values() for one in reads) / 1e6
    checks = [
        Check("first read: files per second", raw["files"] / first, "at least", 2_000, digits=0),
        Check("read through the cache: times faster", first / cached, "at least", 10, digits=1),
        Check("peak RAM above the imports", ram, "at most", 200, unit=" MB", digits=0),
    ]
    rows = [
        (
            kind,
            f"{took:.2f} s",
            f"{raw['files'] / took:,.0f}",
            f"{min(one['cpu_seconds'] for one in raw['reads'][kind]):.2f} s",
        )
        for kind, took in (("first", first), ("cached", cached))
    ]
    note = f"{raw['files']:,} JPEG files with XMP in the page cache; best of {_READS} processes each."
    return Score(checks, [Table(("read", "time", "files per second", "CPU time"), rows)], [note])


FOLDERS = Benchmark(
    "folders",
    "A folder of photographs is read without decoding pixels, and a second time through the cache.",
    Sizes(files=20_000),
    Sizes(files=200),
    measure,
    score,
    measures=("data/collections",),
    repetitions=lambda _: _READS,
)
