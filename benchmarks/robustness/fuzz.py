"""Readers of collections on damaged files: no traceback, no hang, bounded RAM."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.process import call, peak_bytes, resident_bytes


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    inputs: int
    """Damaged files per reader."""


def measure(sizes: Sizes) -> Raw:
    """Return the outcome of every reader, each measured in a process of its own."""
    from tests.support.collection_samples import samples

    measured = {}
    for name in samples():
        log(f"{sizes.inputs:,} damaged files: {name}")
        measured[name] = call(read_damaged, name, sizes.inputs)
    return {"inputs": sizes.inputs, "measured": measured, "skipped": []}


def read_damaged(name: str, count: int) -> dict[str, float | str]:
    """Read ``count`` damaged copies of a file; return the unexpected errors, the slowest read and the RAM."""
    from tests.support.collection_samples import samples
    from tests.support.mutations import mutated

    content, read = samples()[name]
    failures, example, slowest = 0, "", 0.0
    before = resident_bytes()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        for damaged in mutated(content, count, name):
            start = time.process_time()
            try:
                read(damaged, path)
            except Exception as error:  # noqa: BLE001  # any error is a finding
                failures += 1
                example = example or f"{type(error).__name__}: {error}"
            slowest = max(slowest, time.process_time() - start)
    return {"failures": failures, "example": example, "slowest": slowest, "ram_bytes": peak_bytes() - before}


def score(raw: Raw) -> Score:
    """Return the number of unexpected errors, the slowest read and the RAM over all readers."""
    measured = raw["measured"]
    checks = [
        Check("unexpected errors", sum(one["failures"] for one in measured.values()), "at most", 0, digits=0),
        Check("slowest file, CPU time", max(one["slowest"] for one in measured.values()), "at most", 5, unit=" s"),
        Check("RAM", max(one["ram_bytes"] for one in measured.values()) / 1e6, "at most", 200, unit=" MB", digits=0),
    ]
    rows = [
        (
            name,
            f"{one['failures']}",
            f"{one['slowest'] * 1e3:,.0f} ms",
            f"{one['ram_bytes'] / 1e6:,.0f} MB",
            one["example"],
        )
        for name, one in measured.items()
    ]
    table = Table(("reader", "unexpected errors", "slowest", "RAM", "example"), rows)
    return Score(checks, [table], [f"{raw['inputs']:,} damaged files per reader."])


FUZZ = Benchmark(
    "fuzz",
    "Readers of collections survive damaged files.",
    Sizes(inputs=10_000),
    Sizes(inputs=20),
    measure,
    score,
    measures=("data/collections",),
    timed=False,
)
