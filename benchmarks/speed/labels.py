"""Cost of a `vse-ens` draw by number of labels and of images, refreshes of the rankings included."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.data_sets import zipf
from benchmarks.core.models import random_embeddings
from benchmarks.speed.interleaved import Candidate, TrainingTurns, best, cost, interleave
from vse_ens.config import Config
from vse_ens.run.threads import Workers


@dataclass(frozen=True)
class Case:
    """A size of data. A turn is ``rounds`` rounds, or an epoch if None."""

    images: int
    labels: int
    rounds: int | None = None

    @property
    def name(self) -> str:
        """The name of the candidate."""
        return f"{self.images:,} images, {self.labels:,} labels"


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run; each comparison is of a smaller case and a larger one."""

    vocabularies: tuple[Case, Case]
    collections: tuple[Case, Case]
    dimensions: int = 100
    turns: int = 7


def measure(sizes: Sizes) -> Raw:
    """Return turns of the smaller and the larger case of both comparisons."""
    config = Config(sampler="vse-ens", loss="logistic", dimensions=sizes.dimensions)
    raw: Raw = {"dimensions": sizes.dimensions, "skipped": []}
    for kind, cases in (("vocabularies", sizes.vocabularies), ("collections", sizes.collections)):
        with Workers(1) as worker:
            candidates: dict[str, Candidate] = {}
            for case in cases:
                log(f"generating {case.name}")
                data = zipf(case.images, case.labels)
                # Rounds visit images in random order, so a few rounds are a fair sample.
                candidates[case.name] = TrainingTurns(
                    config, data, random_embeddings(data, sizes.dimensions), worker, case.rounds
                )
            raw[kind] = interleave(candidates, sizes.turns)
    return raw


def score(raw: Raw) -> Score:
    """Return the cost in the larger case relative to the smaller, by best turns."""
    checks, rows = [], []
    for kind, limit in (("vocabularies", 2.0), ("collections", 1.5)):
        (small, small_turns), (large, large_turns) = raw[kind].items()
        ratio = cost(best(large_turns)) / cost(best(small_turns))
        checks.append(Check(f"cost per draw: {large} / {small}", ratio, "at most", limit))
        for name, turns in ((small, small_turns), (large, large_turns)):
            turn = best(turns)
            share = turn["refresh_seconds"] / turn["seconds"]
            rows.append((name, f"{1e9 * cost(turn):.0f} ns", f"{share:.0%}"))
    note = (
        f"Zipf-distributed pairs, about 8 labels per image, k = {raw['dimensions']}, one worker, logistic loss. "
        "The cost includes refreshing the rankings every round (`|A| ln |A|` draws, twice that if a round has slices) "
        f"and a share of the epoch's shuffle. Best of {len(next(iter(raw['collections'].values())))} turns each."
    )
    return Score(checks, [Table(("size", "cost per draw", "refresh share"), rows)], [note])


LABELS = Benchmark(
    "labels",
    "The cost of a draw hardly depends on the number of labels or images.",
    Sizes(
        vocabularies=(Case(320_000, 1_000), Case(320_000, 100_000)),
        collections=(Case(100_000, 6_000, rounds=12), Case(3_000_000, 6_000, rounds=12)),
    ),
    Sizes(
        vocabularies=(Case(2_000, 100), Case(2_000, 2_000)),
        collections=(Case(1_000, 500, rounds=2), Case(10_000, 500, rounds=2)),
        turns=2,
    ),
    measure,
    score,
    measures=("kernels", "train"),
    repetitions=lambda sizes: sizes.turns,
)
