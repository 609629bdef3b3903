"""Tables 1 to 4 of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.core.markdown import Bullets
from benchmarks.paper import curves
from benchmarks.paper.cost import Exponent, Grid, growth, series
from benchmarks.paper.data_sets import COUNTS, KNOWN_DIFFERENCES, marked_titles
from benchmarks.paper.findings import GROUPS, groups_of
from benchmarks.paper.numbers import (
    DATA_SETS,
    ITERATIONS,
    METRICS,
    MODELS,
    PAPER,
    RIVALS,
    implied_candidates,
    number,
    printed,
)
from benchmarks.paper.rules_time import seconds_of, speed_ratio
from benchmarks.paper.tuning import BEST, TUNING_METRIC, best_candidate, is_at_edge, literal_share
from vse_ens.report.charts import LineChart, Series
from vse_ens.report.html import Block, Paragraph
from vse_ens.report.tables import Cell, Column, Table
from vse_ens.train.sampling import rank_probabilities

Document = dict[str, Any]

_HEADINGS = ("Pre@5", "Rec@5", "Pre@10", "Rec@10", "MAP", "AUC")


def data_blocks(document: Document) -> Iterator[Block]:
    """Yield table 1."""
    rows: list[Sequence[Any]] = []
    titles = marked_titles(document["data_sets"])
    for name, title in titles.items():
        one, paper = document["data_sets"][name], PAPER["table1"][name]
        note = "real data" if not one["generated"] else "synthetic"
        if one["fraction"] < 1.0:
            note += f", {one['fraction']:.0%} of the images and pairs"
        rows.append((Cell(title, note=note), *(Cell(one[count], paper[count]) for count in COUNTS)))
    if rows:
        columns = ("data set", "images", "labels", "train pairs", "test pairs")
        yield Table("One label of every image with several labels is held out (leave-one-out).", columns, rows)
        yield Bullets([f"{DATA_SETS[name]}: {KNOWN_DIFFERENCES[name]}" for name in titles])


_VARIANTS = {
    "laws": "other rank laws, tuned settings",
    "cut": "cut to as many random pairs as table 1 has, tuned settings",
    "java": "what the authors' Java does, at the rates and regularization of its mains",
}
_ROWS = {
    **MODELS,
    "uniform": "VSE-ens with uniform negatives",
    "geometric": "VSE-ens, geometric law",
    "linear": "VSE-ens, linear law",
}


def accuracy_blocks(document: Document) -> Iterator[Block]:
    """Yield table 2."""
    columns: list[str | Column] = ["model", *(Column(heading, ".4f") for heading in _HEADINGS)]
    columns.append(Column("AUC, full ranking", ".4f"))
    for name, title in marked_titles(document["data_sets"]).items():
        for group, text in (GROUPS | _VARIANTS).items():
            found = document["runs"].get(name, {}).get(group)
            if found:
                yield Table(f"{title}, {text}", columns, list(_accuracy_rows(name, found)))
    if document["runs"]:
        seeds = document["seeds"]
        yield Paragraph(
            f"Means over {seeds} seed{'s' if seeds > 1 else ''} on the paper's data, each with a split of its own, and "
            "one on other data. Trainings have the iterations that the paper states; those stopped early end at "
            "the iteration that was best on labels held out of the training part. Intervals (95 %, Student's t) cover "
            "the choice of images and of seeds. Improve: VSE-ens relative to WARP, as in the paper. AUC is auc@10, the "
            "area over the first ten labels, which the paper's column must be; the last column is the AUC of the full "
            "ranking."
        )
    if document["runs"]:
        implied = [implied_candidates("iaprtc12", model) for model in MODELS]
        described = document["data_sets"].get("iaprtc12")
        yield Paragraph(
            "The printed AUC of IAPR-TC12 is very nearly auc@10: if hits lie evenly in ranks 1 to 5 and 6 to 10, its "
            f"three rows imply {min(implied):.0f} to {max(implied):.0f} candidates"
            + (
                f"; an image has {described['labels'] - described['train'] / described['images']:.0f} on average."
                if described
                else "."
            )
        )


def _accuracy_rows(name: str, group: dict[str, Any]) -> Iterator[Sequence[Any]]:
    models = {model: group["models"][model] for model in _ROWS if model in group["models"]}
    for model, found in models.items():
        cells = []
        paper = printed(name, model) if model in MODELS else {}
        for metric in (*METRICS, "full"):
            own = {"auc": "auc@10", "full": "auc"}.get(metric, metric)
            mean, low, high = found["accuracy"][own]
            if any(run["ending"] == "diverged" for run in found["runs"]):
                cells.append(Cell(None, paper.get(metric)))
                continue
            best = len(models) > 1 and mean == max(other["accuracy"][own][0] for other in models.values())
            cells.append(Cell(mean, paper.get(metric), (low, high), best))
        yield Cell(_ROWS[model], note=_settings_text(found)), *cells
    if "vse-ens" in models and "warp" in models:
        paper = printed(name, "improve")
        gains = []
        for metric in (*METRICS, "full"):
            own = {"auc": "auc@10", "full": "auc"}.get(metric, metric)
            first, second = (models[model]["accuracy"][own][0] for model in ("vse-ens", "warp"))
            stated = f"{paper[metric]} %" if metric in paper else None
            gains.append(Cell(f"{100 * (first / second - 1):+.2f} %" if second > 0 else "–", stated))
        yield "Improve", *gains


def convergence_blocks(document: Document) -> Iterator[Block]:
    """Yield the time and the iterations to 99 % of a model's own best, and to the best of the others, by seed."""
    rows: list[Sequence[Any]] = []
    for name, title in marked_titles(document["data_sets"]).items():
        for group_name, group in groups_of(document, name):
            for model in MODELS:
                runs = [run for run in group["models"][model]["runs"] if curves.best(run["points"]) > 0]
                own = [curves.converged(run["points"]) for run in runs]
                cells = [_reached(own)]
                for other in MODELS:
                    levels = [curves.SHARE * curves.best(run["points"]) for run in group["models"][other]["runs"]]
                    found = [curves.reach(run["points"], level) for run, level in zip(runs, levels, strict=False)]
                    cells.append("" if other == model else _reached(found))
                best = ", ".join(f"{curves.best(run['points']):.4f}" for run in runs)
                rows.append((Cell(title, note=GROUPS[group_name]), MODELS[model], best, *cells))
    if rows:
        columns = ["data set", "model", "best recall@10", "99 % of its own best"]
        columns += [f"99 % of {title}'s best" for title in MODELS.values()]
        yield Table("Iterations and CPU seconds to an accuracy, one seed after the other.", columns, rows)
        yield Paragraph(
            "The points of a curve are measured on test labels, every few iterations, and joined by lines. They "
            "decide about time only: no model is chosen by them."
        )


