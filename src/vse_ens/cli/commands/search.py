"""``vse search``: find images for labels."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from vse_ens.cli.console import Console, columns
from vse_ens.cli.formatting import confidence_text, label_list
from vse_ens.cli.options import ModelDir, load_model, parse_labels


def search(
    model: ModelDir,
    labels: Annotated[
        list[str], typer.Argument(metavar="LABEL", show_default=False, help="Labels the images should have.")
    ],
    *,
    without: Annotated[
        str, typer.Option(metavar="A,B", show_default=False, help="Labels the images should not have.")
    ] = "",
    tagged: Annotated[
        bool, typer.Option("--tagged", help="Include images that are known to have all the labels.")
    ] = False,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="Maximum number of images.")] = 20,
    index: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Use an approximate index, built at first use: for more than a million images; may miss some.",
        ),
    ] = None,
    console: Console,
) -> None:
    """Find images for labels, including images not tagged with them.

    Results are sorted, best first. Images that already have all the labels are excluded unless --tagged is given.
    """
    annotator = load_model(model, console)
    excluded = parse_labels(without)
    terms = [*labels, *(f"-{label}" for label in excluded)]
    with console.status("searching"):
        hits = annotator.search(terms, top, tagged=tagged, index=index)
    known_labels = [annotator.known_labels(hit.image) for hit in hits]
    document = {
        "labels": labels,
        "without": excluded,
        "images": [{**asdict(hit), "labels": known} for hit, known in zip(hits, known_labels, strict=True)],
    }
    rows = [
        (hit.image, confidence_text(hit.confidence), label_list(known, first=labels))
        for hit, known in zip(hits, known_labels, strict=True)
    ]
    console.result(document, columns(("image", "confidence", "known labels"), rows, numbers=("confidence",)))
