"""Draws per second of each sampler with one worker, and of a C++ reference of the `uniform` update."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.models import trained_embeddings
from benchmarks.speed.interleaved import CONTEXT_START, Candidate, TrainingTurns, best, cost, interleave, thousands
from benchmarks.speed.reference import COMPILER, Reference, compiler
from vse_ens.config import Config
from vse_ens.data.datasets.scenes import scenes
from vse_ens.presets import configure
from vse_ens.run.threads import Workers

# The samplers with a promised ratio. A turn of the others is part of an epoch, because some are slow.
_PROMISED = ("uniform", "vse-ens")
_REFERENCE = "C++ reference"
_SHORT = "uniform, in turns of four rounds"


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    images: int
    labels: int
    dimensions: int = 100
    start_epochs: int = 10
    turns: int = 15
    others: tuple[str, ...] = ("popularity", "dns", "warp", "softmax", "softmax of vse-ens", "context", "naive")
    other_turns: int = 5


def measure(sizes: Sizes) -> Raw:
    """Return turns of all candidates, which start from the same trained vectors."""
    data = scenes(sizes.images, sizes.labels)
    base = Config(sampler="uniform", loss="logistic", dimensions=sizes.dimensions)
    log(f"{data!r}, k = {sizes.dimensions}: training {sizes.start_epochs} epochs to start from")
    start = trained_embeddings(data, base, sizes.start_epochs)
    built_with = compiler()
    with Workers(1) as worker:
        candidates: dict[str, Candidate] = {
            name: TrainingTurns(base.override(sampler=name), data, start, worker) for name in _PROMISED
        }
        if built_with:
            candidates[_REFERENCE] = Reference(base, data, start)
        turns = interleave(candidates, sizes.turns)
        others: dict[str, Candidate] = {}
        for name in ("uniform", *sizes.others):
            config = _other(name, base)
            begin = trained_embeddings(data, config, CONTEXT_START) if config.has_context else start
            others[name] = TrainingTurns(config, data, begin, worker, rounds=1 if name == "naive" else 4)
        other_turns = interleave(others, sizes.other_turns)
    return {
        "images": len(data.images),
        "labels": len(data.labels),
        "pairs": data.pairs,
        "dimensions": sizes.dimensions,
        "compiler": built_with,
        "turns": turns,
        "other_turns": other_turns,
        "skipped": [] if built_with else [f"The C++ reference: {COMPILER} is not installed."],
    }


def _other(name: str, base: Config) -> Config:
    if name == "context":
        return configure("context", dimensions=base.dimensions).without_validation()
    if name.startswith("softmax"):
        return base.override(loss="softmax", sampler="vse-ens" if name.endswith("vse-ens") else "uniform")
    return base.override(sampler=name)


def score(raw: Raw) -> Score:
    """Return ratios of best turns."""
    turns, others = raw["turns"], raw["other_turns"]
    costs = {name: cost(best(taken)) for name, taken in turns.items()}
    checks = [
        Check("draws per second: `vse-ens` / `uniform`", costs["uniform"] / costs["vse-ens"], "at least", 0.4, 0.8)
    ]
    if _REFERENCE in turns:
        ratio = costs[_REFERENCE] / costs["uniform"]
        checks.insert(0, Check("draws per second: `uniform` / C++ reference", ratio, "at least", 0.8))
    rows = [
        (name, thousands(taken), f"{costs['uniform'] / costs[name]:.2f}", _refresh_share(best(taken)))
        for name, taken in turns.items()
    ]
    reference = cost(best(others["uniform"]))
    rows += [
        (
            _SHORT if name == "uniform" else name,
            thousands(taken),
            f"{reference / cost(best(taken)):.3g}",
            _refresh_share(best(taken)),
        )
        for name, taken in others.items()
    ]
    size = f"{raw['images']:,} images, {raw['labels']:,} labels, {raw['pairs']:,} pairs, k = {raw['dimensions']}"
    note = (
        f"{size}, logistic loss, one worker; best of {len(turns['uniform'])} turns each. The candidates below "
        f"`{_SHORT}` are relative to it: they were measured in such turns, too."
    )
    notes = [note]
    if raw["compiler"]:
        notes.append(f"C++ reference: {raw['compiler']}.")
    return Score(
        checks,
        [Table(("candidate", "thousand draws per second", "relative to `uniform`", "refresh share"), rows)],
        notes,
    )


def _refresh_share(turn: Raw) -> str:
    # Samplers without rankings still take microseconds to check for them.
    share = turn["refresh_seconds"] / turn["seconds"]
    return f"{share:.0%}" if share > 0.001 else "-"


SPEED = Benchmark(
    "speed",
    "The paper's sampler costs little more than a uniform one, which runs at nearly the speed of C++.",
    Sizes(112_000, 6_000),
    Sizes(2_000, 1_000, start_epochs=2, turns=2, other_turns=1),
    measure,
    score,
    measures=("kernels", "train"),
    repetitions=lambda sizes: sizes.turns,
)
