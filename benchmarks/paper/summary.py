"""The paragraph at the top of docs/paper-numbers.md, written from the report."""

from __future__ import annotations

from typing import Any

from benchmarks.paper.findings import Document, doubt_about_data, groups_of, runs_of, timed
from benchmarks.paper.judge import Estimate
from benchmarks.paper.numbers import DATA_SETS, MODELS, PAPER
from benchmarks.paper.page import counts
from benchmarks.paper.rules_time import catch_up_ratio, convergence_ratio


def summary(document: Document) -> str:
    """Return what a reader of the paper would quote."""
    counted = list(counts(document).values())
    seeds = document["seeds"]
    outcomes = f"{counted[0]} agree, {counted[1]} are contradicted, {counted[2]} cannot be decided here"
    parts = [
        f"Of {sum(counted)} statements of the paper, tested with its algorithm, iterations and tuning, {outcomes}."
    ]
    for name in document["data_sets"]:
        groups = dict(groups_of(document, name))
        if doubt_about_data(document, name) or "tuned" not in groups:
            continue
        parts.append(_accuracy(groups, DATA_SETS[name], seeds))
        parts.append(_convergence(groups.get("early", groups["tuned"]), PAPER["abstract"]["speed_up"][name]))
        parts += _sampler(document["runs"][name], groups)
    return " ".join(parts)


def _accuracy(groups: dict[str, Any], title: str, seeds: int) -> str:
    def recall(group: str, model: str) -> str:
        return f"{groups[group]['models'][model]['accuracy']['recall@10'][0]:.3f}"

    last = ", ".join(f"{text} {recall('tuned', model)}" for model, text in MODELS.items())
    text = f"On {title} ({seeds} seeds, settings tuned) recall@10 after the last iteration is {last}"
    if "early" in groups:
        text += "; stopped at the best iteration, " + ", ".join(
            f"{name} {recall('early', model)}" for model, name in MODELS.items()
        )
    return text + "."


def _convergence(group: dict[str, Any], stated: str) -> str:
    measured = [run for both in runs_of(group, "warp", "vse-ens") for run in both]
    own, busy = timed(convergence_ratio(group, "warp", 1), measured)
    caught = catch_up_ratio(group, "warp", 1)
    text = (
        f"WARP takes {own.text()} times the CPU time of VSE-ens to 99 % of its own best accuracy, where the paper says "
        f"{stated}"
    )
    if caught is not None and caught.high > 0:
        text += f", and {timed(caught, measured)[0].text()} times that of VSE-ens to the accuracy of WARP"
    if busy:
        text += ", on a machine with other work, which these intervals allow for"
    auc = convergence_ratio(group, "opt-auc", 0)
    return f"{text}; Opt-AUC takes {auc.text('.1f')} times the iterations of VSE-ens."


def _sampler(runs: dict[str, Any], groups: dict[str, Any]) -> list[str]:
    found = []
    for group, where in (("tuned", "tuned"), ("samplers", "λ = 0.1")):
        lead = (groups.get(group) or runs.get(group, {})).get("differences", {}).get("vse-ens - uniform")
        if lead:
            found.append(f"{Estimate(*lead['recall@10']).text('+.3f')} ({where})")
    text = []
    if found:
        change = " and ".join(found)
        text.append(f"Adaptive negatives change recall@10 by {change} compared with uniform ones in the same training.")
    rows = runs.get("samplers", {}).get("models", {}).get("vse-ens", {}).get("equivalence")
    if rows:
        distance = rows[-1]["total_variation"]["vse-ens to naive"]
        text.append(
            "The transformed score ranks labels as the score does, but the sampler draws from another distribution "
            f"than the rank law on that ranking: the total variation is {distance:.2f}."
        )
    return text
