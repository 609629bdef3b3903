"""The HTML report of a reproduction, built from the content of report.json only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vse_ens.experiments.paper import page_drawing, page_training
from vse_ens.experiments.paper.page_training import NOT_AVAILABLE
from vse_ens.report.html import Block, Bullets, Code, Details, Facts, Note, Page, Paragraph, Section
from vse_ens.report.tables import Cell, Table

_VERDICTS = {
    "contradicts": "Contradicts the paper",
    "agrees": "Agrees with the paper",
    "unclear": "Not decided by these runs",
    "note": "Notes",
}
_SETTINGS = (
    "The paper's settings: k = 100, learning rate and regularisation 0.01, vectors initialised from N(0, 0.01), no "
    "bias. Its λ and its number of epochs are not available; we use λ = 0.1 and 100 epochs. Our settings: the presets "
    "vse-ens, warp and opt-auc. They have a label bias; docs/training.md says how their settings were chosen."
)
_CONVERGENCE = (
    "The paper's convergence criterion, and the model that its speed-ups are measured against, are not available. Here "
    "a model has converged at the first point within 1 % of its best recall@10, and speed-ups are relative to WARP."
)


def reproduction_page(document: dict[str, Any]) -> Page:
    """Return the report of a document, which may be incomplete."""
    page = Page(
        "VSE-ens: the paper's experiments reproduced",
        "Section 4 of Guo, Zhai, Yuan, Liu and Wang, “VSE-ens: Visual-Semantic Embeddings with Efficient Negative "
        "Sampling” (AAAI 2018), rerun with vse-ens. The paper's value is shown below ours where it is known.",
    )
    sections = (
        Section("Summary", *_verdicts(document)),
        Section("Table 1: data", *_data(document)),
        Section("Table 2: accuracy", *page_training.accuracy_blocks(document)),
        Section("Table 3: cost of a draw", *page_drawing.cost_blocks(document)),
        Section("Table 4: training time", *page_training.time_blocks(document)),
        Section("Figure 1: length of WARP's search", *page_drawing.search_blocks(document)),
        Section("Figure 2: a draw step by step", *page_drawing.example_blocks(document)),
        Section("Method", *_method(document)),
    )
    return page.add(*(section for section in sections if section.blocks))


def _verdicts(document: dict[str, Any]) -> Iterator[Block]:
    if not document["complete"]:
        yield Note("This report is not complete: the run was stopped or is still in progress.", "warning")
    generated = [one for one in document["data_sets"].values() if one["generated"]]
    if generated:
        names = ", ".join(one["title"] for one in generated)
        yield Note(
            f"No file was given for {names}, so synthetic data is used. It shows how the methods scale and learn, and "
            "nothing about accuracy on the real data.",
            "warning",
        )
    for verdict, heading in _VERDICTS.items():
        texts = [one["text"] for one in document["findings"] if one["verdict"] == verdict and not one["generated"]]
        if texts:
            yield Paragraph(f"{heading}:")
            yield Bullets(texts)
    texts = [f"{one['text']} ({_VERDICTS[one['verdict']]}.)" for one in document["findings"] if one["generated"]]
    if texts:
        yield Details("Results on synthetic data, which are no evidence about the paper's data", Bullets(texts))


def _data(document: dict[str, Any]) -> Iterator[Block]:
    rows: list[Sequence[Any]] = []
    for name, one in document["data_sets"].items():
        paper = document["paper"]["table1"].get(name, {})
        label = Cell(one["title"], note="SYNTHETIC" if one["generated"] else "real")
        counts = [Cell(one[count], paper.get(count, NOT_AVAILABLE)) for count in ("images", "labels", "train", "test")]
        rows.append((label, *counts))
    if rows:
        columns = ("data set", "images", "labels", "train pairs", "test pairs")
        yield Table("One label of every image with several labels is held out (leave-one-out).", columns, rows)
        yield Bullets(f"{one['title']}: {one['note']}." for one in document["data_sets"].values())


def _method(document: dict[str, Any]) -> Iterator[Block]:
    limits = document["limits"]
    yield Facts(
        [
            ("effort", document["effort"]),
            ("seed", str(document["seed"])),
            ("time", f"{document['seconds']:,.0f} s, without parts finished in earlier runs"),
            *document["machine"].items(),
        ]
    )
    yield Bullets(
        [
            _SETTINGS,
            _CONVERGENCE,
            (
                "A run ends when its epochs are done, when its best recall@10 is more than half of them ago, or after "
                f"{limits['seconds']:,.0f} s of training. Curves are measured on as many held-out labels as "
                f"{limits['scores']:,} scores allow, tables on all of them."
            ),
            f"“{NOT_AVAILABLE}” marks a value of the paper that is unknown to us; --paper FILE.json adds it.",
        ]
    )
    command = "vse reproduce" + (" --quick" if document["effort"] == "quick" else "") + f" --seed {document['seed']}"
    paths = [f" --{name} {one['path']}" for name, one in document["data_sets"].items() if one["path"]]
    yield Code(command + "".join(paths))
