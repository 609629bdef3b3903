"""Statements on time: convergence, the length of WARP's search, and the cost of a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.paper import curves
from benchmarks.paper.cost import Grid, growth, growth_in_pairs, relative_growth, series, warp_growth
from benchmarks.paper.findings import (
    Document,
    Finding,
    doubt,
    doubt_about_data,
    each,
    groups_of,
    is_quiet,
    runs_of,
    settled,
    timed,
)
from benchmarks.paper.judge import (
    UNDECIDED,
    Estimate,
    Outcome,
    all_of,
    any_of,
    equal,
    faster,
)
from benchmarks.paper.numbers import DATA_SETS, ITERATIONS, MODELS, PAPER, number, rounding

# A ratio of times within this factor of the stated one is the stated one; within `_TIE` of 1 it is a tie.
_SAME_RATIO = 1.25
_TIE = 1.1
# A training has converged at an iteration if it is there before, though not before this share of it, and is flat then.
_EARLIEST = 2 / 3
_FLAT = 0.01
# Exponents are equal within these.
_EXPONENT = {"labels": 0.05, "tries": 0.15, "pairs": 0.1}
# O(2k) costs twice O(k), or up to this factor more.
_TWICE = 2.0
# "Only little": the mean label moves by at most this share of the list from one refresh to the next.
_LITTLE = 0.02


# --- readings of the document, also for the tables of the report ---


def seconds_of(group: dict[str, Any], model: str) -> list[float]:
    """Return the CPU seconds of all iterations by seed, projected where a training ran out of time."""
    return [run["projected_seconds"] for run in group["models"][model]["runs"]]


def speed_ratio(group: dict[str, Any], model: str, to: str = "vse-ens") -> Estimate:
    """Return the training time of a model divided by that of another, over seeds."""
    return Estimate.of_ratios(
        [one["projected_seconds"] / other["projected_seconds"] for one, other in runs_of(group, model, to)]
    )


def convergence_ratio(group: dict[str, Any], model: str, axis: int, to: str = "vse-ens") -> Estimate:
    """Return how many times as long as another a model takes to 99 % of its best: iterations (0) or seconds (1)."""
    pairs = [[curves.converged(run["points"])[axis] for run in both] for both in runs_of(group, model, to)]
    return Estimate.of_ratios([first / second for first, second in pairs])


def catch_up_ratio(group: dict[str, Any], model: str, axis: int, to: str = "vse-ens") -> Estimate | None:
    """Return how many times longer a model takes to 99 % of its best than the other to the same accuracy.

    A seed with which the other never gets there has the ratio 0. None if some do and some do not.
    """
    ratios = []
    for run, other in runs_of(group, model, to):
        mine = curves.converged(run["points"])
        theirs = curves.reach(other["points"], curves.SHARE * curves.best(run["points"]))
        ratios.append(0.0 if theirs is None else mine[axis] / theirs[axis])
    if not any(ratios):
        return Estimate(0.0, 0.0, 0.0)
    return Estimate.of_ratios(ratios) if all(ratios) else None


def tries_per_step(run: dict[str, Any]) -> list[float]:
    """Return the number of labels examined per step, by iteration."""
    return [tries / draws for tries, draws in zip(run["tries"], run["draws"], strict=True)]


def tries_per_violation(run: dict[str, Any]) -> list[float]:
    """Return the number of labels examined per step that found a violating one, by iteration."""
    columns = zip(run["tries"], run["draws"], run["given_up"], strict=True)
    return [tries / max(draws - given_up, 1) for tries, draws, given_up in columns]


def level_of(values: Sequence[float]) -> float:
    """Return the mean over the last third of the iterations."""
    last = values[-max(1, len(values) // 3) :]
    return sum(last) / len(last)


Reading = tuple[str, str, Callable[[dict[str, Any]], list[float]]]
SEARCHES: tuple[Reading, ...] = (
    ("deviation", "at most |A| - 1 tries per step", tries_per_step),
    ("uncapped", "any number of tries", tries_per_step),
    ("uncapped", "all tries per violating label found", tries_per_violation),
)
"""The ways to read the samples that figure 1 counts: a group, its name, and the count by iteration."""


# --- WARP against VSE-ens ---


def _tested(
    document: Document, name: str, models: tuple[str, ...], test: Callable[[dict[str, Any]], tuple[Outcome, str]]
) -> list[tuple[str, Outcome, str]]:
    """Return the outcome of a test with each group of settings; a group with a doubt keeps its numbers only."""
    groups: list[tuple[str, Outcome, str]] = []
    for group_name, group in groups_of(document, name):
        why = doubt(document, name, group, *models)
        outcome, text = UNDECIDED, ""
        if all(curves.best(run["points"]) > 0.0 for model in models for run in group["models"][model]["runs"]):
            outcome, text = test(group)
        groups.append((group_name, UNDECIDED if why else outcome, " ".join(f"{text} {why}".split())))
    return groups


def speed_up(document: Document) -> Iterator[Finding]:
    """The ratio of the CPU times to 99 % of each model's own best must be the stated one, within a factor of 1.25."""
    for name, title in each(document):
        stated = PAPER["abstract"]["speed_up"][name]

        def test(group: dict[str, Any], title: str = title, stated: str = stated) -> tuple[Outcome, str]:
            ratio, busy = _timed(group, "warp", convergence_ratio(group, "warp", 1))
            text = f"{title}: WARP takes {ratio.text()} times the CPU time of VSE-ens to 99 % of its own best. {busy}"
            return _same_ratio(ratio, number(stated)), text

        groups = _tested(document, name, ("warp", "vse-ens"), test)
        statement = f"VSE-ens converges {stated} times as fast as WARP on {DATA_SETS[name]}."
        yield from settled("speed-up", statement, "abstract", groups, name)


