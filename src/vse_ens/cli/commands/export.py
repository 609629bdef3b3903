"""``vse export``, ``vse push`` and ``vse pull``: hand a model to other programs and people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from vse_ens.cli.console import Console, facts
from vse_ens.cli.options import HubRepo, ModelDir, load_model
from vse_ens.cli.parameters import Option


def export(
    model: ModelDir,
    *,
    out: Annotated[
        Path,
        Option(
            "A .parquet file, a .txt or .vec file in word2vec format, or a .npy, .faiss or .usearch file with the "
            "IDs in a second file.",
            "FILE",
        ),
    ],
    what: Annotated[Literal["labels", "images"], Option("The vectors to export.")] = "labels",
    console: Console,
) -> None:
    """Export label or image vectors for other programs.

    Example: vse export model --out labels.parquet
    """
    annotator = load_model(model, console)
    with console.status(f"writing {out}"):
        annotator.export_vectors(out, what)
    vectors = len(annotator.known_.labels if what == "labels" else annotator.known_.images)
    counts = {"vectors": vectors, "dimensions": annotator.embeddings_.dimensions}
    console.result({"file": out, "what": what, **counts}, facts([("file", out), *counts.items()]))
    console.finish(f"{vectors:,} {what[:-1]} vectors are in {out}.", "similar", model, annotator.known_.labels.id(0))


def push(
    model: ModelDir,
    repo: HubRepo,
    *,
    private: Annotated[bool, Option("Create the repository as a private one.")] = False,
    revision: Annotated[str | None, Option("The branch to commit to.", "BRANCH", default="the main branch")] = None,
    license: Annotated[  # noqa: A002  # the name of the option
        str | None, Option("The license of the model, such as cc-by-4.0.", "ID")
    ] = None,
    dataset: Annotated[str | None, Option("The data set on the Hub it was trained on.", "USER/NAME")] = None,
    tag: Annotated[Sequence[str], Option("An additional tag; may be repeated.", "TAG")] = (),
    evaluation: Annotated[
        Path | None, Option("Metrics for the page: the output of vse evaluate --json.", "FILE")
    ] = None,
    message: Annotated[str | None, Option("The message of the commit.", "TEXT")] = None,
    console: Console,
) -> None:
    """Upload a model to the Hugging Face Hub, with a page about it.

    The model is verified first. Its image IDs and training pairs are part of it. Log in with hf auth login, or set
    HF_TOKEN.

    Example: vse push model ann/holiday-labels --private
    """
    from vse_ens.export.hub import CardFacts, read_metrics
    from vse_ens.export.hub import push as push_model

    metrics = {} if evaluation is None else read_metrics(evaluation)
    page = CardFacts(license, dataset, tuple(tag), metrics)
    pushed = push_model(model, repo, facts=page, private=private, revision=revision, message=message)
    shown = {"repository": pushed.repo, "commit": pushed.commit}
    console.result(
        {"model": model, **shown, "url": pushed.url, "files": pushed.files, "bytes": pushed.size},
        facts([*shown.items(), ("size", f"{pushed.files} files, {pushed.size:,} bytes")]),
    )
    console.finish(f"{pushed.repo} has the model.", "pull", pushed.repo, "--out", "model-2")


def pull(
    repo: HubRepo,
    *,
    out: Annotated[Path, Option("The model directory to write.", "MODEL")],
    revision: Annotated[str | None, Option("A branch, a tag or a commit.", "NAME", default="the main branch")] = None,
    console: Console,
) -> None:
    """Download a model from the Hugging Face Hub and verify it.

    Every byte is compared with the checksums of the model. Downloaded files stay in the cache of huggingface_hub, so
    that a second pull needs no network.

    Example: vse pull ann/holiday-labels --out model
    """
    from vse_ens.export.hub import pull as pull_model
    from vse_ens.model.store import reserve_target

    with reserve_target(out):
        pull_model(repo, out, revision=revision)
    known = load_model(out, console).known_
    counts = {"images": len(known.images), "labels": len(known.labels), "pairs": known.pairs}
    where = {"model": out, "repository": repo}
    console.result({**where, "revision": revision, **counts}, facts([*where.items(), *counts.items()]))
    console.finish(f"{out} has the model of {repo}.", "info", out)