def _reached(found: Sequence[curves.Reached | None]) -> str:
    return "; ".join("never" if one is None else f"{one.iterations:.0f} it., {one.seconds:.2f} s" for one in found)


def _settings_text(model: dict[str, Any]) -> str:
    names = {"learning_rate": "rate", "regularization": "reg.", "rank_scale": "λ"}
    text = ", ".join(f"{names[name]} {value:.4g}" for name, value in model["settings"].items())
    run = model["runs"][0]
    if "stopped_at" in run:
        text += f", stopped at iteration {run['stopped_at']}"
    if run["ending"] != "done":
        text += f"; {run['ending']} after {run['iterations']} iterations"
    return text


def tuning_blocks(document: Document) -> Iterator[Block]:
    """Yield the tuning of all models, for both readings of N(0, 0.01)."""
    for key, reading in (("tuning", "standard deviation 0.01"), ("tuning-variance", "variance 0.01")):
        for name, models in document.get(key, {}).items():
            title = f"{DATA_SETS[name]}, {reading}"
            labels = document["data_sets"][name]["labels"]
            if "vse-ens" in models:
                yield from _lambda_blocks(title, models["vse-ens"], labels)
            for model in RIVALS:
                if model in models:
                    yield _grid_table(title, model, models[model])
            yield from _choices(title, models)
    if document["tuning"]:
        low, high = PAPER["setup"]["rivals"]
        yield Paragraph(
            f"As the paper says: learning rate and regularization of WARP and Opt-AUC from {low} to {high}, λ of "
            f"VSE-ens from {PAPER['setup']['lambda'][0]} to {PAPER['setup']['lambda'][1]}, whose rate and "
            "regularization stay at 0.01. One more label of every image is held out of the training part of the first "
            "split to choose by; its test labels are not looked at."
        )
    elif document["runs"]:
        yield Paragraph("No settings were tuned: only a full run on the paper's data does so.")