def faster_than_warp(document: Document) -> Iterator[Finding]:
    """Faster to its own best, and to the best of WARP; both must be."""
    for name, title in each(document):

        def test(group: dict[str, Any], title: str = title) -> tuple[Outcome, str]:
            own, busy = _timed(group, "warp", convergence_ratio(group, "warp", 1))
            caught = catch_up_ratio(group, "warp", 1)
            other = None if caught is None else _timed(group, "warp", caught)[0]
            text = (
                f"{title}: WARP's CPU time to 99 % of its own best is {own.text()} times that of VSE-ens to its own, "
            )
            if other is None:
                text += "and VSE-ens reaches the accuracy of WARP with some seeds only. "
            elif other.high == 0.0:
                text += "and VSE-ens never reaches the accuracy of WARP. "
            else:
                text += f"and {other.text()} times that of VSE-ens to the accuracy of WARP. "
            return all_of([faster(own, _TIE), UNDECIDED if other is None else faster(other, _TIE)]), text + busy

        groups = _tested(document, name, ("warp", "vse-ens"), test)
        statement = f"VSE-ens converges faster than WARP on {DATA_SETS[name]}."
        yield from settled("faster-than-warp", statement, "abstract; section 1", groups, name)


def _timed(group: dict[str, Any], model: str, ratio: Estimate) -> tuple[Estimate, str]:
    return timed(ratio, (run for both in runs_of(group, model, "vse-ens") for run in both))


def _same_ratio(ratio: Estimate, stated: float) -> Outcome:
    return equal(ratio, stated / _SAME_RATIO, stated * _SAME_RATIO)


# --- figure 1 ---


def search_length(document: Document) -> Iterator[Finding]:
    """The level of the last third must round to the printed number in one of the readings."""
    for name, title in each(document):
        stated = PAPER["figure1"][name]["level"]
        half = rounding(stated)
        yield from _searched(
            document,
            name,
            title,
            ("search-length", f"WARP comes to need about {stated} samples per step on {DATA_SETS[name]}."),
            lambda counts: level_of(counts) if len(counts) >= 3 else None,
            (number(stated) - half, number(stated) + half),
            "over the last third of the iterations",
        )


def search_growth(document: Document) -> Iterator[Finding]:
    """The count at the iteration by which the paper says it has grown; "over" a number has no upper end."""
    for name, title in each(document):
        figure = PAPER["figure1"][name]
        if "by_iteration" not in figure:
            continue
        at, reached = figure["by_iteration"], figure["reached"]
        over = bool(figure["over"])
        low = number(reached) if over else number(reached) - rounding(reached)
        high = math.inf if over else number(reached) + rounding(reached)
        statement = (
            f"WARP needs {'over' if over else 'up to'} {reached} samples per step by iteration {at} on "
            f"{DATA_SETS[name]}."
        )

        def count_at(counts: list[float], at: int = at) -> float | None:
            return counts[at - 1] if len(counts) >= at else None

        finding = ("search-growth", statement)
        yield from _searched(document, name, title, finding, count_at, (low, high), f"at iteration {at}")


