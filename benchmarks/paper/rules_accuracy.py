"""Statements on accuracy, on what the sampler draws, and on the data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from benchmarks.paper.data_sets import COUNTS
from benchmarks.paper.findings import Document, Finding, doubt, doubt_about_data, each, groups_of, settled
from benchmarks.paper.judge import (
    AGREES,
    CONTRADICTS,
    UNDECIDED,
    Estimate,
    Outcome,
    all_of,
    better,
    equal,
    not_worse,
)
from benchmarks.paper.numbers import DATA_SETS, METRICS, MODELS, PAPER, number, printed, rounding

# Differences that do not matter: another processor alone changes recall@10 by 0.004.
MARGINS = {
    "precision@5": 0.001,
    "recall@5": 0.005,
    "precision@10": 0.0005,
    "recall@10": 0.005,
    "map": 0.005,
    "auc": 0.0025,
}
# A printed value is reproduced if ours lies within this many margins of it.
_PRINTED_MARGINS = 2.0
# Two samplers are equivalent if this share of the probability, at most, is elsewhere.
_VARIATION = 0.05
# Images, and points of the training, that the comparison of samplers needs.
_MIN_IMAGES, _MIN_POINTS = 100, 5


# --- what the sampler draws ---


def _observed(document: Document) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """Yield the data sets on which the samplers were compared, with what was seen while VSE-ens trained."""
    for name, title in each(document):
        run = document["runs"].get(name, {}).get("samplers", {}).get("models", {}).get("vse-ens")
        if run is not None and run.get("equivalence"):
            yield name, title, run["equivalence"]


def rank_invariance(document: Document) -> Iterator[Finding]:
    """Every label of every image must have the same rank, at every point of the training."""
    for name, title, rows in _observed(document):
        same = sum(row["same_ranking"] for row in rows)
        why = doubt_about_data(document, name)
        if not why and (len(rows) < _MIN_POINTS or rows[-1]["images"] < _MIN_IMAGES):
            why = f"Fewer than {_MIN_POINTS} points of the training, or {_MIN_IMAGES} images."
        yield Finding(
            "rank-invariance",
            f"The transformed score s* ranks labels as the score s does ({DATA_SETS[name]}).",
            "section 3, eq. 6 to 8",
            UNDECIDED if why else AGREES if same == len(rows) else CONTRADICTS,
            f"{title}: the rankings of {rows[0]['images']} images are the same at {same} of {len(rows)} points of the "
            f"training. {why}".strip(),
            name,
        )


def equivalence(document: Document) -> Iterator[Finding]:
    """Equivalent samplers have a total variation of 0, here up to a margin, after the last iteration."""
    for name, title, rows in _observed(document):
        last = rows[-1]
        distance, error = (last[key]["vse-ens to naive"] for key in ("total_variation", "standard_error"))
        estimate = Estimate(distance, distance - 1.96 * error, distance + 1.96 * error)
        ranks = last["mean_rank"]
        why = doubt_about_data(document, name)
        if not why and last["images"] < _MIN_IMAGES:
            why = f"Fewer than {_MIN_IMAGES} images."
        yield Finding(
            "equivalence",
            f"The sampling is equivalent to sampling by the inner product ({DATA_SETS[name]}).",
            "section 1, contributions; section 3",
            UNDECIDED if why else equal(estimate, -math.inf, _VARIATION),
            f"{title}, after {last['iteration']} iterations: the total variation between VSE-ens and the naive sampler "
            f"is {estimate.text('.3f')}, averaged over {last['images']} images; at most {_VARIATION:g} counts as "
            f"equivalent. The mean rank of a drawn label is {ranks['vse-ens']:.0f}, against {ranks['naive']:.0f} with "
            f"the naive and {ranks['uniform']:.0f} with the uniform sampler. {why}".strip(),
            name,
        )


def comparable(document: Document) -> Iterator[Finding]:
    """Recall@10 may be below that of the naive sampler by the margin at most."""
    for name, title in each(document):
        group = document["runs"].get(name, {}).get("samplers")
        difference = group and group["differences"].get("vse-ens - naive")
        if not group or not difference:
            continue
        lead = Estimate(*difference["recall@10"])
        why = doubt(document, name, group, "vse-ens", "naive")
        yield Finding(
            "comparable-accuracy",
            f"The accuracy is comparable to or better than with sampling by the inner product on {DATA_SETS[name]}.",
            "section 1, contributions",
            UNDECIDED if why else not_worse(lead, MARGINS["recall@10"]),
            f"{title}, same settings (λ = 0.1) and draws: recall@10 is {lead.text('+.4f')} compared with the naive "
            f"sampler; {MARGINS['recall@10']:g} less would be comparable. {why}".strip(),
            name,
        )


# --- data ---


def sizes(document: Document) -> Iterator[Finding]:
    """A file with the images and labels of table 1 must have its pairs as well; another file decides nothing."""
    for name, title in each(document):
        described, paper = document["data_sets"][name], PAPER["table1"][name]
        other = [count for count in COUNTS if described[count] != paper[count]]
        why = doubt_about_data(document, name)
        evidence = ", ".join(f"{count} {described[count]:,} (paper {paper[count]:,})" for count in other)
        yield Finding(
            "sizes",
            f"Table 1 describes {DATA_SETS[name]}.",
            "table 1",
            UNDECIDED if why else CONTRADICTS if other else AGREES,
            f"{title}: {evidence or 'all four counts are as in table 1'}. {why}".strip(),
            name,
        )


def labels_per_image(document: Document) -> Iterator[Finding]:
    """The number in the text, against the file."""
    for name, title in each(document):
        stated = PAPER["table1"]["labels_per_image"].get(name)
        if stated is None:
            continue
        described = document["data_sets"][name]
        found = (described["train"] + described["test"]) / described["images"]
        why = doubt_about_data(document, name)
        agrees = abs(found - number(stated)) <= rounding(stated)
        yield Finding(
            "labels-per-image",
            f"An image of {DATA_SETS[name]} has {stated} labels on average.",
            "section 4, datasets",
            UNDECIDED if why else AGREES if agrees else CONTRADICTS,
            f"{title}: {found:.2f}. {why}".strip(),
            name,
        )


# --- accuracy ---


def _compared(
    document: Document, key: str, statement: str, source: str, pairs: tuple[tuple[str, str], ...]
) -> Iterator[Finding]:
    """Compare models in all six metrics, each of which must be ahead; a tie within its margin is not."""
    for name, title in each(document):
        groups = []
        found = [*groups_of(document, name), *_sampler_group(document, name, pairs)]
        for group_name, group in found:
            leads = {}
            for first, second in pairs:
                difference = group["differences"].get(f"{first} - {second}")
                if difference is not None:
                    leads.update({(second, metric): Estimate(*difference[_ours(metric)]) for metric in METRICS})
            models = sorted({model for pair in pairs for model in pair})
            if not leads and all(model in group["models"] for model in models):  # a training diverged
                groups.append((group_name, UNDECIDED, doubt(document, name, group, *models)))
            if not leads:
                continue
            outcomes = {at: better(lead, MARGINS[at[1]]) for at, lead in leads.items()}
            why = doubt(document, name, group, *models)
            outcome: Outcome = UNDECIDED if why else all_of(outcomes.values())
            # The comparison that decides: the worst of those with the outcome, before any doubt.
            plain = all_of(outcomes.values())
            deciding = {at: lead for at, lead in leads.items() if outcomes[at] == plain}
            (rival, metric), lead = min(deciding.items(), key=lambda one: one[1].mean / MARGINS[one[0][1]])
            won, lost = (sum(one == end for one in outcomes.values()) for end in (AGREES, CONTRADICTS))
            rival_name = MODELS.get(rival, f"the {rival} sampler")
            text = (
                f"{title}: ahead in {won} of {len(leads)} comparisons, behind or equal in {lost}. Decisive: {metric} "
                f"{lead.text('+.4f')} against {rival_name}. {why}"
            )
            groups.append((group_name, outcome, text.strip()))
        yield from settled(key, statement.format(data_set=DATA_SETS[name]), source, groups, name)


def _sampler_group(
    document: Document, name: str, pairs: tuple[tuple[str, str], ...]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the trainings with λ = 0.1 and each sampler, where the pairs are compared there and not in table 2."""
    group = document["runs"].get(name, {}).get("samplers")
    if group and any(f"{first} - {second}" in group["differences"] for first, second in pairs):
        yield "deviation", group


