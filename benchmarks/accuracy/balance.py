"""What the setting `balance` gives to rare labels and takes from common ones.

A part of this benchmark is one data set with one seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from benchmarks.accuracy.components import validation_split
from benchmarks.core.benchmark import Benchmark, Parts, Raw, Score, Table
from benchmarks.core.data_sets import real
from benchmarks.core.parts import measure_parts
from benchmarks.core.process import call
from benchmarks.peers.race import ONE_THREAD
from benchmarks.rivals.figures import part_name, split_name
from benchmarks.speed.default import EVEN, ODD
from vse_ens.data.annotations import Split
from vse_ens.evaluate.metrics import per_image
from vse_ens.evaluate.rank import FunctionScorer, evaluate
from vse_ens.evaluate.rankings import GROUPS, group_of
from vse_ens.presets import configure
from vse_ens.train.trainer import Trainer

_RARE = "rare labels: "
_METRICS = ("recall@10", "mrr", "ndcg@10")


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    data_sets: tuple[str, ...] = (*ODD, *EVEN)
    seeds: int = 3
    balances: tuple[float, ...] = (0.0, 0.1, 0.2, 0.4)
    epochs: int | None = None


def parts(sizes: Sizes) -> list[str]:
    """Return the names of all parts, by seed."""
    return [part_name(f"seed {seed}", name) for seed in range(sizes.seeds) for name in sizes.data_sets]


def measure_part(sizes: Sizes, part: str) -> Raw:
    """Measure one part in a process of its own; ``skipped`` is a sentence if the data set is missing."""
    seed, data_set = split_name(part)
    if skipped := real((data_set,))[1]:
        return {"skipped": skipped[0]}
    found: Raw = call(run, data_set, int(seed.split()[1]), sizes.balances, sizes.epochs, **ONE_THREAD)
    return found


def run(data_set: str, seed: int, balances: tuple[float, ...], epochs: int | None) -> Raw:
    """Train with each balance and rank labels held out of the training part; the test labels stay unseen."""
    split = validation_split(real((data_set,))[0][data_set], seed)
    return {"balances": [rank(split, seed, balance, epochs) for balance in balances]}


def rank(split: Split, seed: int, balance: float, epochs: int | None = None) -> Raw:
    """Return the metrics on all held-out labels and on the rare ones."""
    shorter = {} if epochs is None else {"epochs": epochs}
    trainer = Trainer(configure("context", seed=seed, balance=balance, **shorter), split.train, workers=1)
    for _ in trainer.rounds():
        pass
    scores = partial(trainer.model.scores, known=split.train)
    rankings = evaluate(FunctionScorer(split.train.images, split.train.labels, scores), *split, workers=1)
    values = per_image(rankings)  # one held-out label per image
    rare = group_of(rankings.seen, rankings.common) == len(GROUPS) - 1
    found = {name: float(values[name].mean()) for name in _METRICS}
    return {"balance": balance, **found, **{_RARE + name: float(values[name][rare].mean()) for name in _METRICS}}


def measure(sizes: Sizes) -> Raw:
    """Measure all parts without storing them."""
    return measure_parts(PARTS, sizes).raw


def score(raw: Raw) -> Score:
    """Return the means over the data sets, and recall@10 on each."""
    note = (
        "The default with `--set balance=VALUE`, on labels held out of the training part of the leave-one-out split; "
        "test labels are not used. Means over seeds and, in the first table, over data sets. Rare labels: the held-out "
        "labels outside of the most common ones that make up two thirds of all training pairs. The second table has "
        "recall@10 of all / of rare labels."
    )
    return Score(tables=list(tables(raw)), notes=[note])


def tables(raw: Raw) -> Iterator[Table]:
    """Yield the means over all data sets, and recall@10 of each data set."""
    found: dict[str, dict[float, list[Raw]]] = {}
    for part, stored in raw["parts"].items():
        for one in stored["raw"].get("balances", []):
            found.setdefault(split_name(part)[1], {}).setdefault(one["balance"], []).append(one)
    if not found:
        return
    names = [*_METRICS, *(_RARE + name for name in _METRICS)]
    balances = list(next(iter(found.values())))
    means = {
        balance: {name: [fmean(run[name] for run in of_set[balance]) for of_set in found.values()] for name in names}
        for balance in balances
    }
    yield Table(
        ("balance", *names),
        [(f"{balance:g}", *(f"{fmean(means[balance][name]):.4f}" for name in names)) for balance in balances],
    )
    rows = []
    for balance in balances:
        both = zip(means[balance]["recall@10"], means[balance][_RARE + "recall@10"], strict=True)
        rows.append((f"{balance:g}", *(f"{every:.3f} / {rare:.3f}" for every, rare in both)))
    yield Table(("balance", *found), rows)


PARTS = Parts(parts, measure_part, lambda _: ("kernels", "label_weights", "model", "presets", "train"))
BALANCE = Benchmark(
    "balance",
    "`balance` trades accuracy on common labels for accuracy on rare ones.",
    Sizes(),
    Sizes(("corel5k",), seeds=1, balances=(0.0, 0.2), epochs=2),
    measure,
    score,
    measures=("kernels", "label_weights", "model", "presets", "train"),
    repetitions=lambda sizes: sizes.seeds,
    timed=False,
    parts=PARTS,
)