def _searched(
    document: Document,
    name: str,
    title: str,
    finding: tuple[str, str],
    value: Callable[[list[float]], float | None],
    band: tuple[float, float],
    where: str,
) -> Iterator[Finding]:
    outcomes: list[Outcome] = []
    texts = []
    for group_name, reading, count in SEARCHES:
        group = document["runs"].get(name, {}).get(group_name, {})
        warp = group.get("models", {}).get("warp")
        if warp is None:
            continue
        values = [value(count(run)) for run in warp["runs"] if "tries" in run]
        kept = [one for one in values if one is not None]
        if not kept:
            continue
        estimate = Estimate.of_seeds(kept)
        # One seed has no interval; the reading stays open, as it does where a training did not come so far.
        why = doubt_about_data(document, name) or ("" if len(kept) == len(values) else "Too few iterations.")
        outcomes.append(UNDECIDED if why else equal(estimate, *band))
        texts.append(f"{estimate.text(',.0f')} with {reading}")
    if not outcomes:
        return
    key, statement = finding
    labels = document["data_sets"][name]["labels"]
    why = doubt_about_data(document, name)
    yield Finding(
        key,
        statement,
        PAPER["figure1"]["source"],
        any_of(outcomes),
        f"{title}, {where}: {'; '.join(texts)}. |A| - 1 is {labels - 1:,}. {why}".strip(),
        name,
    )


# --- refreshes ---


def order_changes_little(document: Document) -> Iterator[Finding]:
    """How far a label moves in the list of a factor between two refreshes, as a share of the list."""
    for name, title in each(document):
        group = document["runs"].get(name, {}).get("samplers")
        run = group and group["models"].get("vse-ens")
        rows = [row for row in (run or {}).get("equivalence") or [] if row.get("moved") is not None]
        if not group or not rows:
            continue
        moved = [row["moved"] for row in rows]
        estimate = Estimate.of_seeds(moved)
        worst = max(rows, key=lambda row: float(row["moved"]))
        why = doubt(document, name, group, "vse-ens", seeds=1)
        yield Finding(
            "order-changes-little",
            f"The order of labels changes only little between two refreshes on {DATA_SETS[name]}.",
            "section 3, process of sampling",
            UNDECIDED if why else equal(estimate, -math.inf, _LITTLE),
            f"{title}: a label moves by {estimate.text('.2%')} of the list, the mean over {len(rows)} points of the "
            f"training, and by {worst['moved']:.2%} at iteration {worst['iteration']}; up to {_LITTLE:.0%} is little. "
            f"{why}".strip(),
            name,
        )


# --- table 3 ---


def _cost_outcome(document: Document, outcome: Outcome) -> tuple[Outcome, str]:
    """Return an outcome of table 3, or none with the reason: nanoseconds need a machine without other work."""
    if is_quiet({"provenance": document.get("parts", {}).get("cost")}):
        return outcome, ""
    return UNDECIDED, " The machine had other work."


def cost_in_labels(document: Document) -> Iterator[Finding]:
    """Compared with a step of Opt-AUC, so that caches, which grow too small for both, cancel."""
    if not document["cost"]:
        return
    grid = Grid(**document["grid"])
    relative = Estimate(*relative_growth(document["cost"], "vse-ens", "opt-auc", "labels", grid))
    own = growth(document["cost"], "vse-ens", "labels", grid)
    outcome, why = _cost_outcome(document, equal(relative, -math.inf, _EXPONENT["labels"]))
    yield Finding(
        "cost-in-labels",
        "The cost of a step of VSE-ens does not depend on the number of labels: O(2k).",
        "table 3",
        outcome,
        f"Relative to a step of Opt-AUC it grows as |A| to the power {relative.text('+.3f')}, alone {own.value:+.3f}, "
        f"refreshes included; up to {_EXPONENT['labels']:g} counts as none.{why}",
    )


def cost_ratio(document: Document) -> Iterator[Finding]:
    """The ratio over several k, whose interval must end below twice with a margin."""
    if not document["cost"]:
        return
    grid = Grid(**document["grid"])
    both = zip(
        series(document["cost"], "vse-ens", "dimensions", grid),
        series(document["cost"], "opt-auc", "dimensions", grid),
        strict=True,
    )
    ratio = Estimate.of_ratios([first / second for (_, first), (_, second) in both])
    outcome, why = _cost_outcome(document, equal(ratio, 0.0, _TWICE * _SAME_RATIO))
    yield Finding(
        "cost-ratio",
        "A step of VSE-ens costs at most twice a step of Opt-AUC: O(2k) against O(k).",
        "table 3",
        outcome,
        f"The ratio is {ratio.text()} over k = {', '.join(f'{k:g}' for k in grid.dimensions)} at "
        f"{grid.at_labels:,} labels; up to {_TWICE * _SAME_RATIO:g} counts as twice.{why}",
    )


def cost_of_warp(document: Document) -> Iterator[Finding]:
    """The cost of a step of WARP grows as the product of tries and dimensions."""
    if not document["cost"]:
        return
    exponent, costs = warp_growth(document["cost"])
    estimate = Estimate(*exponent)
    margin = _EXPONENT["tries"]
    outcome, why = _cost_outcome(document, equal(estimate, 1.0 - margin, 1.0 + margin))
    yield Finding(
        "warp-cost",
        "A step of WARP costs O(Tk).",
        "table 3",
        outcome,
        f"It grows as (T k) to the power {estimate.text('.3f')} over {len(costs)} pairs of k and |A|: "
        f"{min(costs):.3f} to {max(costs):.3f} ns per try and dimension.{why}",
    )


