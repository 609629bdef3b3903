"""Table 3 and the figures of the report: what drawing costs, and how it is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vse_ens.experiments.paper.data_sets import titles
from vse_ens.experiments.paper.draws import Grid, growth, series
from vse_ens.experiments.paper.findings import runs_of
from vse_ens.experiments.paper.numbers import COMPLEXITY
from vse_ens.experiments.paper.training import SETTINGS, tries
from vse_ens.report.charts import LineChart, Series
from vse_ens.report.html import Block, Paragraph
from vse_ens.report.tables import Cell, Column, Table


def cost(document: dict[str, Any]) -> Iterator[Block]:
    """Table 3."""
    found = document["draws"]
    if not found:
        return
    grid = Grid(**document["grid"])
    samplers = list(dict.fromkeys(one["sampler"] for one in found))
    for of, symbol, at in (
        ("labels", "|A|", f"k = {grid.at_dimensions}"),
        ("dimensions", "k", f"|A| = {grid.at_labels:,}"),
    ):
        places = sorted(grid.labels if of == "labels" else grid.dimensions)
        rows: list[Sequence[Any]] = [
            (
                Cell(sampler, COMPLEXITY[sampler]),
                *(cost for _, cost in series(found, sampler, of, grid)),
                f"{symbol}^{growth(found, sampler, of, grid):.2f}",
            )
            for sampler in samplers
        ]
        columns: list[str | Column] = [
            "sampler",
            *(Column(f"{symbol} = {place:,}", ",.0f") for place in places),
            "grows as",
        ]
        yield Table(
            f"Nanoseconds a training step on one core, at {at}; below each name the paper's O().", columns, rows
        )
    yield LineChart(
        f"Cost of a step as labels grow (k = {grid.at_dimensions})",
        "labels |A|",
        "nanoseconds a step",
        [_line(sampler, series(found, sampler, "labels", grid)) for sampler in samplers],
        x_log=True,
        y_log=True,
    )
    yield Paragraph(
        "A step is the draw, the update of three vectors, and its part of the refresh of the rankings. All samplers "
        "start from one model that has trained for a while on generated data: how long WARP searches depends on how "
        "much a model has learnt. The best of three turns counts."
    )


def _line(name: str, points: Sequence[tuple[int, float]]) -> Series:
    return Series(name, [x for x, _ in points], [y for _, y in points])


def search(document: dict[str, Any]) -> Iterator[Block]:
    """Figure 1."""
    lines = []
    for name, title in titles(document["data_sets"]).items():
        for settings, words in SETTINGS.items():
            run = runs_of(document, name, settings).get("warp")
            if run is not None:
                found = tries(run)
                lines.append(Series(f"{title}, {words}", range(1, len(found) + 1), found))
    if lines:
        yield LineChart("Labels WARP looks at for one step", "epoch", "labels looked at", lines, x_log=True, y_log=True)
        yield Paragraph(
            "WARP draws labels at random until one violates the margin. The more a model has learnt, the fewer do, and "
            "the longer it searches: this is the paper's reason to sample otherwise. The paper's own curve is not at "
            "hand."
        )


def example(document: dict[str, Any]) -> Iterator[Block]:
    """Figure 2."""
    one = document["example"]
    if one is None:
        return
    first = next((step for step in one["steps"] if not step["owned"]), one["steps"][0])
    factor, end = one["factors"][first["factor"]], "top" if first["from_top"] else "bottom"
    yield Paragraph(
        "A model of 5 images, 10 labels and 5 factors, the size of the paper's figure 2, its numbers set by hand so "
        f"that factors have a meaning. The image “{one['image']}” has the labels {', '.join(one['labels'])}. Rank "
        f"{first['rank'] + 1} is drawn with p(r) ~ exp(-r / (λ|A|)), λ = {one['rank_scale']:g}, and the factor "
        f"“{factor}” with p(f|i) ~ |v_if| σ_f. The image's value of it is {one['vector'][first['factor']]:+.1f}, so "
        f"its ranking is read from the {end}: the negative is “{first['label']}”."
    )
    yield Table(
        "The images: their vectors and the labels they have.",
        ("image", *one["factors"], "labels"),
        [
            (name, *(f"{value:+.1f}" for value in image["vector"]), ", ".join(image["labels"]))
            for name, image in one["images"].items()
        ],
    )
    yield Table(
        f"The labels sorted by each factor, seen from “{one['image']}”; the label drawn stands out.",
        ("", *one["factors"], "by s_i(a)"),
        list(_sorted_labels(one, first)),
    )
    yield Table(
        "More draws for the same image; a label it has is drawn again.",
        ("draw", "rank", "factor", "read from the", "label", "the image has it"),
        [
            (
                f"{number}",
                step["rank"] + 1,
                one["factors"][step["factor"]],
                "top" if step["from_top"] else "bottom",
                step["label"],
                "yes: drawn again" if step["owned"] else "no",
            )
            for number, step in enumerate(one["steps"], start=1)
        ],
    )


def _sorted_labels(one: dict[str, Any], drawn: dict[str, Any]) -> Iterator[Sequence[Any]]:
    """What the factors are to the image, then the labels place by place."""
    yield "v_if", *(f"{value:+.1f}" for value in one["vector"]), ""
    yield "σ_f", *(f"{value:.2f}" for value in one["spread"]), ""
    yield "p(f|i)", *(f"{value:.2f}" for value in one["factor_chance"]), ""
    yield "read from the", *("top" if value > 0 else "bottom" for value in one["vector"]), ""
    count = len(one["exact_ranking"])
    place = drawn["rank"] if drawn["from_top"] else count - 1 - drawn["rank"]
    for rank in range(count):
        cells = [
            Cell(labels[rank], note=f"{values[rank]:+.1f}", best=(number, rank) == (drawn["factor"], place))
            for number, (labels, values) in enumerate(zip(one["rankings"], one["values"], strict=True))
        ]
        yield f"place {rank + 1}", *cells, one["exact_ranking"][rank]
