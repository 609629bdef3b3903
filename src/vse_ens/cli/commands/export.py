"""``vse export``: vectors for other programs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from vse_ens.cli.console import Console, facts
from vse_ens.cli.options import ModelFolder, load


class What(StrEnum):
    """What has vectors."""

    labels = "labels"
    images = "images"


def export(
    model: ModelFolder,
    *,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="A .parquet file, .npy with the ids beside it, or .txt or .vec as word2vec writes it.",
        ),
    ],
    what: Annotated[What, typer.Option(help="The vectors of labels or of images.")] = What.labels,
    screen: Console,
) -> None:
    """Write the vectors of labels or images for other programs."""
    annotator = load(model, screen)
    with screen.busy(f"writing {out}"):
        annotator.export_vectors(out, what.value)
    vectors = len(annotator.known_.labels if what is What.labels else annotator.known_.images)
    counts = {"vectors": vectors, "dimensions": annotator.embeddings_.dimensions}
    shown = [("file", str(out)), *((name, f"{count:,}") for name, count in counts.items())]
    screen.result({"file": str(out), "what": what.value, **counts}, facts(shown))