def _choices(title: str, models: dict[str, Any]) -> Iterator[Block]:
    """Yield what was chosen by the last and by the best iteration."""
    rows: list[Sequence[Any]] = []
    for model, tried in models.items():
        for by, text in ((TUNING_METRIC, "last"), (BEST, "best")):
            if not all(by in one for one in tried) or not (chosen := best_candidate(tried, by)):
                continue
            settings = ", ".join(f"{key} {value:.4g}" for key, value in chosen["settings"].items())
            at = f"{text}, {chosen['best_iteration']}" if by == BEST else text
            edge = "yes" if is_at_edge(model, chosen["settings"]) else "no"
            rows.append((MODELS[model], at, settings, chosen[by], len(tried), edge))
    columns: list[str | Column] = ["model", "by the iteration", "chosen", Column("recall@10", ".4f")]
    columns += ["settings tried", "at the edge of its range"]
    yield Table(f"{title}: settings chosen on labels held out of the training part.", columns, rows)


def _lambda_blocks(title: str, tried: Sequence[dict[str, Any]], labels: int) -> Iterator[Block]:
    ordered = sorted(tried, key=lambda one: one["settings"]["rank_scale"])
    best = best_candidate(tried)
    rows: list[Sequence[Any]] = []
    for one in ordered:
        share = one["settings"]["rank_scale"]
        literal = share == literal_share(labels)
        note = "λ = 1 as printed, a number of ranks" if literal else ""
        rows.append(
            (
                Cell(f"{share:.4g}", note=note),
                share * labels,
                Cell(one[TUNING_METRIC], best=one is best),
                one["map"],
                one["seconds"],
            )
        )
    columns: list[str | Column] = [
        "λ as a share of |A|",
        Column("λ|A|", ".2f"),
        Column("recall@10", ".4f"),
        Column("MAP", ".4f"),
        Column("CPU seconds", ".1f"),
    ]
    yield Table(f"{title}: VSE-ens by λ, on labels held out of the training part.", columns, rows)
    shares = [one["settings"]["rank_scale"] for one in ordered]
    lines = [Series("recall@10", shares, [one[TUNING_METRIC] for one in ordered])]
    lines.append(Series("MAP", shares, [one["map"] for one in ordered]))
    yield LineChart(f"{title}: VSE-ens by λ", "λ as a share of |A|", "", lines, x_log=True, y_zero=True)
    yield Paragraph(
        "The paper tunes λ from 0.001 to 1 and prints neither the values it found nor their effect. Its sampling steps "
        "have p(r) ∝ exp(-r/λ), with which even λ = 1 hardly leaves the first ranks; its eq. 5 as printed does not "
        "depend on λ. Taking λ as a share of the number of labels is how the authors' published Java code reads."
    )
    if best and best["settings"]["rank_scale"] == max(shares):
        law = rank_probabilities(labels, "exponential", max(shares))
        mean = float((law * np.arange(1, labels + 1)).sum())
        yield Paragraph(
            f"The best λ is the largest of the range, at which draws are nearly uniform: the first rank is "
            f"{law[0] / law[-1]:.2f} times as likely as the last, and the mean rank is {mean:.0f} of {labels}, where "
            f"uniform draws have {(labels + 1) / 2:.0f}. Tuning moves VSE-ens towards the uniform sampler."
        )


def _grid_table(title: str, model: str, tried: Sequence[dict[str, Any]]) -> Block:
    rates = sorted({one["settings"]["learning_rate"] for one in tried})
    decays = sorted({one["settings"]["regularization"] for one in tried})
    best = best_candidate(tried)
    found = {(one["settings"]["learning_rate"], one["settings"]["regularization"]): one for one in tried}
    rows: list[Sequence[Any]] = []
    for rate in rates:
        cells = []
        for decay in decays:
            one = found.get((rate, decay))
            if one is None:
                cells.append(Cell(None))
            else:
                value = "diverged" if one["ending"] == "diverged" else one[TUNING_METRIC]
                cells.append(Cell(value, best=one is best))
        rows.append((f"rate {rate:g}", *cells))
    columns: list[str | Column] = ["", *(Column(f"reg. {decay:g}", ".4f") for decay in decays)]
    return Table(f"{title}: recall@10 of {MODELS[model]} on labels held out of the training part.", columns, rows)


