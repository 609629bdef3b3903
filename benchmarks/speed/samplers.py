"""Draws a second of one worker, beside a C++ yardstick of the same update and beside each other."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, say
from benchmarks.speed.interleaved import CONTEXT_START, Contestant, Training, best, cost, hold, thousands, trained
from benchmarks.speed.reference import COMPILER, Yardstick, compiler
from vse_ens.config import Config, configure
from vse_ens.data.scenes import scenes
from vse_ens.run.threads import Workers

# Those whose ratios are promised, and the rest, some of which are so slow that a turn is a part of an epoch.
_PROMISED = ("uniform", "vse-ens")


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    images: int
    labels: int
    dimensions: int = 100
    start_epochs: int = 10
    turns: int = 15
    others: tuple[str, ...] = ("popularity", "dns", "warp", "softmax", "softmax of vse-ens", "context", "naive")
    other_turns: int = 5


def measure(sizes: Sizes) -> Raw:
    """Turns of all contestants, from one set of trained vectors."""
    data = scenes(sizes.images, sizes.labels)
    base = Config(sampler="uniform", loss="logistic", dimensions=sizes.dimensions)
    say(f"{data!r}, k = {sizes.dimensions}: {sizes.start_epochs} epochs to start from")
    start = trained(data, base, sizes.start_epochs)
    built_with = compiler()
    with Workers(1) as worker:
        contestants: dict[str, Contestant] = {
            name: Training(base.override(sampler=name), data, start, worker) for name in _PROMISED
        }
        if built_with:
            contestants["yardstick"] = Yardstick(base, data, start)
        turns = hold(contestants, sizes.turns)
        others: dict[str, Contestant] = {}
        for name in ("uniform", *sizes.others):
            config = _other(name, base)
            begin = trained(data, config, CONTEXT_START) if config.has_context else start
            others[name] = Training(config, data, begin, worker, rounds=1 if name == "naive" else 4)
        other_turns = hold(others, sizes.other_turns)
    return {
        "images": len(data.images),
        "labels": len(data.labels),
        "pairs": data.pairs,
        "dimensions": sizes.dimensions,
        "compiler": built_with,
        "turns": turns,
        "other_turns": other_turns,
        "skipped": [] if built_with else [f"The C++ yardstick: there is no {COMPILER} here to build it with."],
    }


def _other(name: str, base: Config) -> Config:
    if name == "context":
        return configure("context", dimensions=base.dimensions).unjudged()
    if name.startswith("softmax"):
        return base.override(loss="softmax", sampler="vse-ens" if name.endswith("vse-ens") else "uniform")
    return base.override(sampler=name)


def score(raw: Raw) -> Score:
    """Ratios of best turns."""
    turns, others = raw["turns"], raw["other_turns"]
    costs = {name: cost(best(taken)) for name, taken in turns.items()}
    checks = [
        Check("`vse-ens` draws a second over `uniform`", costs["uniform"] / costs["vse-ens"], "at least", 0.4, 0.7)
    ]
    if "yardstick" in turns:
        ratio = costs["yardstick"] / costs["uniform"]
        checks.insert(0, Check("`uniform` draws a second over the C++ yardstick", ratio, "at least", 0.8))
    rows = [
        (name, thousands(taken), f"{costs['uniform'] / costs[name]:.2f}", _refresh_share(best(taken)))
        for name, taken in turns.items()
    ]
    reference = cost(best(others["uniform"]))
    rows += [
        (name, thousands(taken), f"{reference / cost(best(taken)):.3g}", _refresh_share(best(taken)))
        for name, taken in others.items()
        if name != "uniform"
    ]
    size = f"{raw['images']:,} images, {raw['labels']:,} labels, {raw['pairs']:,} pairs, k = {raw['dimensions']}"
    notes = [f"{size}, logistic loss, one worker; the best of {len(turns['uniform'])} turns each."]
    if raw["compiler"]:
        notes.append(f"Yardstick: {raw['compiler']}.")
    return Score(
        checks, [Table(("contestant", "thousand draws a second", "of `uniform`", "refresh share"), rows)], notes
    )


def _refresh_share(turn: Raw) -> str:
    # Samplers without rankings spend some microseconds on finding that out.
    share = turn["refresh_seconds"] / turn["seconds"]
    return f"{share:.0%}" if share > 0.001 else "-"


SPEED = Benchmark(
    "speed",
    "The paper's sampler costs little more than a uniform one, and that one runs near the limit of the machine.",
    Sizes(112_000, 6_000),
    Sizes(2_000, 1_000, start_epochs=2, turns=2, other_turns=1),
    measure,
    score,
)
