"""``vse similar``: find similar labels or images."""

from __future__ import annotations

from typing import Annotated

import typer

from vse_ens.cli.console import Console, columns
from vse_ens.cli.formatting import label_list, plural
from vse_ens.cli.options import ModelDir, load_model


def similar(
    model: ModelDir,
    label: Annotated[
        str | None, typer.Argument(metavar="LABEL", show_default=False, help="A label of the model.")
    ] = None,
    *,
    image: Annotated[
        str | None, typer.Option(metavar="IMAGE", show_default=False, help="An image of the model, instead of LABEL.")
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="Number of results.")] = 10,
    console: Console,
) -> None:
    """Find labels similar to a label, or images similar to an image.

    Labels are similar if they fit the same images and predict the same other labels. The similarity is at most 1.
    """
    if (label is None) == (image is None):
        raise typer.BadParameter("give either LABEL or --image IMAGE", param_hint="'LABEL'")
    annotator = load_model(model, console)
    if label is not None:
        kind, query, neighbours = "label", label, annotator.similar_labels(label, top)
    else:
        kind, query, neighbours = "image", image or "", annotator.similar_images(image or "", top)
    document = {
        kind: query,
        "similar": [{kind: neighbour.id, "similarity": neighbour.similarity} for neighbour in neighbours],
    }
    names = [kind, "similarity"]
    rows = [[neighbour.id, f"{neighbour.similarity:.3f}"] for neighbour in neighbours]
    if kind == "image":
        names.append("known labels")
        rows = [[*row, label_list(annotator.known_labels(row[0]))] for row in rows]
    console.result(document, columns(names, rows, numbers=("similarity",)))
    following = ("search", model, query) if kind == "label" else ("annotate", model, query)
    console.finish(f"{plural(len(neighbours), kind)} similar to {query}, the most similar first.", *following)
