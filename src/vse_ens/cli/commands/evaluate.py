"""``vse evaluate``: measure how well a model ranks held-out labels."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from vse_ens.cli.argv import command_line
from vse_ens.cli.console import Console
from vse_ens.cli.options import ClusterOptions, ModelDir, ReadOptions, load_model


def evaluate(
    context: typer.Context,
    model: ModelDir,
    test: Annotated[
        Path,
        typer.Argument(
            metavar="TEST", show_default=False, help="A file of held-out pairs, in any format that vse train reads."
        ),
    ],
    *,
    known: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Score images by the labels in this file instead of their training labels: revealed.parquet of "
            "vse split --protocol new-images.",
        ),
    ] = None,
    top: Annotated[
        list[int],
        typer.Option(metavar="N", min=1, help="Cutoff of metrics such as recall@N; may be repeated."),
    ] = [1, 5, 10],  # noqa: B006  # typer takes the default from here; never changed
    save_rankings: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="Write the rank of every held-out label as Parquet."),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html", show_default=False, help="Write an HTML page with a reliability plot of hits."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed of the bootstrap intervals.")] = 0,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, show_default="all cores", help="Number of threads or cluster workers."),
    ] = None,
    memory: Annotated[int, typer.Option(metavar="MB", min=1, help="RAM for a block of scores.")] = 16,
    cluster: ClusterOptions,
    reading: ReadOptions,
    console: Console,
) -> None:
    """Measure how well a model ranks held-out labels.

    All labels except those the image is known to have are ranked. docs/metrics.md defines every metric.
    """
    from vse_ens.evaluate.report import summarise

    annotator = load_model(model, console)
    annotator.workers = workers
    held_out = reading.read(test, console)
    for note in held_out.notes:
        console.note(note)
    known_labels = reading.read(known, console) if known else None
    started = time.perf_counter()
    with console.progress("evaluating", len(held_out.images), "images") as progress:
        rankings = annotator.rankings(
            held_out,
            known=known_labels,
            top=max(top),
            memory=memory * 1_000_000,
            progress=progress,
            cluster=cluster.cluster,
            address=cluster.address,
            allow_mixed_cpus=cluster.allow_mixed_cpus,
        )
    report = summarise(rankings, tops=top, seed=seed, workers=workers)
    seconds = time.perf_counter() - started
    if save_rankings is not None:
        rankings.save(save_rankings)
    if page is not None:
        from vse_ens.report.evaluation import evaluation_page

        reliability_top = min(max(top), 5)
        calibrated = annotator.calibration_ is not None and known is None
        bins = (
            annotator.reliability(
                held_out,
                top=reliability_top,
                cluster=cluster.cluster,
                address=cluster.address,
                allow_mixed_cpus=cluster.allow_mixed_cpus,
            )
            if calibrated
            else []
        )
        title = "How well held-out labels are found"
        evaluation_page(title, report, bins, top=reliability_top, command=command_line(context)).write(page)
    document = {"model": str(model), "test": str(test), **report.to_dict(), "seconds": round(seconds, 3)}
    console.result(document, Text(str(report)))
    console.finish("Every metric is defined in docs/metrics.md.", "audit", model)
