"""The report as a page, made from what report.json holds and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vse_ens.experiments.paper import page_drawing, page_training
from vse_ens.experiments.paper.page_training import NOT_AT_HAND
from vse_ens.report.html import Block, Bullets, Code, Details, Facts, Note, Page, Paragraph, Section
from vse_ens.report.tables import Cell, Table

_VERDICTS = {
    "contradicts": "Contradicts the paper",
    "agrees": "Agrees with the paper",
    "unclear": "Not decided by these runs",
    "beside": "Beside the paper",
}


_SETTINGS = (
    "The paper's settings: k = 100, learning rate and regularisation 0.01, vectors start as N(0, 0.01), no bias. Its λ "
    "and its number of epochs are not at hand: λ = 0.1 and 100 epochs stand in. Our settings: the presets vse-ens, "
    "warp and opt-auc; they have a label bias, and docs/training.md says how their settings were found."
)
_CONVERGENCE = (
    "How the paper tells that a model has converged, and which rival its speed-ups are measured against, is not at "
    "hand; here it is the first point within 1 % of the model's best recall@10, against WARP."
)


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
        Section("Table 2: accuracy", *page_training.accuracy(document)),
        Section("Table 3: the cost of a draw", *page_drawing.cost(document)),
        Section("Table 4: training time", *page_training.times(document)),
        Section("Figure 1: how long WARP searches", *page_drawing.search(document)),
        Section("Figure 2: a draw step by step", *page_drawing.example(document)),
        Section("How this was made", *_method(document)),
    )
    return made.add(*(section for section in sections if section.blocks))


def _verdicts(document: dict[str, Any]) -> Iterator[Block]:
    if not document["complete"]:
        yield Note("This report is not complete: the run was stopped or is still under way.", "warning")
    generated = [one for one in document["data_sets"].values() if one["generated"]]
    if generated:
        names = " and ".join(one["title"] for one in generated)
        yield Note(
            f"No file was given for {names}: generated data stands in. What is measured on it shows how the methods "
            "scale and how they learn; it says nothing about accuracy on the real data.",
            "warning",
        )
    for verdict, words in _VERDICTS.items():
        texts = [one["text"] for one in document["findings"] if one["verdict"] == verdict and not one["generated"]]
        if texts:
            yield Paragraph(f"{words}:")
            yield Bullets(texts)
    texts = [f"{one['text']} ({_VERDICTS[one['verdict']]}.)" for one in document["findings"] if one["generated"]]
    if texts:
        yield Details("What was found on generated data, and so is no evidence about the paper's", Bullets(texts))


def _data(document: dict[str, Any]) -> Iterator[Block]:
    rows: list[Sequence[Any]] = []
    for name, one in document["data_sets"].items():
        paper = document["paper"]["table1"].get(name, {})
        label = Cell(one["title"], note="GENERATED" if one["generated"] else "real")
        counts = [Cell(one[count], paper.get(count, NOT_AT_HAND)) for count in ("images", "labels", "train", "test")]
        rows.append((label, *counts))
    if rows:
        columns = ("data set", "images", "labels", "train pairs", "test pairs")
        yield Table("One label of every image that has several is held out (leave-one-out).", columns, rows)
        yield Bullets(f"{one['title']}: {one['note']}." for one in document["data_sets"].values())


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
            _SETTINGS,
            _CONVERGENCE,
            (
                "A run ends when its epochs are done, when its best recall@10 is half of them ago, or after "
                f"{limits['seconds']:,.0f} s of training. Curves are measured on as many held-out labels as need "
                f"{limits['scores']:,} scores, tables on all."
            ),
            "“Not at hand” marks a cell of the paper that we have not seen; --paper FILE.json fills it in.",
        ]
    )
    command = "vse reproduce" + (" --quick" if document["effort"] == "quick" else "") + f" --seed {document['seed']}"
    paths = [f" --{name} {one['path']}" for name, one in document["data_sets"].items() if one["path"]]
    yield Code(command + "".join(paths))
