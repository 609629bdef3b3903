"""``vse similar``: labels like a label, images like an image."""

from __future__ import annotations

from typing import Annotated

import typer

from vse_ens.cli.console import Console, columns
from vse_ens.cli.options import ModelFolder, load, some


def similar(
    model: ModelFolder,
    label: Annotated[
        str | None, typer.Argument(metavar="LABEL", show_default=False, help="A label of the model.")
    ] = None,
    *,
    image: Annotated[
        str | None, typer.Option(metavar="IMAGE", show_default=False, help="In its place: an image of the model.")
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="How many.")] = 10,
    screen: Console,
) -> None:
    """Show labels like a label, or images like an image.

    Labels are alike if the same images fit them and they say the same of an image. 1 is the same direction.
    """
    if (label is None) == (image is None):
        raise typer.BadParameter("give a LABEL or --image IMAGE, one of the two", param_hint="'LABEL'")
    annotator = load(model, screen)
    if label is not None:
        kind, asked, found = "label", label, annotator.similar_labels(label, top)
    else:
        kind, asked, found = "image", image or "", annotator.similar_images(image or "", top)
    document = {kind: asked, "similar": [{kind: one.id, "similarity": one.similarity} for one in found]}
    names, rows = [kind, "similarity"], [[one.id, f"{one.similarity:.3f}"] for one in found]
    if kind == "image":
        names.append("labels it has")
        rows = [[*row, some(annotator.known_labels(row[0]))] for row in rows]
    screen.result(document, columns(names, rows, numbers=("similarity",)))
