"""What agrees with the paper and what does not, in sentences made from the numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from vse_ens.experiments.paper.data_sets import titles
from vse_ens.experiments.paper.draws import Grid, growth
from vse_ens.experiments.paper.learning_curve import time_to
from vse_ens.experiments.paper.numbers import COMPLEXITY, MODELS
from vse_ens.experiments.paper.training import (
    SETTINGS,
    best_of,
    common_level,
    converged,
    curve,
    preset_of,
    still_rising,
    tries,
)

Verdict = Literal["agrees", "contradicts", "unclear", "beside"]

# What the paper says grows or does not, and how far a measured exponent may be from it.
_STATED_GROWTH = {"uniform": 0.0, "vse-ens": 0.0, "naive": 1.0}
_GROWTH_TOLERANCE = 0.25
# A speed-up a fifth below the stated one is still the same.
_SPEED_TOLERANCE = 0.2


@dataclass(frozen=True)
class Finding:
    """One sentence or two, and how it stands to the paper."""

    verdict: Verdict
    text: str
    generated: bool = False
    """Whether it was found on generated data, and so says little about the paper's."""


def findings(document: dict[str, Any]) -> list[Finding]:
    """All that can be said of what is done so far."""
    return [
        *_accuracy(document),
        *_beside_the_paper(document),
        *_speed(document),
        *_area(document),
        *_cost(document),
        *_search(document),
    ]


def runs_of(document: dict[str, Any], data_set: str, settings: str) -> dict[str, Any]:
    """The runs of a data set with the paper's settings or ours, by model, as far as they are done."""
    done = document["models"][data_set]
    return {model: done[preset_of(settings, model)] for model in MODELS if preset_of(settings, model) in done}


def improvement(runs: dict[str, Any], metric: str) -> float | None:
    """By what share VSE-ens is better than the better of its two rivals."""
    if len(runs) < len(MODELS):
        return None
    rival = max(run["metrics"][metric] for model, run in runs.items() if model != "vse-ens")
    return float(runs["vse-ens"]["metrics"][metric] / rival - 1.0) if rival > 0 else None


def speed_ups(runs: dict[str, Any]) -> tuple[float, float] | None:
    """How many times longer WARP trains than VSE-ens: to near its own best, and to a level all three reach."""
    if len(runs) < len(MODELS):
        return None
    own = converged(runs["warp"]).seconds / converged(runs["vse-ens"]).seconds
    level = common_level(list(runs.values()))
    both = [time_to(curve(runs[model]), level) for model in ("warp", "vse-ens")]
    return own, both[0].seconds / both[1].seconds if both[0] and both[1] else float("nan")


