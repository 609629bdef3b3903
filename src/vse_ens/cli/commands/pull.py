"""``vse pull``: download a model from the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vse_ens.cli.console import Console, facts
from vse_ens.cli.options import HubRepo, load_model


def pull(
    repo: HubRepo,
    *,
    out: Annotated[Path, typer.Option(metavar="MODEL", show_default=False, help="The model directory to write.")],
    revision: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default="the main branch", help="A branch, a tag or a commit."),
    ] = None,
    console: Console,
) -> None:
    """Download a model from the Hugging Face Hub and verify every byte.

    Downloaded files stay in the cache of huggingface_hub, so that a second pull needs no network.
    """
    from vse_ens.export.hub import pull as pull_model
    from vse_ens.model.store import reserve_target

    with reserve_target(out):
        pull_model(repo, out, revision=revision)
    known = load_model(out, console).known_
    counts = {"images": len(known.images), "labels": len(known.labels), "pairs": known.pairs}
    rows = [("model", str(out)), ("repository", repo), *((name, f"{count:,}") for name, count in counts.items())]
    console.result({"model": str(out), "repository": repo, "revision": revision, **counts}, facts(rows))
    console.finish(f"{out} has the model of {repo}.", "info", out)
