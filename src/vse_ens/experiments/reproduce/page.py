"""The report as a page, made from what report.json holds and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vse_ens.experiments.paper import COMPLEXITY, MODELS
from vse_ens.experiments.reproduce.data_sets import titles
from vse_ens.experiments.reproduce.draws import Grid, growth, series
from vse_ens.experiments.reproduce.findings import improvement, runs_of, speed_ups
from vse_ens.experiments.reproduce.training import (
    METRICS,
    SETTINGS,
    common_level,
    converged,
    curve,
    still_rising,
    time_to,
    tries,
)
from vse_ens.report.html import Block, Bullets, Code, Facts, Note, Page, Paragraph, Section
from vse_ens.report.lines import LineChart, Series
from vse_ens.report.tables import Cell, Column, Table

NOT_AT_HAND = "not at hand"

_HEADINGS = {
    "precision@5": "Pre@5",
    "recall@5": "Rec@5",
    "precision@10": "Pre@10",
    "recall@10": "Rec@10",
    "map": "MAP",
    "auc@10": "AUC@10",
    "auc": "AUC (true)",
}
_VERDICTS = {
    "contradicts": "Contradicts the paper",
    "agrees": "Agrees with the paper",
    "unclear": "Not decided by these runs",
    "beside": "Beside the paper",
}


def page(document: dict[str, Any]) -> Page:
    """The page of a document, complete or not."""
    made = Page(
        "VSE-ens: the paper's experiments again",
        "Section 4 of Guo, Zhai, Yuan, Liu and Wang, “VSE-ens: Visual-Semantic Embeddings with Efficient Negative "
        "Sampling” (AAAI 2018), run by vse-ens. The paper's figure stands below ours wherever it is known.",
    )
    sections = (
        Section("What came of it", *_verdicts(document)),
        Section("Table 1: the data", *_data(document)),
        Section("Table 2: accuracy", *_accuracy(document)),
        Section("Table 3: the cost of a draw", *_draws(document)),
        Section("Table 4: training time", *_times(document)),
        Section("Figure 1: how long WARP searches", *_search(document)),
        Section("Figure 2: a draw step by step", *_example(document)),
        Section("How this was made", *_method(document)),
    )
    return made.add(*(section for section in sections if section.blocks))


def _verdicts(document: dict[str, Any]) -> Iterator[Block]:
    if not document["complete"]:
        yield Note("This report is not complete: the run was stopped or is still under way.", "warning")
    generated = [one for one in document["data_sets"].values() if one["generated"]]
    if generated:
        names = ", ".join(one["title"] for one in generated)
        yield Note(
            f"No file was given for {names}: generated data stands in for it. What is measured on it shows how the "
            "methods scale and how they learn; it says nothing about accuracy on the real data.",
            "warning",
        )
    for verdict, words in _VERDICTS.items():
        texts = [one["text"] for one in document["findings"] if one["verdict"] == verdict]
        if texts:
            yield Paragraph(f"{words}:")
            yield Bullets(texts)


def _data(document: dict[str, Any]) -> Iterator[Block]:
    rows: list[Sequence[Any]] = []
    for name, one in document["data_sets"].items():
        paper = document["paper"]["table1"].get(name, {})
        label = Cell(one["title"], note="GENERATED" if one["generated"] else "real")
        counts = [Cell(one[count], paper.get(count, NOT_AT_HAND)) for count in ("images", "labels", "train", "test")]
        rows.append((label, *counts, one["note"]))
    if rows:
        columns = ("data set", "images", "labels", "train pairs", "test pairs", "where it comes from")
        yield Table("One label of every image that has several is held out (leave-one-out).", columns, rows)


def _accuracy(document: dict[str, Any]) -> Iterator[Block]:
    columns = ["model", *(Column(_HEADINGS[metric], ".4f") for metric in METRICS)]
    for name, title in titles(document["data_sets"]).items():
        for settings, words in SETTINGS.items():
            runs = runs_of(document, name, settings)
            if runs:
                yield Table(f"{title}, {words}", columns, list(_accuracy_rows(document, name, settings, runs)))
    if any(document["models"].values()):
        yield Paragraph(
            "95 % bootstrap intervals over images. Improve: VSE-ens over the better of its two rivals, as in the paper. "
            "The paper's AUC column is set beside AUC@10, which is what it must be; AUC (true) is that of the whole "
            "ranking. Of every run the epoch with the best recall@10 on held-out labels counts, for all models alike."
        )


def _accuracy_rows(document: dict[str, Any], name: str, settings: str, runs: dict[str, Any]) -> Iterator[Sequence[Any]]:
    stated = document["paper"]["table2"].get(name, {}) if settings == "paper" else None
    for model, run in runs.items():
        cells = []
        for metric in METRICS:
            ours = run["metrics"][metric]
            best = len(runs) > 1 and ours == max(other["metrics"][metric] for other in runs.values())
            paper = _paper_cell(stated, model, metric)
            cells.append(Cell(ours, paper, tuple(run["intervals"][metric]), best))
        yield MODELS[model], *cells
    if len(runs) == len(MODELS):
        yield "Improve", *(_improve_cell(runs, stated, metric) for metric in METRICS)


def _paper_cell(stated: dict[str, Any] | None, model: str, metric: str) -> float | str | None:
    """The paper's figure; nothing where the settings are not the paper's or it has no such column."""
    if stated is None or metric == "auc":
        return None
    found: float | str = stated.get(model, {}).get(_paper_name(metric), NOT_AT_HAND)
    return found


def _improve_cell(runs: dict[str, Any], stated: dict[str, Any] | None, metric: str) -> Cell:
    ours = improvement(runs, metric)
    if stated is None or metric == "auc":
        return Cell("–" if ours is None else f"{ours:+.1%}")
    known = [stated.get(model, {}).get(_paper_name(metric)) for model in MODELS]
    paper = NOT_AT_HAND if None in known else f"{known[0] / max(known[1:]) - 1:+.1%}"
    return Cell("–" if ours is None else f"{ours:+.1%}", paper)


def _paper_name(metric: str) -> str:
    return "auc" if metric == "auc@10" else metric


def _draws(document: dict[str, Any]) -> Iterator[Block]:
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
        rows = [
            (
                Cell(sampler, COMPLEXITY[sampler]),
                *(cost for _, cost in series(found, sampler, of, grid)),
                f"{symbol}^{growth(found, sampler, of, grid):.2f}",
            )
            for sampler in samplers
        ]
        columns = ["sampler", *(Column(f"{symbol} = {place:,}", ",.0f") for place in places), "grows as"]
        yield Table(
            f"Nanoseconds a training step on one core, at {at}; below each name the paper's O().", columns, rows
        )
    yield LineChart(
        f"Cost of a step as labels grow (k = {grid.at_dimensions})",
        "labels |A|",
        "nanoseconds a step",
        [Series(sampler, *zip(*series(found, sampler, "labels", grid), strict=True)) for sampler in samplers],
        x_log=True,
        y_log=True,
    )
    yield Paragraph(
        "A step is the draw, the update of three vectors, and its part of the refresh of the rankings. All samplers start "
        "from one model that has trained for a while on generated data: how long WARP searches depends on how much a "
        "model has learnt. The best of three turns counts."
    )


def _times(document: dict[str, Any]) -> Iterator[Block]:
    rows = [
        row for name in document["data_sets"] for settings in SETTINGS for row in _time_rows(document, name, settings)
    ]
    if not rows:
        return
    columns = (
        "data set",
        "settings",
        *(f"{words}, to within 1 % of its best" for words in MODELS.values()),
        "WARP / VSE-ens",
        "the same, to a level all reach",
    )
    yield Table("Seconds of training, compiling and measuring left out.", columns, rows)
    for name, title in titles(document["data_sets"]).items():
        for settings, words in SETTINGS.items():
            runs = runs_of(document, name, settings)
            if runs:
                yield LineChart(
                    f"{title}, {words}: recall@10 as training goes on",
                    "seconds of training",
                    "recall@10",
                    [
                        Series(
                            MODELS[model], [p.seconds for p in curve(run)], [p.recall for p in curve(run)], level=True
                        )
                        for model, run in runs.items()
                    ],
                    x_log=True,
                    y_zero=True,
                )


def _time_rows(document: dict[str, Any], name: str, settings: str) -> Iterator[Sequence[Any]]:
    runs = runs_of(document, name, settings)
    if len(runs) < len(MODELS):
        return
    paper = document["paper"]
    stated = paper["table4"].get(name, {})
    cells = []
    for model, run in runs.items():
        point = converged(run)
        note = f"epoch {point.epoch} of {curve(run)[-1].epoch}" + (", still rising" if still_rising(run) else "")
        of_paper = stated.get(model, NOT_AT_HAND) if settings == "paper" else None
        cells.append(Cell(f"{point.seconds:,.2f} s", of_paper, note=note))
    own, common = speed_ups(runs) or (0.0, 0.0)
    level = common_level(list(runs.values()))
    reached = [time_to(curve(runs[model]), level) for model in ("warp", "vse-ens")]
    both = " and ".join(f"{point.seconds:,.2f} s" for point in reached if point)
    yield (
        titles(document["data_sets"])[name],
        SETTINGS[settings],
        *cells,
        Cell(f"{own:.2f}×", f"{paper['speed_up'][name]:g}×" if name in paper["speed_up"] else NOT_AT_HAND),
        Cell(f"{common:.2f}×", note=f"{both} to {level:.3f}"),
    )


def _search(document: dict[str, Any]) -> Iterator[Block]:
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
            "WARP draws labels at random until one violates the margin. The more a model has learnt, the fewer do, and the "
            "longer it searches: this is the paper's reason to sample otherwise. The paper's own curve is not at hand."
        )


def _example(document: dict[str, Any]) -> Iterator[Block]:
    one = document["example"]
    if one is None:
        return
    first = next((step for step in one["steps"] if not step["owned"]), one["steps"][0])
    count = len(one["exact_ranking"])
    yield Paragraph(
        f"A model of 5 images, 10 labels and 5 factors, the size of the paper's figure 2. The image “{one['image']}” has the "
        f"labels {', '.join(one['labels'])}. Rank {first['rank'] + 1} is drawn with p(r) ~ exp(-r / (λ|A|)), λ = "
        f"{one['rank_scale']:g}; factor {first['factor'] + 1} with p(f|i) ~ |v_if| σ_f. The image's value of that factor is "
        f"{one['vector'][first['factor']]:+.2f}, so the ranking is read from the "
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


def _method(document: dict[str, Any]) -> Iterator[Block]:
    limits = document["limits"]
    yield Facts(
        [
            ("effort", document["effort"]),
            ("seed", str(document["seed"])),
            ("time taken", f"{document['seconds']:,.0f} s, parts done in earlier runs not counted"),
            *document["machine"].items(),
        ]
    )
    yield Bullets(
        [
            "The paper's settings: k = 100, learning rate and regularisation 0.01, vectors start as N(0, 0.01), no bias, 100 "
            "epochs (the paper's number of epochs is not at hand). Our settings: the presets vse-ens, warp and opt-auc, "
            "found on validation splits; they have a label bias.",
            f"A run ends when its epochs are done, when its best recall@10 is a third of them ago, or after "
            f"{limits['seconds']:,.0f} s of training. Curves are measured on at most {limits['images']:,} held-out labels, "
            "tables on all.",
            "“Not at hand” marks a cell of the paper that we have not seen; --paper FILE.json fills it in.",
        ]
    )
    command = "vse reproduce" + (" --quick" if document["effort"] == "quick" else "") + f" --seed {document['seed']}"
    paths = [f" --{name} {one['path']}" for name, one in document["data_sets"].items() if one["path"]]
    yield Code(command + "".join(paths))
