"""``vse search``: images for labels."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from vse_ens.cli.console import Console, columns
from vse_ens.cli.options import ModelFolder, listed, load, probability, some


def search(
    model: ModelFolder,
    labels: Annotated[
        list[str], typer.Argument(metavar="LABEL", show_default=False, help="Labels that the images should have.")
    ],
    *,
    without: Annotated[
        str, typer.Option(metavar="A,B", show_default=False, help="Labels that they should not have.")
    ] = "",
    tagged: Annotated[
        bool, typer.Option("--tagged", help="Also images that are known to have the labels already.")
    ] = False,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="How many images.")] = 20,
    index: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Look through this index, made at first use, past a million images; may miss some.",
        ),
    ] = None,
    screen: Console,
) -> None:
    """Find images for labels, also those nobody has tagged.

    The best come first. Images that have all the labels already are left out unless --tagged is given.
    """
    annotator = load(model, screen)
    terms = [*labels, *(f"-{label}" for label in listed(without))]
    with screen.busy("searching"):
        found = annotator.search(terms, top, tagged=tagged, index=index)
    known = [annotator.known_labels(one.image) for one in found]
    document = {
        "labels": labels,
        "without": listed(without),
        "images": [{**asdict(one), "labels": own} for one, own in zip(found, known, strict=True)],
    }
    rows = [
        (one.image, probability(one.confidence), some(own, first=labels)) for one, own in zip(found, known, strict=True)
    ]
    screen.result(document, columns(("image", "confidence", "labels it has"), rows, numbers=("confidence",)))
