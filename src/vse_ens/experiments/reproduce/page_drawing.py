"""Table 3 and the figures of the report: what drawing costs, and how it is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vse_ens.experiments.paper import COMPLEXITY
from vse_ens.experiments.reproduce.data_sets import titles
from vse_ens.experiments.reproduce.draws import Grid, growth, series
from vse_ens.experiments.reproduce.findings import runs_of
from vse_ens.experiments.reproduce.training import SETTINGS, tries
from vse_ens.report.html import Block, Paragraph
from vse_ens.report.lines import LineChart, Series
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
    count = len(one["exact_ranking"])
    yield Paragraph(
        f"A model of 5 images, 10 labels and 5 factors, the size of the paper's figure 2. The image “{one['image']}” "
        f"has the labels {', '.join(one['labels'])}. Rank {first['rank'] + 1} is drawn with p(r) ~ exp(-r / (λ|A|)), "
        f"λ = {one['rank_scale']:g}; factor {first['factor'] + 1} with p(f|i) ~ |v_if| σ_f. The image's value of that "
        f"factor is {one['vector'][first['factor']]:+.2f}, so the ranking is read from the "
        f"{'top' if first['from_top'] else 'bottom'}: the negative is “{first['label']}”."
    )
    place = first["rank"] if first["from_top"] else count - 1 - first["rank"]
    rows: list[Sequence[Any]] = [
        ("v_if", *(f"{value:+.2f}" for value in one["vector"]), ""),
        ("σ_f", *(f"{value:.2f}" for value in one["spread"]), ""),
        ("p(f|i)", *(f"{value:.2f}" for value in one["factor_chance"]), ""),
        ("read from the", *("top" if value > 0 else "bottom" for value in one["vector"]), ""),
    ]
    for rank in range(count):
        cells = [
            Cell(
                labels[rank],
                note=f"{values[rank]:+.2f}",
                best=(number, rank) == (first["factor"], place),
            )
            for number, (labels, values) in enumerate(zip(one["rankings"], one["values"], strict=True))
        ]
        rows.append((f"place {rank + 1}", *cells, one["exact_ranking"][rank]))
    columns = ("", *(f"factor {number + 1}" for number in range(len(one["vector"]))), "exact ranking by s_i(a)")
    yield Table("The labels sorted by each factor; the label drawn stands out.", columns, rows)
    yield Table(
        "More draws for the same image; a label it has is drawn again.",
        ("draw", "rank", "factor", "read from the", "label", "the image has it"),
        [
            (
                f"{number}",
                step["rank"] + 1,
                step["factor"] + 1,
                "top" if step["from_top"] else "bottom",
                step["label"],
                "yes: drawn again" if step["owned"] else "no",
            )
            for number, step in enumerate(one["steps"], start=1)
        ],
    )
