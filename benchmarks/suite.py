"""All benchmarks, in the order in which they run and are reported."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.accuracy.ablation import ABLATION
from benchmarks.accuracy.audit import AUDIT
from benchmarks.accuracy.calibration import CALIBRATION
from benchmarks.accuracy.context import CONTEXT
from benchmarks.accuracy.fold_in import FOLD_IN
from benchmarks.accuracy.label_weights import MEMORY
from benchmarks.accuracy.partial_fit import GROWING
from benchmarks.accuracy.presets import ACCURACY
from benchmarks.accuracy.time_to_accuracy import TIME_TO_ACCURACY
from benchmarks.accuracy.vocabularies import VOCABULARIES
from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table
from benchmarks.scale.cluster import CLUSTER
from benchmarks.scale.shards import SHARDS
from benchmarks.service.inference import USING
from benchmarks.service.serving import SERVING
from benchmarks.speed import reading
from benchmarks.speed.evaluation import EVALUATION
from benchmarks.speed.labels import LABELS
from benchmarks.speed.samplers import SPEED
from benchmarks.speed.start import START
from benchmarks.speed.warp_tries import TRIES
from benchmarks.speed.workers import WORKERS


def _measure_reading(pairs: int) -> Raw:
    with tempfile.TemporaryDirectory() as folder:
        raw = reading.run(Path(folder), pairs, images=pairs // 10, labels=min(reading.LABELS, pairs // 10))
    return {**raw, "skipped": []}


def _score_reading(raw: Raw) -> Score:
    measured = raw["measured"]
    ours, theirs = measured["parquet vse-ens"], measured["parquet polars"]
    checks = [
        Check("Parquet: time over that of Polars", ours["seconds"] / theirs["seconds"], "at most", raw["limit"]),
        Check(
            "Parquet: peak memory over the arrays that result",
            ours["peak_bytes"] / ours["result_bytes"],
            "at most",
            raw["limit"],
        ),
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
    return Score(
        checks, [Table(("", "time", "peak memory", "result"), rows)], [f"{size}; {reading.REPEATS} processes each."]
    )


READING = Benchmark(
    "reading",
    "Pairs become `Annotations` in little more than the time in which Polars reads them and drops duplicates.",
    reading.PAIRS,
    10_000,
    _measure_reading,
    _score_reading,
)

SUITE: dict[str, Benchmark[Any]] = {
    one.name: one
    for one in (
        SPEED,
        WORKERS,
        LABELS,
        MEMORY,
        START,
        READING,
        EVALUATION,
        USING,
        SERVING,
        TRIES,
        TIME_TO_ACCURACY,
        ACCURACY,
        CONTEXT,
        ABLATION,
        VOCABULARIES,
        FOLD_IN,
        GROWING,
        AUDIT,
        CALIBRATION,
        CLUSTER,
        SHARDS,
    )
}
