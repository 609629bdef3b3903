"""Reading pairs into `Annotations`, compared with Polars reading them and dropping duplicates.

Every measurement is a child process; the best of three counts, taken alternately. RAM is the peak resident size minus
the size after the imports.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.process import call, peak_bytes, resident_bytes

_REPEATS = 3
_LIMIT = 3.0


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    pairs: int
    images: int
    labels: int


def measure(sizes: Sizes) -> Raw:
    """Return the best time and RAM of both readers on every format."""
    best: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = write_files(Path(folder), sizes)
        for _ in range(_REPEATS):
            for name, file in files.items():
                for reader in ("polars", "vse-ens"):
                    log(f"{reader}, {name}")
                    taken = call(read_once, reader, str(file))
                    known = best.setdefault(f"{name} {reader}", taken)
                    best[f"{name} {reader}"] = {key: min(known[key], taken[key]) for key in taken}
    return {
        "pairs": sizes.pairs,
        "images": sizes.images,
        "labels": sizes.labels,
        "measured": best,
        "limit": _LIMIT,
        "skipped": [],
    }


def write_files(folder: Path, sizes: Sizes) -> dict[str, Path]:
    """Write the same pairs as Parquet and CSV, with Zipf-distributed labels and rows in random order."""
    import polars as pl

    numbers = np.random.default_rng(0)
    shares = 1.0 / np.arange(1, sizes.labels + 1)
    frame = pl.DataFrame(
        {
            "image": pl.Series(numbers.integers(sizes.images, size=sizes.pairs)),
            "label": pl.Series(numbers.choice(sizes.labels, size=sizes.pairs, p=shares / shares.sum())),
        }
    ).select(
        image="img_" + pl.col("image").cast(pl.String).str.zfill(7),
        label="label_" + pl.col("label").cast(pl.String).str.zfill(5),
    )
    files = {"parquet": folder / "pairs.parquet", "csv": folder / "pairs.csv"}
    frame.write_parquet(files["parquet"])
    frame.write_csv(files["csv"])
    return files


def read_once(reader: str, path: str) -> dict[str, float]:
    """Read a file in this process and return seconds, bytes at the peak and bytes of the result."""
    import polars as pl
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401  # imported here so that reading does not include it

    from vse_ens.data.io.read import read

    file = Path(path)
    before = resident_bytes()
    start = time.perf_counter()
    if reader == "polars":
        frame = (pl.read_parquet(file) if file.suffix == ".parquet" else pl.read_csv(file)).unique()
        result = int(frame.estimated_size())
    else:
        result = read(file).nbytes
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "peak_bytes": peak_bytes() - before, "result_bytes": result}


def score(raw: Raw) -> Score:
    """Return the time relative to Polars, and the RAM relative to the result."""
    measured = raw["measured"]
    ours, theirs = measured["parquet vse-ens"], measured["parquet polars"]
    ram = ours["peak_bytes"] / ours["result_bytes"]
    checks = [
        Check("Parquet: time / time of Polars", ours["seconds"] / theirs["seconds"], "at most", raw["limit"]),
        Check("Parquet: peak RAM / size of the resulting arrays", ram, "at most", raw["limit"]),
    ]
    rows = [
        (
            name,
            f"{taken['seconds']:.2f} s",
            f"{taken['peak_bytes'] / 1e6:,.0f} MB",
            f"{taken['result_bytes'] / 1e6:,.0f} MB",
        )
        for name, taken in measured.items()
    ]
    size = f"{raw['pairs']:,} pairs, {raw['images']:,} images, {raw['labels']:,} labels"
    notes = [f"{size}; best of {_REPEATS} processes each."]
    return Score(checks, [Table(("", "time", "peak RAM", "result"), rows)], notes)


READING = Benchmark(
    "reading",
    "Reading pairs takes at most three times as long as Polars takes to read them and drop duplicates.",
    Sizes(pairs=10_000_000, images=1_000_000, labels=20_000),
    Sizes(pairs=10_000, images=1_000, labels=1_000),
    measure,
    score,
    measures=("data/io", "data/vocabulary"),
    repetitions=lambda _: _REPEATS,
)
