"""Findings: sentences generated from the results that say what agrees with the paper and what contradicts it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from vse_ens.experiments.paper.data_sets import marked_titles
from vse_ens.experiments.paper.draws import Grid, growth
from vse_ens.experiments.paper.learning_curve import first_reaching
from vse_ens.experiments.paper.numbers import COMPLEXITY, MODELS
from vse_ens.experiments.paper.training import (
    SETTINGS,
    best_point,
    common_level,
    convergence_point,
    curve_points,
    preset_name,
    still_rising,
    tries_per_draw,
)

Verdict = Literal["agrees", "contradicts", "unclear", "note"]

# Exponents of the growth with |A| that the paper states, and the tolerance for a measured exponent.
_STATED_GROWTH = {"uniform": 0.0, "vse-ens": 0.0, "naive": 1.0}
_GROWTH_TOLERANCE = 0.25
# A speed-up agrees if it is at most this fraction below the stated one.
_SPEED_TOLERANCE = 0.2


@dataclass(frozen=True)
class Finding:
    """One or two sentences, with a verdict on the paper."""

    verdict: Verdict
    text: str
    generated: bool = False
    """Whether it is based on synthetic data, and so is no evidence about the paper's data."""


def findings_of(document: dict[str, Any]) -> list[Finding]:
    """Return the findings on all results so far."""
    return [
        *_accuracy(document),
        *_accuracy_of_paper(document),
        *_speed(document),
        *_auc(document),
        *_cost(document),
        *_warp_search(document),
    ]


def completed_runs(document: dict[str, Any], data_set: str, settings: str) -> dict[str, Any]:
    """Return the completed runs on a data set with the paper's settings or ours, by model."""
    done = document["models"][data_set]
    return {model: done[preset_name(settings, model)] for model in MODELS if preset_name(settings, model) in done}


def improvement(runs: dict[str, Any], metric: str) -> float | None:
    """Return the relative improvement of VSE-ens over the better of the other two models."""
    if len(runs) < len(MODELS):
        return None
    other = max(run["metrics"][metric] for model, run in runs.items() if model != "vse-ens")
    return float(runs["vse-ens"]["metrics"][metric] / other - 1.0) if other > 0 else None


def speed_ups(runs: dict[str, Any]) -> tuple[float, float] | None:
    """Return training time of WARP / VSE-ens: to convergence, and to a level that all three models reach."""
    if len(runs) < len(MODELS):
        return None
    converged = convergence_point(runs["warp"]).seconds / convergence_point(runs["vse-ens"]).seconds
    level = common_level(list(runs.values()))
    warp, vse_ens = (first_reaching(curve_points(runs[model]), level) for model in ("warp", "vse-ens"))
    return converged, warp.seconds / vse_ens.seconds if warp and vse_ens else float("nan")