def _each(document: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Data sets and settings whose three models are all done: name, title, settings, runs."""
    for name, title in titles(document["data_sets"]).items():
        for settings in SETTINGS:
            runs = runs_of(document, name, settings)
            if len(runs) == len(MODELS):
                yield name, title, settings, runs


def _accuracy(document: dict[str, Any]) -> Iterator[Finding]:
    for name, title, settings, runs in _each(document):
        generated = document["data_sets"][name]["generated"]
        order = sorted(runs, key=lambda model: runs[model]["metrics"]["recall@10"], reverse=True)
        figures = ", ".join(f"{MODELS[model]} {runs[model]['metrics']['recall@10']:.3f}" for model in order)
        first, second = order[:2]
        apart = runs[first]["intervals"]["recall@10"][0] > runs[second]["intervals"]["recall@10"][1]
        head = f"{title}, {SETTINGS[settings]}: recall@10 is {figures}."
        if not apart:
            text = f"{head} The intervals of the first two overlap: neither is shown to be better."
            yield Finding("unclear", text, generated)
        elif first == "vse-ens":
            gain = improvement(runs, "recall@10") or 0.0
            text = f"{head} VSE-ens is {gain:.1%} better than its better rival; the paper too has it first."
            yield Finding("agrees", text, generated)
        else:
            loss = 1.0 - runs["vse-ens"]["metrics"]["recall@10"] / runs[first]["metrics"]["recall@10"]
            yield Finding(
                "contradicts",
                f"{head} The paper says VSE-ens is the best of the three; here {MODELS[first]} is, and VSE-ens is "
                f"{loss:.1%} below it.",
                generated,
            )


def _beside_the_paper(document: dict[str, Any]) -> Iterator[Finding]:
    """Cells of table 2 that the paper fills too; only real data can be compared."""
    for name, models in document["paper"]["table2"].items():
        described = document["data_sets"].get(name)
        if described is None or described["generated"]:
            continue
        for model, cells in models.items():
            run = runs_of(document, name, "paper").get(model)
            if run is None or "recall@10" not in cells:
                continue
            ours, stated = run["metrics"]["recall@10"], cells["recall@10"]
            low, high = run["intervals"]["recall@10"]
            same = low <= stated <= high
            yield Finding(
                "agrees" if same else "contradicts",
                f"{described['title']}: the paper reports a recall@10 of {stated:.3f} for {MODELS[model]}; with its "
                f"settings, as far as they are known, we measure {ours:.3f} ({low:.3f} to {high:.3f}), "
                + ("which is the same." if same else f"{abs(ours / stated - 1):.0%} {_more(ours > stated)}."),
            )


def _speed(document: dict[str, Any]) -> Iterator[Finding]:
    for name, title, settings, runs in _each(document):
        own, common = speed_ups(runs) or (float("nan"), float("nan"))
        level = common_level(list(runs.values()))
        text = (
            f"{title}, {SETTINGS[settings]}: to come within 1 % of its own best, WARP trains {own:.2f} times as long "
            f"as VSE-ens; to reach a recall@10 of {level:.3f}, as all three do, {common:.2f} times as long."
        )
        stated = document["paper"]["speed_up"].get(name)
        rising = [MODELS[model] for model in ("vse-ens", "warp") if still_rising(runs[model])]
        if rising:
            text += f" {' and '.join(rising)} still rose when training ended, so the first figure is not settled."
        if stated is None:
            yield Finding("beside", text, document["data_sets"][name]["generated"])
            continue
        fast = own >= stated * (1 - _SPEED_TOLERANCE)
        # Where WARP alone had more to come, it would take still longer: the figure is a lower bound.
        settled = not rising or (fast and rising == [MODELS["warp"]])
        verdict: Verdict = "unclear" if not settled else "agrees" if fast else "contradicts"
        text += f" In the paper it is {stated:g} times."
        yield Finding(verdict, text, document["data_sets"][name]["generated"])


def _area(document: dict[str, Any]) -> Iterator[Finding]:
    """The paper's AUC column."""
    found = [run["metrics"] for _, _, _, runs in _each(document) for run in runs.values()]
    if not found:
        return
    gap = max(abs(one["auc@10"] - 0.5 - one["recall@10"] / 2) for one in found)
    far = max(one["auc"] - one["auc@10"] for one in found)
    yield Finding(
        "beside",
        "The paper's AUC column equals 0.5 + Rec@10/2 on its two larger data sets: it can only have been computed over "
        f"the first ten labels. Our auc@10, computed so, is within {gap:.3f} of that in every run; the AUC of the full "
        f"ranking is up to {far:.3f} higher.",
    )


def _cost(document: dict[str, Any]) -> Iterator[Finding]:
    if not document["draws"]:
        return
    grid = Grid(**document["grid"])
    for sampler, stated in _STATED_GROWTH.items():
        found = growth(document["draws"], sampler, "labels", grid)
        fits = abs(found - stated) <= _GROWTH_TOLERANCE
        yield Finding(
            "agrees" if fits else "contradicts",
            f"A step of {sampler} costs about |A|^{found:.2f} as labels grow from {min(grid.labels):,} to "
            f"{max(grid.labels):,}; by the paper, {COMPLEXITY[sampler]}, it "
            + ("should." if fits else f"should cost |A|^{stated:g}."),
        )
    costs = {one["sampler"]: one for one in document["draws"] if _at_the_end(one, grid)}
    if {"warp", "vse-ens", "uniform"} <= costs.keys():
        cheap, ours, dear = (costs[name]["nanoseconds"] for name in ("uniform", "vse-ens", "warp"))
        yield Finding(
            "agrees" if dear > ours else "contradicts",
            f"At {max(grid.labels):,} labels a step of VSE-ens takes {ours:,.0f} ns, {ours / cheap:.1f} times one with "
            f"a uniform draw; one of WARP takes {dear:,.0f} ns, for it looks at {costs['warp']['tries']:,.0f} labels.",
        )


def _at_the_end(one: dict[str, Any], grid: Grid) -> bool:
    return bool(one["labels"] == max(grid.labels) and one["dimensions"] == grid.at_dimensions)


def _search(document: dict[str, Any]) -> Iterator[Finding]:
    """Figure 1."""
    for name, title in titles(document["data_sets"]).items():
        run = runs_of(document, name, "paper").get("warp")
        if run is None:
            continue
        found = tries(run)
        share = run["epochs"][-1]["given_up"] / run["epochs"][-1]["draws"]
        best, last = best_of(run), curve(run)[-1]
        yield Finding(
            "agrees" if found[-1] > 2 * found[0] else "contradicts",
            f"{title}: WARP with the paper's settings looks at {found[0]:,.1f} labels for a step in its first epoch "
            f"and at {found[-1]:,.1f} in its last, where {share:.0%} of the searches find no violating label. Its "
            f"recall@10 is {best.recall:.3f} at best, in epoch {best.epoch}, and {last.recall:.3f} at the end.",
            document["data_sets"][name]["generated"],
        )


def _more(more: bool) -> str:
    return "more" if more else "less"