def _ours(metric: str) -> str:
    return "auc@10" if metric == "auc" else metric


def best_of_three(document: Document) -> Iterator[Finding]:
    """Ahead of both rivals."""
    statement = "VSE-ens is better than WARP and Opt-AUC in all six metrics on {data_set}."
    pairs = (("vse-ens", "warp"), ("vse-ens", "opt-auc"))
    yield from _compared(document, "best-of-three", statement, "table 2", pairs)


def above_warp(document: Document) -> Iterator[Finding]:
    """Ahead of WARP alone."""
    statement = "VSE-ens is better than WARP in all six metrics on {data_set}."
    yield from _compared(document, "above-warp", statement, "table 2", (("vse-ens", "warp"),))


def warp_above_opt_auc(document: Document) -> Iterator[Finding]:
    """The order of the rivals."""
    statement = "WARP is a stronger baseline than Opt-AUC on {data_set}."
    source = "section 4, comparison in ranking accuracy"
    yield from _compared(document, "warp-above-opt-auc", statement, source, (("warp", "opt-auc"),))


def adaptive_above_uniform(document: Document) -> Iterator[Finding]:
    """The same loss, settings and number of draws, with the negatives drawn adaptively and uniformly."""
    statement = "Adaptive negatives are more effective than uniform ones on {data_set}."
    source = "section 4, comparison in ranking accuracy"
    yield from _compared(document, "adaptive-above-uniform", statement, source, (("vse-ens", "uniform"),))


def printed_values(document: Document) -> Iterator[Finding]:
    """All six printed values of a model must be ours, up to a margin."""
    for name, title in each(document):
        for model in MODELS:
            cells, groups = printed(name, model), []
            for group_name, group in groups_of(document, name):
                values = {metric: Estimate(*group["models"][model]["accuracy"][_ours(metric)]) for metric in METRICS}
                outcomes = []
                for metric, text in cells.items():
                    margin = _PRINTED_MARGINS * MARGINS[metric] + rounding(text)
                    outcomes.append(equal(values[metric], number(text) - margin, number(text) + margin))
                why = doubt(document, name, group, model)
                recall, precision = (values[metric].text(".4f") for metric in ("recall@10", "map"))
                evidence = (
                    f"{title}: {outcomes.count(AGREES)} of six printed values are ours, up to the margin; recall@10 is "
                    f"{recall}, MAP {precision}. {why}"
                )
                groups.append((group_name, UNDECIDED if why else all_of(outcomes), evidence.strip()))
            values_in_words = f"a Rec@10 of {cells['recall@10']} and a MAP of {cells['map']}"
            statement = f"{MODELS[model]} has {values_in_words} on {DATA_SETS[name]}."
            yield from settled("printed-accuracy", statement, "table 2", groups, name)
