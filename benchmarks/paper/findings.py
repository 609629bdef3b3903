"""What the paper states, and what the results say about it.

A finding has three outcomes. Its rule compares numbers of the results with numbers of the paper and can come out either
way; the evidence gives the number that decides. Results on a stand-in, or of a training that ran out of time, decide
nothing about the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.paper.accuracy import Estimate
from benchmarks.paper.cost import Grid, growth, relative_growth, series
from benchmarks.paper.data_sets import marked_titles
from benchmarks.paper.numbers import (
    DATA_SETS,
    ITERATIONS,
    METRICS,
    MODELS,
    PAPER,
    number,
    printed,
    rounding,
    speed_up_from_hours,
)

Outcome = Literal["agrees", "contradicts", "cannot be decided here"]
UNDECIDED: Outcome = "cannot be decided here"

GROUPS = {
    "tuned": "settings tuned as the paper says",
    "deviation": "fixed settings, N(0, 0.01) as standard deviation 0.01",
    "variance": "fixed settings, N(0, 0.01) as variance 0.01",
}
"""The groups of trainings that table 2 compares, the paper's protocol first."""

# A change of less than this share of recall@10 over the last quarter of the iterations counts as converged.
_CONVERGED = 0.01
# An exponent is decided if its 95 % interval is at most this wide.
_EXPONENT_WIDTH = 0.3


@dataclass(frozen=True)
class Finding:
    """A statement of the paper with the outcome of its test."""

    key: str
    """The statement in `benchmarks.paper.statements`."""
    statement: str
    source: str
    outcome: Outcome
    evidence: str
    data_set: str | None = None


Document = dict[str, Any]


def findings_of(document: Document) -> list[Finding]:
    """Return the findings of all results so far, in the order of the paper."""
    rules: tuple[Callable[[Document], Iterator[Finding]], ...] = (
        _speed_up,
        _abstract,
        _search_length,
        _ranking,
        _equivalence,
        _comparable,
        _worked_example,
        _sizes,
        _best_of_three,
        _warp_above_opt_auc,
        _printed_values,
        _auc_column,
        _cost_in_labels,
        _cost_ratio,
        _faster_than_opt_auc,
        _convergence,
    )
    return [finding for rule in rules for finding in rule(document)]


# --- reading the document ---


