"""Reading 10 million pairs into `Annotations`, beside what Polars alone needs to read them and drop duplicates.

    python -m benchmarks reading

Every measurement is a process of its own, the best of three, taken in turn. Memory is the peak resident size above that
after the imports. Limits: three times Polars' time, and three times the bytes of the arrays that result.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

PAIRS, IMAGES, LABELS = 10_000_000, 1_000_000, 20_000
REPEATS = 3
LIMIT = 3.0


def run(folder: Path, pairs: int = PAIRS, images: int = IMAGES, labels: int = LABELS) -> dict[str, Any]:
    """Make the files in ``folder``, measure, and return the result as it is stored."""
    files = make_files(folder, pairs, images, labels)
    best: dict[str, dict[str, float]] = {}
    for _ in range(REPEATS):
        for name, file in files.items():
            for who in ("polars", "vse-ens"):
                taken = _in_process(who, file)
                known = best.setdefault(f"{name} {who}", taken)
                best[f"{name} {who}"] = {key: min(known[key], taken[key]) for key in taken}
    ours, theirs = best["parquet vse-ens"], best["parquet polars"]
    return {
        "pairs": pairs,
        "images": images,
        "labels": labels,
        "measured": best,
        "time_ratio": ours["seconds"] / theirs["seconds"],
        "memory_ratio": ours["peak_bytes"] / ours["result_bytes"],
        "limit": LIMIT,
        "machine": machine(),
    }


def make_files(folder: Path, pairs: int, images: int, labels: int) -> dict[str, Path]:
    """The same pairs as Parquet and CSV: Zipf-like labels, rows in no order."""
    import polars as pl

    numbers = np.random.default_rng(0)
    shares = 1.0 / np.arange(1, labels + 1)
    frame = pl.DataFrame(
        {
            "image": pl.Series(numbers.integers(images, size=pairs)),
            "label": pl.Series(numbers.choice(labels, size=pairs, p=shares / shares.sum())),
        }
    ).select(
        image="img_" + pl.col("image").cast(pl.String).str.zfill(7),
        label="label_" + pl.col("label").cast(pl.String).str.zfill(5),
    )
    files = {"parquet": folder / "pairs.parquet", "csv": folder / "pairs.csv"}
    frame.write_parquet(files["parquet"])
    frame.write_csv(files["csv"])
    return files


def measure(who: str, file: Path) -> dict[str, float]:
    """Read ``file`` in this process: seconds, bytes at the peak, bytes of the result."""
    import polars as pl
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401  # an import, not a part of reading

    from vse_ens.data.readers import read

    before = _memory("VmRSS")
    start = time.perf_counter()
    if who == "polars":
        frame = (pl.read_parquet(file) if file.suffix == ".parquet" else pl.read_csv(file)).unique()
        result = int(frame.estimated_size())
    else:
        result = read(file).nbytes
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "peak_bytes": _memory("VmHWM") - before, "result_bytes": result}


def machine() -> dict[str, Any]:
    """Where this was measured."""
    return {
        "platform": platform.platform(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "polars", "pyarrow")},
    }


def _in_process(who: str, file: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.speed.reading", who, str(file)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    taken: dict[str, float] = json.loads(done.stdout)
    return taken


def _memory(field: str) -> int:
    """Bytes resident now or at the peak; `getrusage` would count the peak of the process that started this one."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[field].split()[0]) * 1024


def main() -> None:
    """Measure one reader in this process: how `run` calls itself."""
    print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]))))


if __name__ == "__main__":
    main()
