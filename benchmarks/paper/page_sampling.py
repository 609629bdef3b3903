"""Figures 1 and 2 of the report, and what the sampler of section 3 draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.paper.data_sets import marked_titles
from benchmarks.paper.equivalence import SAMPLERS
from benchmarks.paper.numbers import (
    PAPER,
    number,
)
from benchmarks.paper.rules_time import level_of, tries_per_step, tries_per_violation
from vse_ens.report.charts import LineChart, Series
from vse_ens.report.html import Block, Paragraph
from vse_ens.report.tables import Cell, Column, Table

Document = dict[str, Any]


def search_blocks(document: Document) -> Iterator[Block]:
    """Yield figure 1."""
    names = {"deviation": "at most |A| - 1 tries per step", "uncapped": "any number of tries"}
    rows: list[Sequence[Any]] = []
    for name, title in marked_titles(document["data_sets"]).items():
        lines = []
        for group, text in names.items():
            warp = document["runs"].get(name, {}).get(group, {}).get("models", {}).get("warp")
            if warp is None:
                continue
            run = warp["runs"][0]
            tries = tries_per_step(run)
            iterations = list(range(1, len(tries) + 1))
            lines.append(Series(text, iterations, tries))
            if group == "uncapped":
                found = tries_per_violation(run)
                lines.append(Series("all tries per violating label found", iterations, found))
            given_up = run["given_up"][-1] / run["draws"][-1]
            rows.append((Cell(title, note=text), level_of(tries), f"{given_up:.1%}", len(tries), _level(name)))
        if lines:
            last = max(len(one.xs) for one in lines)
            level = number(PAPER["figure1"][name]["level"])
            lines.append(Series(f"the paper: about {PAPER['figure1'][name]['level']}", [1, last], [level, level]))
            yield LineChart(f"{title}: labels that WARP draws per step", "iteration", "labels", lines, y_log=True)
    if rows:
        columns: list[str | Column] = [
            "data set",
            Column("samples per step", ",.0f"),
            Column("steps without a violating label", right=True),
            "iterations",
            Column("the paper", right=True),
        ]
        yield Table("Samples per step of WARP, mean over the last third of the iterations.", columns, rows)
        yield Paragraph(
            "WARP draws labels until one violates the margin (eq. 4). The paper does not say when it gives up. With a "
            "cap a step ends after |A| - 1 draws. Without one it ends only when a label violates the margin or when no "
            "label does, which is then found out by looking at all of them. Draws of labels that the image has count "
            "too. 1,600 samples on 291 labels are more than either count: the paper counts something else, such as all "
            "samples divided by the steps that found a violating label, which passes any level as training continues."
        )


def _level(name: str) -> str:
    stated = PAPER["figure1"][name]
    text = f"about {stated['level']}"
    if "reached" in stated:
        text += f", {stated['reached']} by iteration {stated['by_iteration']}"
    return text


def equivalence_blocks(document: Document) -> Iterator[Block]:
    """Yield the examination of the sampler of section 3."""
    for name, title in marked_titles(document["data_sets"]).items():
        group = document["runs"].get(name, {}).get("samplers")
        if not group:
            continue
        yield Paragraph(
            "The paper shows that the transformed score s* (eq. 6) ranks labels as the score s does. That holds. Its "
            "sampler does not draw from that ranking, though: it draws a factor f, then a rank in the order of that "
            "factor alone, which is the mixture p(a|i) = Σ_f p(f|i) p(a|i,f). Both distributions are computed here "
            "from exact sorts, for the vectors of a VSE-ens model as it trains."
        )
        rows = (group["models"].get("vse-ens") or {}).get("equivalence")
        if rows:
            yield from _distances(title, rows)
        yield from _samplers(title, group)


def _distances(title: str, rows: Sequence[dict[str, Any]]) -> Iterator[Block]:
    chosen = [row for row in rows if row["iteration"] in _spread([row["iteration"] for row in rows])]
    pairs = {"vse-ens to naive": "VSE-ens, naive", "uniform to naive": "uniform, naive"}
    pairs["vse-ens to uniform"] = "VSE-ens, uniform"
    columns: list[str | Column] = [
        "iteration",
        *(Column(f"TV: {names}", ".3f") for names in pairs.values()),
        *(Column(f"rank: {name}", ".1f") for name in SAMPLERS.values()),
    ]
    yield Table(
        f"{title}: total variation (TV) between the samplers and mean rank of a drawn label by s, over "
        f"{rows[0]['images']} images.",
        columns,
        [
            (
                f"{row['iteration']}",
                *(row["total_variation"][pair] for pair in pairs),
                *(row["mean_rank"][sampler] for sampler in SAMPLERS),
            )
            for row in chosen
        ],
    )
    later = [row for row in rows if row["iteration"] > 0]
    iterations = [row["iteration"] for row in later]
    yield LineChart(
        f"{title}: mean rank of a drawn label, by s",
        "iteration",
        "rank",
        [Series(SAMPLERS[one], iterations, [row["mean_rank"][one] for row in later]) for one in SAMPLERS],
        x_log=True,
        y_zero=True,
    )


def _spread(iterations: Sequence[int], count: int = 9) -> set[int]:
    """Return about ``count`` of the iterations, closer together at the start."""
    ranked = sorted(iterations)
    last = len(ranked) - 1
    return {ranked[round(last * (step / (count - 1)) ** 1.7)] for step in range(count)}


def _samplers(title: str, group: dict[str, Any]) -> Iterator[Block]:
    models = {sampler: group["models"][sampler] for sampler in SAMPLERS if sampler in group["models"]}
    rows = []
    for sampler, model in models.items():
        run = model["runs"][0]
        violating = sum(run["violations"][-1:]) / max(sum(run["draws"][-1:]), 1)
        draws = sum(run["draws"])
        rows.append(
            (
                Cell(SAMPLERS[sampler], note=f"{run['iterations']} iterations"),
                Cell(model["accuracy"]["recall@10"][0], interval=tuple(model["accuracy"]["recall@10"][1:])),
                Cell(model["accuracy"]["map"][0], interval=tuple(model["accuracy"]["map"][1:])),
                f"{violating:.1%}",
                run["seconds"] / draws * 1e6,
                run["seconds"],
            )
        )
    columns: list[str | Column] = [
        "sampler",
        Column("recall@10", ".4f"),
        Column("MAP", ".4f"),
        Column("draws that violate the margin", right=True),
        Column("µs per draw", ".2f"),
        Column("CPU seconds", ",.1f"),
    ]
    yield Table(f"{title}: hinge loss and the settings of VSE-ens with each sampler, one seed.", columns, rows)
    for x_label, index in (("iterations (draws per training pair)", 0), ("CPU seconds", 1)):
        yield LineChart(
            f"{title}: recall@10 by {x_label}",
            x_label,
            "recall@10",
            [
                Series(
                    SAMPLERS[sampler],
                    [point[index] for point in model["runs"][0]["points"]],
                    [point[2] for point in model["runs"][0]["points"]],
                    level=True,
                )
                for sampler, model in models.items()
            ],
            x_log=True,
            y_zero=True,
        )


def example_blocks(document: Document) -> Iterator[Block]:
    """Yield figure 2."""
    one, stated = document["example"], PAPER["figure2"]
    yield Paragraph(
        f"{stated['images']} images, {stated['labels']} labels and {stated['factors']} factors; the pair "
        f"({stated['pair'][0]}, {stated['pair'][1]}); rank r = {stated['rank']} and factor f = {stated['factor']}. The "
        "paper leaves the vectors open; these have one decimal, plus a hundredth per row to avoid ties. The draws come "
        f"from the kernel that trains: of {one['draws']:,} draws for the pair, the first with r = 2 and f = 3."
    )
    positive, negative = one["cases"]["positive"], one["cases"]["negative"]
    values = {label + 1: row[stated["factor"] - 1] for label, row in enumerate(one["labels"])}
    rows = [
        (
            f"{position}",
            Cell(f"label {label}", best=position in (positive["position"], negative["position"])),
            f"{values[label]:+.2f}",
            "drawn if v_13 > 0: r = 2"
            if position == positive["position"]
            else "drawn if v_13 < 0: |A| - r + 1 = 9"
            if position == negative["position"]
            else "printed in the paper for v_13 < 0"
            if position == stated["position_if_negative"]
            else "",
        )
        for position, label in enumerate(one["order"], start=1)
    ]
    yield Table("The labels sorted by factor 3.", ("position", "label", "v_a3", ""), rows)
    yield Paragraph(
        "The paper's text returns position 8 if v_13 < 0. Algorithm 1 and step 4 of the sampling process return "
        "position |A| - r + 1 = 9, the second from the bottom. 8 is |A| - r: a slip."
    )
    factors = [f"f = {number}" for number in range(1, stated["factors"] + 1)]
    yield Table(
        "How often the kernel drew each factor, beside p(f|i) of eq. 7.",
        ("", *factors),
        [
            ("v_1f (v_13 > 0)", *(f"{value:+.2f}" for value in positive["vector"])),
            ("σ_f", *(f"{value:.3f}" for value in one["spread"])),
            ("p(f|i)", *(f"{value:.3f}" for value in positive["factor_probabilities"])),
            ("drawn", *(f"{value:.3f}" for value in positive["factor_shares"])),
        ],
    )