def linear_in_pairs(document: Document) -> Iterator[Finding]:
    """The CPU time of an iteration of VSE-ens grows as the number of pairs."""
    points = [one for one in document["cost"] if "pairs" in one]
    if not points:
        return
    estimate = Estimate(*growth_in_pairs(document["cost"]))
    outcome, why = _cost_outcome(document, equal(estimate, -math.inf, 1.0 + _EXPONENT["pairs"]))
    yield Finding(
        "linear-in-pairs",
        "VSE-ens scales linearly to large data sets.",
        "abstract",
        outcome,
        f"The CPU time of an iteration grows as the number of pairs to the power {estimate.text('.3f')}, from "
        f"{min(one['pairs'] for one in points):,} to {max(one['pairs'] for one in points):,} pairs.{why}",
    )


# --- table 4 and convergence ---


def hours(document: Document) -> Iterator[Finding]:
    """The ratio of the CPU times of all iterations that the paper states, within a factor of 1.25."""
    for name, title in each(document):
        for model in ("warp", "opt-auc"):
            ours, theirs = (number(PAPER["table4"][one][name]) for one in ("vse-ens", model))

            def test(
                group: dict[str, Any], title: str = title, model: str = model, stated: float = theirs / ours
            ) -> tuple[Outcome, str]:
                ratio, busy = _timed(group, model, speed_ratio(group, model))
                text = f"{title}: {ratio.text()} times, for {ITERATIONS[model]} and {ITERATIONS['vse-ens']} iterations."
                return _same_ratio(ratio, stated), f"{text} {busy}"

            statement = (
                f"Training {MODELS[model]} takes {theirs / ours:.2f} times as long as training VSE-ens on "
                f"{DATA_SETS[name]}."
            )
            groups = _tested(document, name, (model, "vse-ens"), test)
            yield from settled("hours", statement, "table 4", groups, name)


def faster_than_opt_auc(document: Document) -> Iterator[Finding]:
    """The CPU time of all iterations that the paper states."""
    for name, title in each(document):

        def test(group: dict[str, Any], title: str = title) -> tuple[Outcome, str]:
            ratio, busy = _timed(group, "opt-auc", speed_ratio(group, "opt-auc"))
            return faster(ratio, _TIE), f"{title}: Opt-AUC takes {ratio.text()} times the CPU time of VSE-ens. {busy}"

        groups = _tested(document, name, ("opt-auc", "vse-ens"), test)
        statement = f"VSE-ens takes less time than Opt-AUC on {DATA_SETS[name]}."
        yield from settled("faster-than-opt-auc", statement, "table 4", groups, name)


def fewer_iterations(document: Document) -> Iterator[Finding]:
    """Iterations to 99 % of the own best, which do not depend on the machine."""
    for name, title in each(document):

        def test(group: dict[str, Any], title: str = title) -> tuple[Outcome, str]:
            ratio = convergence_ratio(group, "opt-auc", 0)
            text = f"{title}: Opt-AUC takes {ratio.text()} times the iterations of VSE-ens to 99 % of its own best."
            return faster(ratio, _TIE), text

        groups = _tested(document, name, ("opt-auc", "vse-ens"), test)
        statement = f"VSE-ens needs fewer iterations to converge than Opt-AUC on {DATA_SETS[name]}."
        source = "section 4, comparison in training time"
        yield from settled("fewer-iterations", statement, source, groups, name)


def convergence(document: Document) -> Iterator[Finding]:
    """99 % of the own best is reached by the stated iteration and not long before, and the curve is flat at its end."""
    for name, title in each(document):
        for model, iterations in ITERATIONS.items():

            def test(
                group: dict[str, Any], title: str = title, model: str = model, iterations: int = iterations
            ) -> tuple[Outcome, str]:
                points = [run["points"] for run in group["models"][model]["runs"]]
                reached = Estimate.of_seeds([curves.converged(one).iterations for one in points])
                change = Estimate.of_seeds([curves.change_at_end(one) for one in points])
                parts = [equal(reached, _EARLIEST * iterations, iterations), equal(change, -_FLAT, _FLAT)]
                return all_of(parts), (
                    f"{title}: 99 % of its best after {reached.text('.0f')} iterations; over the last quarter of them "
                    f"recall@10 changes by {change.text('+.1%')}."
                )

            groups = _tested(document, name, (model,), test)
            statement = f"{MODELS[model]} converges at about {iterations} iterations on {DATA_SETS[name]}."
            yield from settled("convergence", statement, PAPER["convergence"]["source"], groups, name)