def cost_blocks(document: Document) -> Iterator[Block]:
    """Yield table 3."""
    costs = document["cost"]
    if not costs:
        return
    grid = Grid(**document["grid"])
    names = {**MODELS, "naive": "naive sampler"}
    stated = {**{model: PAPER["table3"][model] for model in MODELS}, "naive": PAPER["naive"]["cost"]}
    rows = []
    for sampler, name in names.items():
        in_k, in_labels = (growth(costs, sampler, of, grid) for of in ("dimensions", "labels"))
        reference = next(
            one
            for one in costs
            if (one["sampler"], one["dimensions"], one["labels"]) == (sampler, grid.at_dimensions, grid.at_labels)
        )
        rows.append(
            (name, stated[sampler], _exponent(in_k), _exponent(in_labels), reference["nanoseconds"], reference["tries"])
        )
    columns: list[str | Column] = [
        "model",
        "the paper",
        Column("exponent in k", right=True),
        Column("exponent in |A|", right=True),
        Column(f"ns at k = {grid.at_dimensions}, |A| = {grid.at_labels:,}", ",.0f"),
        Column("labels examined", ",.1f"),
    ]
    yield Table("Growth of the cost of a step, with 95 % intervals of the exponents.", columns, rows)
    for of, label in (("dimensions", "k"), ("labels", "|A|")):
        lines = [
            Series(name, [x for x, _ in points], [y for _, y in points])
            for sampler, name in names.items()
            if (points := series(costs, sampler, of, grid))
        ]
        yield LineChart(f"Nanoseconds per step by {label}", label, "nanoseconds", lines, x_log=True, y_log=True)
    yield Paragraph(
        "One core, refreshes of the rankings included in the share that a step bears of them. All samplers start from "
        "the same model, partly trained on synthetic data, because the length of WARP's search depends on the model. "
        "The fastest of five repeats is shown. A step also has costs that do not grow with k, so that exponents in k "
        "are below 1."
    )


def _exponent(exponent: Exponent) -> Cell:
    if exponent.value != exponent.value:
        return Cell(None)
    interval = "" if exponent.low == -float("inf") else f"{exponent.low:+.2f} to {exponent.high:+.2f}"
    return Cell(f"{exponent.value:+.2f}", note=interval)


def time_blocks(document: Document) -> Iterator[Block]:
    """Yield table 4 and the curves of recall@10 over time."""
    rows: list[Sequence[Any]] = []
    for name, title in marked_titles(document["data_sets"]).items():
        for group_name, group in groups_of(document, name):
            cells = []
            for model in MODELS:
                seconds = seconds_of(group, model)
                mean = sum(seconds) / len(seconds)
                hours = PAPER["table4"][model][name]
                run = group["models"][model]["runs"][0]
                note = f"{3600 * number(hours) / mean:,.0f} times faster"
                if run["ending"] == "out of time":
                    note = f"projected from {run['iterations']} of {ITERATIONS[model]} iterations; {note}"
                cells.append(Cell(f"{mean:,.1f} s", f"{hours} h", note=note))
            warp, opt_auc = (speed_ratio(group, model) for model in ("warp", "opt-auc"))
            stated = [number(PAPER["table4"][model][name]) for model in MODELS]
            rows.append(
                (
                    Cell(title, note=GROUPS[group_name]),
                    *cells,
                    Cell(f"{warp.mean:.2f}×", f"{PAPER['abstract']['speed_up'][name]}×"),
                    Cell(f"{opt_auc.mean:.2f}×", f"{stated[2] / stated[0]:.2f}×"),
                )
            )
    if not rows:
        return
    columns: list[str | Column] = ["data set", *(Column(name, right=True) for name in MODELS.values())]
    columns += [Column("WARP / VSE-ens", right=True), Column("Opt-AUC / VSE-ens", right=True)]
    yield Table(
        "CPU seconds of training on one core, without compiling and measuring, with the hours of the paper; for WARP "
        "/ VSE-ens the paper's value is from the abstract.",
        columns,
        rows,
    )
    for name, title in marked_titles(document["data_sets"]).items():
        for group_name, group in groups_of(document, name):
            yield LineChart(
                f"{title}, {GROUPS[group_name]}: recall@10 over training time",
                "CPU seconds",
                "recall@10",
                [
                    Series(
                        MODELS[model],
                        [point[1] for point in group["models"][model]["runs"][0]["points"]],
                        [point[2] for point in group["models"][model]["runs"][0]["points"]],
                        level=True,
                    )
                    for model in MODELS
                ],
                x_log=True,
                y_zero=True,
            )