def groups_of(document: Document, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the groups of table 2 that have all three models."""
    for group in GROUPS:
        found = document["runs"].get(name, {}).get(group)
        if found is not None and len(found["models"]) == len(MODELS):
            yield group, found


def protocol_group(document: Document, name: str) -> tuple[str, dict[str, Any]] | None:
    """Return the tuned trainings, which are the paper's protocol; without them those with fixed settings."""
    return next(groups_of(document, name), None)


def seconds_of(group: dict[str, Any], model: str) -> list[float]:
    """Return the CPU seconds of all iterations by seed, projected where a training ran out of time."""
    return [run["projected_seconds"] for run in group["models"][model]["runs"]]


def speed_ratio(group: dict[str, Any], model: str, to: str = "vse-ens") -> Estimate:
    """Return the training time of a model divided by that of another, over seeds."""
    # While a run is in progress the models may have different numbers of seeds.
    pairs = zip(seconds_of(group, model), seconds_of(group, to), strict=False)
    return Estimate.of_seeds([first / second for first, second in pairs])


def tries_per_step(run: dict[str, Any]) -> list[float]:
    """Return the number of labels examined per step, by iteration."""
    return [tries / draws for tries, draws in zip(run["tries"], run["draws"], strict=True)]


def tries_per_violation(run: dict[str, Any]) -> list[float]:
    """Return the number of labels examined per step that found a violating one, by iteration."""
    columns = zip(run["tries"], run["draws"], run["given_up"], strict=True)
    return [tries / max(draws - given_up, 1) for tries, draws, given_up in columns]


def level_of(values: list[float]) -> float:
    """Return the mean over the last third of the iterations."""
    last = values[-max(1, len(values) // 3) :]
    return sum(last) / len(last)


def _complete(group: dict[str, Any], *models: str) -> bool:
    return all(run["ending"] == "done" for model in models for run in group["models"][model]["runs"])


def _why_undecided(document: Document, name: str, group: dict[str, Any], *models: str) -> str:
    """Return why results decide nothing; empty if they do."""
    if document["data_sets"][name]["generated"]:
        return "This is a stand-in, not the paper's data."
    if not _complete(group, *models):
        return "A training ran out of time."
    return ""


def _each(document: Document) -> Iterator[tuple[str, str]]:
    yield from marked_titles(document["data_sets"]).items()


def _interval(estimate: Estimate, style: str = ".2f") -> str:
    if estimate.low == -float("inf"):
        return f"{estimate.mean:{style}} (one seed)"
    return f"{estimate.mean:{style}} ({estimate.low:{style}} to {estimate.high:{style}})"


# --- the rules ---


def _speed_up(document: Document) -> Iterator[Finding]:
    """At least as fast as stated agrees; an interval below it contradicts."""
    for name, title in _each(document):
        found = protocol_group(document, name)
        if found is None:
            continue
        group_name, group = found
        stated = PAPER["abstract"]["speed_up"][name]
        ratio = speed_ratio(group, "warp")
        why = _why_undecided(document, name, group, "warp", "vse-ens")
        outcome: Outcome = UNDECIDED
        if not why and ratio.low != -float("inf"):
            outcome = "contradicts" if ratio.high < number(stated) else "agrees" if ratio.low > 1.0 else UNDECIDED
        yield Finding(
            "speed-up",
            f"VSE-ens converges {stated} times as fast as WARP on {DATA_SETS[name]}.",
            "abstract, table 4",
            outcome,
            f"{title}, {GROUPS[group_name]}: WARP takes {_interval(ratio)} times the CPU time of VSE-ens for the "
            f"iterations that the paper states. {why}".strip(),
            name,
        )


def _abstract(_document: Document) -> Iterator[Finding]:
    for name in DATA_SETS:
        stated, computed = PAPER["abstract"]["speed_up"][name], speed_up_from_hours(name)
        if abs(computed - number(stated)) > rounding(stated):
            hours = [PAPER["table4"][model][name] for model in ("warp", "vse-ens")]
            yield Finding(
                "speed-up-of-hours",
                f"The speed-up of {stated} on {DATA_SETS[name]} follows from table 4.",
                "abstract, table 4",
                "contradicts",
                f"Table 4 gives {hours[0]} / {hours[1]} = {computed:.4f}.",
            )


def _search_length(document: Document) -> Iterator[Finding]:
    """The level rounds to the printed number, or it does not."""
    for name, title in _each(document):
        runs = document["runs"].get(name, {})
        levels = {}
        for group, what in (("deviation", "at most |A| - 1 tries"), ("uncapped", "any number of tries")):
            if warp := runs.get(group, {}).get("models", {}).get("warp"):
                levels[what] = level_of(tries_per_step(warp["runs"][0]))
        if not levels:
            continue
        stated = PAPER["figure1"][name]["level"]
        hits = [what for what, level in levels.items() if abs(level - number(stated)) <= rounding(stated)]
        measured = " and ".join(f"{level:,.0f} with {what}" for what, level in levels.items())
        generated, labels = (document["data_sets"][name][key] for key in ("generated", "labels"))
        yield Finding(
            "search-length",
            f"WARP comes to need about {stated} samples per step on {DATA_SETS[name]}.",
            PAPER["figure1"]["source"],
            UNDECIDED if generated else "agrees" if hits else "contradicts",
            f"{title}: {measured} over the last third of the iterations; |A| - 1 is {labels - 1:,}."
            + (" This is a stand-in, not the paper's data." if generated else ""),
            name,
        )


def _sampler_rows(document: Document) -> tuple[str, list[dict[str, Any]]] | None:
    for name in document["runs"]:
        run = document["runs"][name].get("samplers", {}).get("models", {}).get("vse-ens")
        if run is not None:
            return name, run["equivalence"]
    return None


def _ranking(document: Document) -> Iterator[Finding]:
    if found := _sampler_rows(document):
        name, rows = found
        same = sum(row["same_ranking"] for row in rows)
        yield Finding(
            "rank-invariance",
            "The transformed score s* ranks labels as the score s does.",
            "section 3, eq. 6 to 8",
            "agrees" if same == len(rows) else "contradicts",
            f"{marked_titles(document['data_sets'])[name]}: the rankings of {rows[0]['images']} images are the same at "
            f"{same} of {len(rows)} points of the training.",
            name,
        )


def _equivalence(document: Document) -> Iterator[Finding]:
    """Equivalent samplers have total variation 0; the distance is computed exactly, so only its interval decides."""
    if found := _sampler_rows(document):
        name, rows = found
        last = rows[-1]
        distance, error = (last[key]["vse-ens to naive"] for key in ("total_variation", "standard_error"))
        ranks = last["mean_rank"]
        yield Finding(
            "equivalence",
            "The sampling is equivalent to sampling by the inner product.",
            "section 1, contributions; section 3",
            "contradicts" if distance - 1.96 * error > 0.01 else "agrees",
            f"{marked_titles(document['data_sets'])[name]}, after {last['iteration']} iterations: the total variation "
            f"between VSE-ens and the naive sampler is {distance:.3f} (0 if equivalent), averaged over "
            f"{last['images']} images. The mean rank of a drawn label is {ranks['vse-ens']:.0f}, against "
            f"{ranks['naive']:.0f} with the naive and {ranks['uniform']:.0f} with the uniform sampler.",
            name,
        )


def _comparable(document: Document) -> Iterator[Finding]:
    for name, title in _each(document):
        group = document["runs"].get(name, {}).get("samplers")
        difference = group and group["differences"].get("vse-ens - naive")
        if not difference:
            continue
        estimate = Estimate(*difference["recall@10"])
        why = _why_undecided(document, name, group, "vse-ens", "naive")
        low, high = (f"{end:+.4f}" for end in (estimate.low, estimate.high))
        yield Finding(
            "comparable-accuracy",
            "The accuracy is comparable to or better than with sampling by the inner product.",
            "section 1, contributions",
            UNDECIDED if why else "contradicts" if estimate.high < 0 else "agrees",
            f"{title}, same settings and draws: recall@10 is {estimate.mean:+.4f} ({low} to {high}) compared with the "
            f"naive sampler. {why}".strip(),
            name,
        )


def _worked_example(document: Document) -> Iterator[Finding]:
    for case, sign in (("positive", ">"), ("negative", "<")):
        stated = PAPER["figure2"][f"position_if_{case}"]
        position = document["example"]["cases"][case]["position"]
        yield Finding(
            "worked-example",
            f"With r = 2, f = 3 and v_13 {sign} 0 the negative is at position {stated} of 10.",
            PAPER["figure2"]["source"],
            "agrees" if position == stated else "contradicts",
            f"The training kernel returns the label at position {position}; algorithm 1 has "
            + ("r = 2." if case == "positive" else "|A| - r + 1 = 9."),
        )


def _sizes(document: Document) -> Iterator[Finding]:
    for name, title in _each(document):
        described, paper = document["data_sets"][name], PAPER["table1"][name]
        counts = ("images", "labels", "train", "test")
        other = [count for count in counts if described[count] != paper[count]]
        evidence = ", ".join(f"{count} {described[count]:,} (paper {paper[count]:,})" for count in other)
        outcome: Outcome = UNDECIDED if described["generated"] else "contradicts" if other else "agrees"
        yield Finding(
            "sizes",
            f"Table 1 describes {DATA_SETS[name]}.",
            "table 1",
            outcome,
            f"{title}: {evidence or 'all four counts are as in table 1'}.",
            name,
        )


def _compared(
    document: Document, key: str, statement: str, source: str, pairs: tuple[tuple[str, str], ...]
) -> Iterator[Finding]:
    """Compare models in all six metrics: above in all agrees, below in any contradicts; intervals decide."""
    for name, title in _each(document):
        for group_name, group in groups_of(document, name):
            leads = {}
            for first, second in pairs:
                difference = group["differences"].get(f"{first} - {second}")
                if difference is not None:
                    for metric in METRICS:
                        leads[second, metric] = Estimate(*difference[_ours(metric)])
            if not leads:
                continue
            behind = {at: lead for at, lead in leads.items() if lead.high < 0}
            open_ones = {at: lead for at, lead in leads.items() if lead.low <= 0 <= lead.high}
            models = {model for pair in pairs for model in pair}
            why = _why_undecided(document, name, group, *models)
            outcome: Outcome = UNDECIDED if why or open_ones else "agrees"
            if behind and not why:
                outcome = "contradicts"
            (rival, metric), lead = min((behind or open_ones or leads).items(), key=_distance)
            won = sum(lead.low > 0 for lead in leads.values())
            low, high = (f"{end:+.4f}" for end in (lead.low, lead.high))
            yield Finding(
                key,
                statement.format(data_set=DATA_SETS[name]),
                source,
                outcome,
                f"{title}, {GROUPS[group_name]}: ahead in {won} of {len(leads)} comparisons, behind in {len(behind)}. "
                f"Decisive: {metric} {lead.mean:+.4f} ({low} to {high}) against {MODELS[rival]}. {why}".strip(),
                name,
            )


def _distance(item: tuple[tuple[str, str], Estimate]) -> float:
    """Return how far ahead in units of the half interval, so that metrics of any scale compare."""
    lead = item[1]
    return lead.mean / max(lead.high - lead.mean, 1e-12)


def _ours(metric: str) -> str:
    return "auc@10" if metric == "auc" else metric


def _best_of_three(document: Document) -> Iterator[Finding]:
    statement = "VSE-ens is better than WARP and Opt-AUC in all six metrics on {data_set}."
    pairs = (("vse-ens", "warp"), ("vse-ens", "opt-auc"))
    yield from _compared(document, "best-of-three", statement, "table 2", pairs)


def _warp_above_opt_auc(document: Document) -> Iterator[Finding]:
    statement = "WARP is a stronger baseline than Opt-AUC on {data_set}."
    source = "section 4, comparison in ranking accuracy"
    yield from _compared(document, "warp-above-opt-auc", statement, source, (("warp", "opt-auc"),))


def _printed_values(document: Document) -> Iterator[Finding]:
    """A printed value agrees if it lies in our interval."""
    for name, title in _each(document):
        for group_name, group in groups_of(document, name):
            for model in MODELS:
                values, cells = group["models"][model]["accuracy"], printed(name, model)
                inside = 0
                for metric, text in cells.items():
                    _, low, high = values[_ours(metric)]
                    inside += low - rounding(text) <= number(text) <= high + rounding(text)
                why = _why_undecided(document, name, group, model)
                recall, precision = (_interval(Estimate(*values[metric]), ".4f") for metric in ("recall@10", "map"))
                yield Finding(
                    "printed-accuracy",
                    f"{MODELS[model]} has a Rec@10 of {cells['recall@10']} and a MAP of {cells['map']} on "
                    f"{DATA_SETS[name]}.",
                    "table 2",
                    UNDECIDED if why else "agrees" if inside == len(cells) else "contradicts",
                    f"{title}, {GROUPS[group_name]}: {inside} of six printed values lie in our intervals; recall@10 is "
                    f"{recall}, MAP {precision}. {why}".strip(),
                    name,
                )


def _auc_column(_document: Document) -> Iterator[Finding]:
    """Decided by the paper's own numbers."""
    gaps = []
    for name in DATA_SETS:
        for model in MODELS:
            cells = {metric: number(text) for metric, text in printed(name, model).items()}
            gaps.append(abs(cells["auc"] - 0.5 - cells["recall@10"] / 2.0))
    yield Finding(
        "auc-column",
        "AUC takes the full ranking into account.",
        "section 4, evaluation metrics",
        "contradicts" if max(gaps) < 0.01 else "agrees",
        f"In all nine rows of table 2 AUC is 0.5 + Rec@10 / 2, up to {max(gaps):.4f}: it is the AUC of the first ten "
        "labels, auc@10 here.",
    )


def _cost_in_labels(document: Document) -> Iterator[Finding]:
    """Compared with a step of Opt-AUC, so that caches, which grow too small for both, cancel."""
    if not document["cost"]:
        return
    grid = Grid(**document["grid"])
    relative = relative_growth(document["cost"], "vse-ens", "opt-auc", "labels", grid)
    own = growth(document["cost"], "vse-ens", "labels", grid)
    outcome: Outcome = "contradicts" if relative.low > 0 else "agrees"
    if relative.high - relative.low > _EXPONENT_WIDTH:
        outcome = UNDECIDED
    yield Finding(
        "cost-in-labels",
        "The cost of a step of VSE-ens does not depend on the number of labels: O(2k).",
        "table 3",
        outcome,
        f"Relative to a step of Opt-AUC it grows as |A|^{relative.value:+.3f} ({relative.low:+.3f} to "
        f"{relative.high:+.3f}), alone as |A|^{own.value:+.3f}, refreshes included.",
    )


def _cost_ratio(document: Document) -> Iterator[Finding]:
    if not document["cost"]:
        return
    grid = Grid(**document["grid"])
    both = zip(
        series(document["cost"], "vse-ens", "dimensions", grid),
        series(document["cost"], "opt-auc", "dimensions", grid),
        strict=True,
    )
    ratio = Estimate.of_seeds([first / second for (_, first), (_, second) in both])
    outcome: Outcome = "agrees" if ratio.low <= 2.0 <= ratio.high else "contradicts"
    if ratio.low == -float("inf"):
        outcome = UNDECIDED
    elif ratio.high < 2.0:
        outcome = "agrees"
    yield Finding(
        "cost-ratio",
        "A step of VSE-ens costs twice a step of Opt-AUC: O(2k) against O(k).",
        "table 3",
        outcome,
        f"The ratio is {_interval(ratio)} over k = {', '.join(f'{k:g}' for k in grid.dimensions)} at "
        f"{grid.at_labels:,} labels.",
    )


def _faster_than_opt_auc(document: Document) -> Iterator[Finding]:
    for name, title in _each(document):
        found = protocol_group(document, name)
        if found is None:
            continue
        group_name, group = found
        ratio = speed_ratio(group, "opt-auc")
        why = _why_undecided(document, name, group, "opt-auc", "vse-ens")
        outcome: Outcome = UNDECIDED
        if not why:
            outcome = "agrees" if ratio.low > 1.0 else "contradicts" if ratio.high < 1.0 else UNDECIDED
        yield Finding(
            "faster-than-opt-auc",
            f"VSE-ens takes less time than Opt-AUC on {DATA_SETS[name]}.",
            "table 4",
            outcome,
            f"{title}, {GROUPS[group_name]}: Opt-AUC takes {_interval(ratio)} times the CPU time of VSE-ens. "
            f"{why}".strip(),
            name,
        )


def _convergence(document: Document) -> Iterator[Finding]:
    for name, title in _each(document):
        found = protocol_group(document, name)
        if found is None:
            continue
        group_name, group = found
        for model, iterations in ITERATIONS.items():
            points = group["models"][model]["runs"][0]["points"]
            if len(points) < 2 or points[-1][2] <= 0:
                continue
            earlier = max((point for point in points if point[0] <= 0.75 * points[-1][0]), default=points[0])
            change = points[-1][2] / max(earlier[2], 1e-12) - 1.0
            why = _why_undecided(document, name, group, model)
            yield Finding(
                "convergence",
                f"{MODELS[model]} converges at about {iterations} iterations.",
                PAPER["convergence"]["source"],
                UNDECIDED if why else "agrees" if abs(change) <= _CONVERGED else "contradicts",
                f"{title}, {GROUPS[group_name]}: recall@10 changes by {change:+.1%} from iteration {earlier[0]} to "
                f"{points[-1][0]}. {why}".strip(),
                name,
            )