def _complete(document: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield (name, title, settings, runs) for data sets and settings with all three models."""
    for name, title in marked_titles(document["data_sets"]).items():
        for settings in SETTINGS:
            runs = completed_runs(document, name, settings)
            if len(runs) == len(MODELS):
                yield name, title, settings, runs


def _accuracy(document: dict[str, Any]) -> Iterator[Finding]:
    for name, title, settings, runs in _complete(document):
        generated = document["data_sets"][name]["generated"]
        order = sorted(runs, key=lambda model: runs[model]["metrics"]["recall@10"], reverse=True)
        values = ", ".join(f"{MODELS[model]} {runs[model]['metrics']['recall@10']:.3f}" for model in order)
        first, second = order[:2]
        separate = runs[first]["intervals"]["recall@10"][0] > runs[second]["intervals"]["recall@10"][1]
        start = f"{title}, {SETTINGS[settings]}: recall@10 is {values}."
        if not separate:
            text = f"{start} The intervals of the first two overlap, so neither is shown to be better."
            yield Finding("unclear", text, generated)
        elif first == "vse-ens":
            gain = improvement(runs, "recall@10") or 0.0
            text = f"{start} VSE-ens is {gain:.1%} better than the next model; it is first in the paper as well."
            yield Finding("agrees", text, generated)
        else:
            loss = 1.0 - runs["vse-ens"]["metrics"]["recall@10"] / runs[first]["metrics"]["recall@10"]
            yield Finding(
                "contradicts",
                f"{start} In the paper VSE-ens is the best of the three; here {MODELS[first]} is, and VSE-ens is "
                f"{loss:.1%} below it.",
                generated,
            )


def _accuracy_of_paper(document: dict[str, Any]) -> Iterator[Finding]:
    """Compare with the known cells of the paper's table 2, on real data only."""
    for name, models in document["paper"]["table2"].items():
        described = document["data_sets"].get(name)
        if described is None or described["generated"]:
            continue
        for model, cells in models.items():
            run = completed_runs(document, name, "paper").get(model)
            if run is None or "recall@10" not in cells:
                continue
            ours, stated = run["metrics"]["recall@10"], cells["recall@10"]
            low, high = run["intervals"]["recall@10"]
            inside = low <= stated <= high
            difference = f"{abs(ours / stated - 1):.0%} {'more' if ours > stated else 'less'}"
            yield Finding(
                "agrees" if inside else "contradicts",
                f"{described['title']}: the paper reports a recall@10 of {stated:.3f} for {MODELS[model]}. With its "
                f"settings, as far as they are known, we measure {ours:.3f} ({low:.3f} to {high:.3f}), "
                + ("an interval that includes the paper's value." if inside else f"{difference}."),
            )


def _speed(document: dict[str, Any]) -> Iterator[Finding]:
    for name, title, settings, runs in _complete(document):
        converged, common = speed_ups(runs) or (float("nan"), float("nan"))
        level = common_level(list(runs.values()))
        text = (
            f"{title}, {SETTINGS[settings]}: WARP trains {converged:.2f} times as long as VSE-ens to come within 1 % "
            f"of its own best, and {common:.2f} times as long to reach a recall@10 of {level:.3f}, which all three "
            "models reach."
        )
        stated = document["paper"]["speed_up"].get(name)
        rising = [MODELS[model] for model in ("vse-ens", "warp") if still_rising(runs[model])]
        if rising:
            text += f" {' and '.join(rising)} still improved when training ended, so the first ratio may change."
        if stated is None:
            yield Finding("note", text, document["data_sets"][name]["generated"])
            continue
        fast = converged >= stated * (1 - _SPEED_TOLERANCE)
        # If only WARP still improved, it would take even longer to converge: the ratio is a lower bound.
        settled = not rising or (fast and rising == [MODELS["warp"]])
        verdict: Verdict = "unclear" if not settled else "agrees" if fast else "contradicts"
        text += f" The paper states {stated:g} times."
        yield Finding(verdict, text, document["data_sets"][name]["generated"])


def _auc(document: dict[str, Any]) -> Iterator[Finding]:
    """Explain the paper's AUC column."""
    metrics = [run["metrics"] for _, _, _, runs in _complete(document) for run in runs.values()]
    if not metrics:
        return
    gap = max(abs(one["auc@10"] - 0.5 - one["recall@10"] / 2) for one in metrics)
    excess = max(one["auc"] - one["auc@10"] for one in metrics)
    yield Finding(
        "note",
        "The paper's AUC column equals 0.5 + Rec@10/2 on its two larger data sets, so it must have been computed over "
        f"the first ten labels. Our auc@10, computed that way, is within {gap:.3f} of this value in every run. The AUC "
        f"of the full ranking is up to {excess:.3f} higher.",
    )


def _cost(document: dict[str, Any]) -> Iterator[Finding]:
    if not document["draws"]:
        return
    grid = Grid(**document["grid"])
    for sampler, stated in _STATED_GROWTH.items():
        measured = growth(document["draws"], sampler, "labels", grid)
        fits = abs(measured - stated) <= _GROWTH_TOLERANCE
        yield Finding(
            "agrees" if fits else "contradicts",
            f"The cost of a step of {sampler} grows as |A|^{measured:.2f} from {min(grid.labels):,} to "
            f"{max(grid.labels):,} labels. The paper states {COMPLEXITY[sampler]}, which is |A|^{stated:g}.",
        )
    costs = {
        one["sampler"]: one
        for one in document["draws"]
        if one["labels"] == max(grid.labels) and one["dimensions"] == grid.at_dimensions
    }
    if {"warp", "vse-ens", "uniform"} <= costs.keys():
        uniform, vse_ens, warp = (costs[name]["nanoseconds"] for name in ("uniform", "vse-ens", "warp"))
        yield Finding(
            "agrees" if warp > vse_ens else "contradicts",
            f"With {max(grid.labels):,} labels a step of VSE-ens takes {vse_ens:,.0f} ns, {vse_ens / uniform:.1f} "
            f"times a step with a uniform draw. A step of WARP takes {warp:,.0f} ns and examines "
            f"{costs['warp']['tries']:,.0f} labels.",
        )


def _warp_search(document: dict[str, Any]) -> Iterator[Finding]:
    """Summarise figure 1."""
    for name, title in marked_titles(document["data_sets"]).items():
        run = completed_runs(document, name, "paper").get("warp")
        if run is None:
            continue
        tries = tries_per_draw(run)
        given_up = run["epochs"][-1]["given_up"] / run["epochs"][-1]["draws"]
        best, last = best_point(run), curve_points(run)[-1]
        yield Finding(
            "agrees" if tries[-1] > 2 * tries[0] else "contradicts",
            f"{title}: WARP with the paper's settings examines {tries[0]:,.1f} labels per step in its first epoch and "
            f"{tries[-1]:,.1f} in its last, where {given_up:.0%} of the searches find no violating label. Its "
            f"recall@10 is {best.recall:.3f} at best, in epoch {best.epoch}, and {last.recall:.3f} at the end.",
            document["data_sets"][name]["generated"],
        )
