"""``vse evaluate``: how well a model finds held-out labels."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from vse_ens.cli.argv import typed_command
from vse_ens.cli.console import Console
from vse_ens.cli.options import ClusterOptions, Reading


def evaluate(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(metavar="MODEL", show_default=False, help="A model directory.")],
    test: Annotated[
        Path,
        typer.Argument(
            metavar="TEST", show_default=False, help="A file of held-out pairs, of any format that vse train reads."
        ),
    ],
    *,
    known: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Score images by the labels in this file instead of those the model was trained on: "
            "revealed.parquet of vse split --protocol new-images.",
        ),
    ] = None,
    top: Annotated[
        list[int],
        typer.Option(metavar="N", min=1, help="Measure among the first N labels; may be repeated."),
    ] = [1, 5, 10],  # noqa: B006  # typer's way to say it; never changed
    save_rankings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False, help="Keep where every held-out label stands, as a Parquet file."
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            show_default=False,
            help="Write a page as well, with a plot of whether confidences are what they say.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the random resamples behind the intervals.")] = 0,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, show_default="all cores", help="Threads; or workers of a cluster.")
    ] = None,
    memory: Annotated[int, typer.Option(metavar="MB", min=1, help="Memory for scores at a time.")] = 16,
    place: ClusterOptions,
    reading: Reading,
    screen: Console,
) -> None:
    """Measure how well a model finds held-out labels.

    All labels are ranked but those the image is known to have; docs/metrics.md says what each metric is.
    """
    from vse_ens.annotator import Annotator
    from vse_ens.evaluate.report import summarise

    with screen.busy(f"loading {model}"):
        annotator = Annotator.load(model)
    annotator.workers = workers
    held_out = reading.read(test, screen)
    for note in held_out.notes:
        screen.say(f"note: {note}")
    shown = reading.read(known, screen) if known else None
    began = time.perf_counter()
    with screen.progress("evaluating", len(held_out.images), "images") as progress:
        rankings = annotator.rankings(
            held_out,
            known=shown,
            top=max(top),
            memory=memory * 1_000_000,
            progress=progress,
            cluster=place.cluster,
            address=place.address,
        )
    report = summarise(rankings, tops=top, seed=seed, workers=workers)
    seconds = time.perf_counter() - began
    if save_rankings is not None:
        rankings.save(save_rankings)
    if page is not None:
        from vse_ens.report.evaluation import evaluation_page

        shown_top = min(max(top), 5)
        judged = annotator.calibration_ is not None and known is None
        trusted = (
            annotator.reliability(held_out, top=shown_top, cluster=place.cluster, address=place.address)
            if judged
            else []
        )
        title = "How well held-out labels are found"
        evaluation_page(title, report, trusted, top=shown_top, command=typed_command(context)).write(page)
    document = {"model": str(model), "test": str(test), **report.to_dict(), "seconds": round(seconds, 3)}
    screen.result(document, Text(str(report)))
