"""Loss of accuracy of training by shards, each with its own copy of the label tables."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.data_sets import real
from vse_ens import Annotator
from vse_ens.config import Settings
from vse_ens.data.annotations import Split
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.splits import leave_one_out
from vse_ens.presets import configure

_SHARDS = (1, 4, 16)
_METRIC = "recall@10"


@dataclass(frozen=True)
class Case:
    """A data set and the settings it is trained with."""

    preset: str
    settings: Settings
    """Changes to the preset: fewer epochs, with a faster decay of the learning rate."""
    data: str = "scenes"
    """`scenes`, or the name of a real data set."""
    images: int = 0
    labels: int = 0


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    cases: tuple[Case, ...]
    held_out: int
    seeds: int = 2


def measure(sizes: Sizes) -> Raw:
    """Train each case with every number of shards and seed; evaluate on labels held out of the training part."""
    available, skipped = real(tuple(dict.fromkeys(case.data for case in sizes.cases if case.data != "scenes")))
    cases = []
    for case in sizes.cases:
        if case.data == "scenes":
            data = scenes(case.images, case.labels)
        elif case.data in available:
            data = leave_one_out(available[case.data]).train  # test labels are not used
        else:
            continue
        split = leave_one_out(data, name="shards", max_images=sizes.held_out)
        found: dict[str, list[float]] = {}
        for shards in _SHARDS:
            found[str(shards)] = [_recall(case, split, shards, seed) for seed in range(sizes.seeds)]
            log(f"{case.preset}, {case.data}, {data.pairs:,} pairs, {shards} shards: {found[str(shards)]}")
        facts = {"images": len(data.images), "labels": len(data.labels), "pairs": data.pairs}
        epochs = configure(case.preset, **case.settings).epochs
        cases.append({"preset": case.preset, "data": case.data, **facts, "epochs": epochs, "found": found})
    return {"cases": cases, "held_out": sizes.held_out, "skipped": skipped}


def _recall(case: Case, split: Split, shards: int, seed: int) -> float:
    """Train in this process: the model does not depend on where its shards are trained."""
    settings: Settings = {**case.settings, "shards": shards, "validate": False}
    return Annotator(case.preset, seed=seed, **settings).fit(split.train).evaluate(split.test)[_METRIC]


def score(raw: Raw) -> Score:
    """Return recall relative to one shard, as the mean over seeds."""
    checks, rows = [], []
    for case in raw["cases"]:
        means = {shards: statistics.mean(values) for shards, values in case["found"].items()}
        name = f"`{case['preset']}`, {case['data']}, {case['pairs']:,} pairs"
        row = [case["preset"], case["data"], *(f"{case[kind]:,}" for kind in ("images", "labels", "pairs", "epochs"))]
        for shards, values in case["found"].items():
            shown = " / ".join(f"{value:.4f}" for value in values)
            if shards == "1":
                row.append(shown)
                continue
            ratio = means[shards] / means["1"]
            checks.append(Check(f"{name}: {_METRIC}, {shards} shards / one", ratio, "at least", 0.98))
            row.append(f"{shown} ({ratio - 1:+.1%})")
        rows.append(tuple(row))
    columns = ("preset", "data", "images", "labels", "pairs", "epochs", "one machine", "4 shards", "16 shards")
    note = (
        f"{_METRIC} on one label of up to {raw['held_out']:,} images, held out of the training part; one value per "
        "seed, and the mean difference."
    )
    return Score(checks, [Table(columns, rows)], [note])


SHARDS = Benchmark(
    "shards",
    "A model trained by 4 or 16 shards is as accurate as one trained without shards, within 2 %.",
    Sizes(
        (
            Case("vse-ens", {"epochs": 60, "learning_rate_decay": 0.96}, images=1_260_000, labels=20_000),
            Case("context", {"epochs": 12, "dimensions": 64}, images=200_000, labels=5_000),
            *(
                Case(preset, settings, name)
                for name in ("iaprtc12", "openimages_v1val_sample")
                for preset, settings in (("vse-ens", Settings()), ("context", Settings(epochs=20)))
            ),
        ),
        held_out=20_000,
    ),
    Sizes(
        (
            Case("vse-ens", {"epochs": 2, "dimensions": 8}, images=400, labels=60),
            Case("context", {"epochs": 1, "dimensions": 8}, images=400, labels=60),
        ),
        held_out=50,
        seeds=1,
    ),
    measure,
    score,
    measures=("kernels", "label_weights", "presets", "train"),
    repetitions=lambda sizes: sizes.seeds,
    timed=False,
)
