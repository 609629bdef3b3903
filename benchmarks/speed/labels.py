"""How the cost of a `vse-ens` draw grows with the vocabulary and with the images; refreshes included."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, say
from benchmarks.core.data_sets import zipf
from benchmarks.speed.interleaved import Contestant, Training, best, cost, hold
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.threads import Workers

# About the size of trained vectors. The made-up pairs have nothing to learn in them, so training could not give it.
_SCALE = 0.3


@dataclass(frozen=True)
class Case:
    """One size of data; a turn has so many rounds of it, or a whole epoch."""

    images: int
    labels: int
    rounds: int | None = None

    @property
    def name(self) -> str:
        """As a contestant."""
        return f"{self.images:,} images, {self.labels:,} labels"


@dataclass(frozen=True)
class Sizes:
    """How much is measured: each pair is the smaller case, then the larger."""

    vocabularies: tuple[Case, Case]
    collections: tuple[Case, Case]
    dimensions: int = 100
    turns: int = 7


def measure(sizes: Sizes) -> Raw:
    """Turns of the smaller and the larger case, in two contests."""
    config = Config(sampler="vse-ens", loss="logistic", dimensions=sizes.dimensions)
    raw: Raw = {"dimensions": sizes.dimensions, "skipped": []}
    for kind, cases in (("vocabularies", sizes.vocabularies), ("collections", sizes.collections)):
        with Workers(1) as worker:
            contestants: dict[str, Contestant] = {}
            for case in cases:
                say(f"making {case.name}")
                data = zipf(case.images, case.labels)
                # Rounds take images in a random order, so those of any few rounds are a fair draw of all.
                contestants[case.name] = Training(
                    config, data, random_embeddings(data, sizes.dimensions), worker, case.rounds
                )
            raw[kind] = hold(contestants, sizes.turns)
    return raw


def random_embeddings(data: Annotations, dimensions: int) -> Embeddings:
    """Normal vectors, made in single precision: `vse_ens.train.state` needs several times their memory."""
    numbers = np.random.default_rng(0)

    def normal(rows: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        made = numbers.standard_normal((rows, dimensions), np.float32)
        made *= np.float32(_SCALE)
        return made

    return Embeddings(
        label_vectors=normal(len(data.labels)),
        label_bias=np.zeros(len(data.labels), np.float32),
        image_vectors=normal(len(data.images)),
        feature_map=np.empty((0, dimensions), np.float32),
    )


def score(raw: Raw) -> Score:
    """The larger case over the smaller, by best turns."""
    checks, rows = [], []
    for kind, limit in (("vocabularies", 2.0), ("collections", 1.5)):
        (small, small_turns), (large, large_turns) = raw[kind].items()
        ratio = cost(best(large_turns)) / cost(best(small_turns))
        checks.append(Check(f"cost of a draw: {large} over {small}", ratio, "at most", limit))
        for name, turns in ((small, small_turns), (large, large_turns)):
            turn = best(turns)
            share = turn["refresh_seconds"] / turn["seconds"]
            rows.append((name, f"{1e9 * cost(turn):.0f} ns", f"{share:.0%}"))
    note = (
        f"Zipf-like pairs, about 8 labels an image, k = {raw['dimensions']}, one worker, logistic loss; "
        "rankings made anew every round (`|A| ln |A|` draws, twice that where a round has slices), "
        "and in the cost, as is the share of an epoch's shuffle; "
        f"the best of {len(next(iter(raw['collections'].values())))} turns each."
    )
    return Score(checks, [Table(("size", "a draw", "refresh share"), rows)], [note])


LABELS = Benchmark(
    "labels",
    "The cost of a draw hardly depends on how many labels there are, nor on how many images.",
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
)
