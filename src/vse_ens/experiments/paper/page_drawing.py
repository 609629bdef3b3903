"""Table 3 and the figures of the report: the cost of a draw, WARP's search, and a draw step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vse_ens.experiments.paper.data_sets import marked_titles
from vse_ens.experiments.paper.draws import Grid, growth, series
from vse_ens.experiments.paper.findings import completed_runs
from vse_ens.experiments.paper.numbers import COMPLEXITY
from vse_ens.experiments.paper.training import SETTINGS, tries_per_draw
from vse_ens.report.charts import LineChart, Series
from vse_ens.report.html import Block, Paragraph
from vse_ens.report.tables import Cell, Column, Table


def cost_blocks(document: dict[str, Any]) -> Iterator[Block]:
    """Yield table 3 and its chart."""
    costs = document["draws"]
    if not costs:
        return
    grid = Grid(**document["grid"])
    samplers = list(dict.fromkeys(one["sampler"] for one in costs))
    for of, symbol, at in (
        ("labels", "|A|", f"k = {grid.at_dimensions}"),
        ("dimensions", "k", f"|A| = {grid.at_labels:,}"),
    ):
        values = sorted(grid.labels if of == "labels" else grid.dimensions)
        rows: list[Sequence[Any]] = [
            (
                Cell(sampler, COMPLEXITY[sampler]),
                *(nanoseconds for _, nanoseconds in series(costs, sampler, of, grid)),
                f"{symbol}^{growth(costs, sampler, of, grid):.2f}",
            )
            for sampler in samplers
        ]
        columns: list[str | Column] = [
            "sampler",
            *(Column(f"{symbol} = {value:,}", ",.0f") for value in values),
            "grows as",
        ]
        yield Table(
            f"Nanoseconds per training step on one core, at {at}; the paper's O() below the name.", columns, rows
        )
    yield LineChart(
        f"Cost of a step by number of labels (k = {grid.at_dimensions})",
        "labels |A|",
        "nanoseconds per step",
        [_line(sampler, series(costs, sampler, "labels", grid)) for sampler in samplers],
        x_log=True,
        y_log=True,
    )
    yield Paragraph(
        "A step includes the draw, the update of three vectors, and its part of refreshing the rankings. All samplers "
        "start from the same model, partly trained on synthetic data, because the length of WARP's search depends on "
        "the model. The fastest of three repeats is shown."
    )


def _line(name: str, points: Sequence[tuple[int, float]]) -> Series:
    return Series(name, [x for x, _ in points], [y for _, y in points])


def search_blocks(document: dict[str, Any]) -> Iterator[Block]:
    """Yield figure 1."""
    lines = []
    for name, title in marked_titles(document["data_sets"]).items():
        for settings, description in SETTINGS.items():
            run = completed_runs(document, name, settings).get("warp")
            if run is not None:
                tries = tries_per_draw(run)
                lines.append(Series(f"{title}, {description}", range(1, len(tries) + 1), tries))
    if lines:
        yield LineChart("Labels that WARP examines per step", "epoch", "labels per step", lines, x_log=True, y_log=True)
        yield Paragraph(
            "WARP draws labels at random until one violates the margin (eq. 4). The better the model, the fewer labels "
            "do and the longer the search. This is the paper's motivation for another sampler. The paper's own curve "
            "is not available."
        )


def example_blocks(document: dict[str, Any]) -> Iterator[Block]:
    """Yield figure 2."""
    one = document["example"]
    if one is None:
        return
    first = next((step for step in one["steps"] if not step["owned"]), one["steps"][0])
    factor, end = one["factors"][first["factor"]], "top" if first["from_top"] else "bottom"
    yield Paragraph(
        "A model of 5 images, 10 labels and 5 factors, the size of the paper's figure 2, with numbers set by hand so "
        f"that the factors have a meaning. The image “{one['image']}” has the labels {', '.join(one['labels'])}. Rank "
        f"{first['rank'] + 1} is drawn from p(r) ~ exp(-r / (λ|A|)) (eq. 5) with λ = {one['rank_scale']:g}, and factor "
        f"“{factor}” from p(f|i) ~ |v_if| σ_f (eq. 7). The image's value of this factor is "
        f"{one['vector'][first['factor']]:+.1f}, so the labels sorted by it are read from the {end}: the negative is "
        f"“{first['label']}”."
    )
    yield Table(
        "The images with their vectors and labels.",
        ("image", *one["factors"], "labels"),
        [
            (name, *(f"{value:+.1f}" for value in image["vector"]), ", ".join(image["labels"]))
            for name, image in one["images"].items()
        ],
    )
    yield Table(
        f"The labels sorted by each factor, for “{one['image']}”; the drawn label is bold.",
        ("", *one["factors"], "by s_i(a)"),
        list(_sorted_labels(one, first)),
    )
    yield Table(
        "Further draws for the same image; a draw of a label that the image has is repeated.",
        ("draw", "rank", "factor", "read from the", "label", "label of the image"),
        [
            (
                f"{number}",
                step["rank"] + 1,
                one["factors"][step["factor"]],
                "top" if step["from_top"] else "bottom",
                step["label"],
                "yes: repeated" if step["owned"] else "no",
            )
            for number, step in enumerate(one["steps"], start=1)
        ],
    )


def _sorted_labels(one: dict[str, Any], drawn: dict[str, Any]) -> Iterator[Sequence[Any]]:
    """Yield the rows of the image's factors, then the labels by position."""
    yield "v_if", *(f"{value:+.1f}" for value in one["vector"]), ""
    yield "σ_f", *(f"{value:.2f}" for value in one["spread"]), ""
    yield "p(f|i)", *(f"{value:.2f}" for value in one["factor_chance"]), ""
    yield "read from the", *("top" if value > 0 else "bottom" for value in one["vector"]), ""
    count = len(one["exact_ranking"])
    position = drawn["rank"] if drawn["from_top"] else count - 1 - drawn["rank"]
    for rank in range(count):
        cells = [
            Cell(labels[rank], note=f"{values[rank]:+.1f}", best=(number, rank) == (drawn["factor"], position))
            for number, (labels, values) in enumerate(zip(one["rankings"], one["values"], strict=True))
        ]
        yield f"position {rank + 1}", *cells, one["exact_ranking"][rank]
