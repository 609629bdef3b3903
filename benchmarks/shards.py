"""What it costs in accuracy to train by shards, each on its own copy of the label tables."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from benchmarks.benchmark import Benchmark, Check, Raw, Score, Table, say
from vse_ens import Annotator
from vse_ens.data.annotations import Split
from vse_ens.data.scenes import scenes
from vse_ens.data.splits import leave_one_out

_SHARDS = (1, 4, 16)
_METRIC = "recall@10"


@dataclass(frozen=True)
class Case:
    """A data set, and how long it is trained: short enough for a test, so that the steps shrink faster."""

    preset: str
    images: int
    labels: int
    dimensions: int
    epochs: int
    learning_rate_decay: float
    seeds: int


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    cases: tuple[Case, ...]
    held_out: int


def measure(sizes: Sizes) -> Raw:
    """Each case with every number of shards and seed, judged by labels held out of the training part."""
    cases = []
    for case in sizes.cases:
        data = scenes(case.images, case.labels)
        split = leave_one_out(data, name="shards", most_images=sizes.held_out)
        found: dict[str, list[float]] = {}
        for shards in _SHARDS:
            found[str(shards)] = [_recall(case, split, shards, seed) for seed in range(case.seeds)]
            say(f"{case.preset}, {data.pairs:,} pairs, {shards} shards: {found[str(shards)]}")
        facts = {"images": case.images, "labels": len(data.labels), "pairs": data.pairs, "epochs": case.epochs}
        cases.append({"preset": case.preset, **facts, "held out": split.test.pairs, "found": found})
    return {"cases": cases, "skipped": []}


def _recall(case: Case, split: Split, shards: int, seed: int) -> float:
    """In this process: the bytes of a model do not depend on where its shards are trained."""
    model = Annotator(
        case.preset,
        seed=seed,
        shards=shards,
        validate=False,
        dimensions=case.dimensions,
        epochs=case.epochs,
        learning_rate_decay=case.learning_rate_decay,
    )
    return model.fit(split.train).evaluate(split.test)[_METRIC]


def score(raw: Raw) -> Score:
    """The loss against one shard, over all seeds."""
    checks, rows = [], []
    for case in raw["cases"]:
        means = {shards: statistics.mean(values) for shards, values in case["found"].items()}
        name = f"`{case['preset']}`, {case['pairs']:,} pairs"
        row = [case["preset"], f"{case['images']:,}", f"{case['labels']:,}", f"{case['pairs']:,}", f"{case['epochs']}"]
        for shards, values in case["found"].items():
            shown = " / ".join(f"{value:.4f}" for value in values)
            if shards == "1":
                row.append(shown)
                continue
            ratio = means[shards] / means["1"]
            checks.append(Check(f"{name}: {_METRIC} with {shards} shards over one", ratio, "at least", 0.98))
            row.append(f"{shown} ({ratio - 1:+.1%})")
        rows.append(tuple(row))
    columns = ("preset", "images", "labels", "pairs", "epochs", "one machine", "4 shards", "16 shards")
    held_out = raw["cases"][0]["held out"]
    note = f"{_METRIC} on a label of {held_out:,} images that training did not see; a figure a seed."
    return Score(checks, [Table(columns, rows)], [note])


SHARDS = Benchmark(
    "shards",
    "A model that is trained by 4 or 16 shards finds as many labels as one trained as a whole, within 2 %.",
    Sizes(
        (
            Case("vse-ens", 1_260_000, 20_000, 100, 60, 0.96, seeds=2),
            Case("context", 200_000, 5_000, 64, 12, 1.0, seeds=2),
        ),
        held_out=20_000,
    ),
    Sizes(
        (Case("vse-ens", 400, 60, 8, 2, 1.0, seeds=1), Case("context", 400, 60, 8, 1, 1.0, seeds=1)),
        held_out=50,
    ),
    measure,
    score,
)
