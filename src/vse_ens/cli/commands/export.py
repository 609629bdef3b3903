"""``vse export``: export label or image vectors."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from vse_ens.cli.console import Console, facts
from vse_ens.cli.options import ModelDir, load_model


class VectorKind(StrEnum):
    """The vectors to export."""

    labels = "labels"
    images = "images"


def export(
    model: ModelDir,
    *,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="A .parquet file, a .txt or .vec file in word2vec format, or a .npy, .faiss or .usearch file with the "
            "IDs beside it.",
        ),
    ],
    what: Annotated[VectorKind, typer.Option(help="The vectors to export.")] = VectorKind.labels,
    console: Console,
) -> None:
    """Export label or image vectors for other programs."""
    annotator = load_model(model, console)
    with console.status(f"writing {out}"):
        annotator.export_vectors(out, what.value)
    vectors = len(annotator.known_.labels if what is VectorKind.labels else annotator.known_.images)
    counts = {"vectors": vectors, "dimensions": annotator.embeddings_.dimensions}
    rows = [("file", str(out)), *((name, f"{count:,}") for name, count in counts.items())]
    console.result({"file": str(out), "what": what.value, **counts}, facts(rows))
    console.finish(
        f"{vectors:,} {what.value[:-1]} vectors are in {out}.", "similar", model, annotator.known_.labels.id(0)
    )
