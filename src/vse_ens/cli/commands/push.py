"""``vse push``: upload a model to the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vse_ens.cli.console import Console, facts
from vse_ens.cli.options import HubRepo, ModelDir


def push(
    model: ModelDir,
    repo: HubRepo,
    *,
    private: Annotated[bool, typer.Option("--private", help="Create the repository as a private one.")] = False,
    revision: Annotated[
        str | None,
        typer.Option(metavar="BRANCH", show_default="the main branch", help="The branch to commit to."),
    ] = None,
    license: Annotated[  # noqa: A002  # the name of the option
        str | None,
        typer.Option(metavar="ID", show_default=False, help="The licence of the model, such as cc-by-4.0."),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(metavar="USER/NAME", show_default=False, help="The data set on the Hub it was trained on."),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", show_default=False, help="A further tag; may be repeated.")
    ] = None,
    evaluation: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False, help="Metrics for the page: the output of vse evaluate --json."
        ),
    ] = None,
    message: Annotated[
        str | None, typer.Option(metavar="TEXT", show_default=False, help="The message of the commit.")
    ] = None,
    console: Console,
) -> None:
    """Upload a model to the Hugging Face Hub, with a page about it.

    The model is verified first. Its image IDs and training pairs are part of it. Log in with hf auth login, or set
    HF_TOKEN.
    """
    from vse_ens.export.hub import CardFacts, read_metrics
    from vse_ens.export.hub import push as push_model

    metrics = {} if evaluation is None else read_metrics(evaluation)
    page = CardFacts(license, dataset, tuple(tag or ()), metrics)
    pushed = push_model(model, repo, facts=page, private=private, revision=revision, message=message)
    rows = [
        ("repository", pushed.repo),
        ("commit", pushed.commit),
        ("size", f"{pushed.files} files, {pushed.size:,} bytes"),
    ]
    console.result(
        {
            "model": str(model),
            "repository": pushed.repo,
            "commit": pushed.commit,
            "url": pushed.url,
            "files": pushed.files,
            "bytes": pushed.size,
        },
        facts(rows),
    )
    console.finish(f"{pushed.repo} has the model.", "pull", pushed.repo, "--out", "model-2")
