"""``vse annotate``: suggestions for one image, some, or all."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vse_ens.cli.console import Console, columns, facts
from vse_ens.cli.options import (
    ClusterOptions,
    Labels,
    ModelFolder,
    as_documents,
    in_words,
    listed,
    listed_or_read,
    load,
    probability,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from vse_ens.curate.suggest import Suggestion, SuggestOptions

_COLUMNS = ("suggestion", "confidence", "score", "because of")


def annotate(
    model: ModelFolder,
    images: Annotated[
        list[str] | None, typer.Argument(metavar="IMAGE", show_default=False, help="Images of the model.")
    ] = None,
    *,
    labels: Labels = None,
    every: Annotated[bool, typer.Option("--all", help="All images of the model; needs --out.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False, help="Where --all writes as it goes: a .parquet, .csv or .jsonl file."
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="F",
            show_default=False,
            help="Of FILE, if its name does not tell: parquet, csv, jsonl, exiftool (XMP keywords), label-studio.",
        ),
    ] = None,
    prefix: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            show_default=False,
            help="With exiftool and label-studio: what stands before an image id to make it a path or an address.",
        ),
    ] = "",
    top: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many labels an image.")] = 5,
    allow: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", show_default=False, help="Suggest only these labels; or a file with one label a line."
        ),
    ] = None,
    deny: Annotated[
        str | None, typer.Option(metavar="A,B", show_default=False, help="Never suggest these; or such a file.")
    ] = None,
    min_confidence: Annotated[
        float, typer.Option(metavar="X", min=0.0, max=1.0, help="Suggest nothing that is less likely right.")
    ] = 0.0,
    explain: Annotated[bool, typer.Option("--explain", help="Name the reasons of every suggestion.")] = False,
    place: ClusterOptions,
    screen: Console,
) -> None:
    """Suggest labels that images lack.

    The best come first, and labels an image is known to have are left out. The confidence is the probability that a
    suggestion is right, as learnt on labels held out in training.
    """
    if sum((bool(images), labels is not None, every)) != 1:
        raise typer.BadParameter("give images, --labels or --all, one of the three", param_hint="'IMAGE'")
    if every != (out is not None):
        raise typer.BadParameter("--all and --out FILE go together", param_hint="'--all'")
    if (form or prefix) and not every:
        raise typer.BadParameter("--format and --prefix go with --all", param_hint="'--format'")
    if (place.cluster or place.address) and not every:
        raise typer.BadParameter("--cluster and --address go with --all", param_hint="'--cluster'")
    if every and explain:
        raise typer.BadParameter("a file of --all has no room for reasons", param_hint="'--explain'")
    wanted: SuggestOptions = {
        "top": top,
        "allow": listed_or_read(allow),
        "deny": listed_or_read(deny),
        "min_confidence": min_confidence,
        "explain": explain,
    }
    if out is not None:
        _write_all(model, out, form, prefix, wanted, place, screen)
    elif labels is not None:
        _show_one(model, listed(labels), wanted, screen)
    else:
        _show(model, images or [], wanted, screen)


def _show(model: Path, images: list[str], wanted: SuggestOptions, screen: Console) -> None:
    found = load(model, screen).annotate(images, **wanted)
    document, rows = [], []
    for image, suggestions in zip(images, found, strict=True):
        document.append({"image": image, "suggestions": _plain(suggestions, wanted["explain"])})
        names = [image, *[""] * len(suggestions)]  # named once
        rows += [(name, *row) for name, row in zip(names, _rows(suggestions), strict=False)]
    screen.result(document, _table(("image", *_COLUMNS), rows, wanted["explain"]))


def _show_one(model: Path, labels: list[str], wanted: SuggestOptions, screen: Console) -> None:
    suggestions = load(model, screen).annotate(labels=labels, **wanted)
    document = [{"image": None, "labels": labels, "suggestions": _plain(suggestions, wanted["explain"])}]
    screen.result(document, _table(_COLUMNS, _rows(suggestions), wanted["explain"]))


def _plain(suggestions: Sequence[Suggestion], explain: bool) -> list[dict[str, Any]]:
    plain = []
    for one in suggestions:
        row: dict[str, Any] = {"label": one.label, "score": one.score, "confidence": one.confidence}
        if explain:
            row["because"] = as_documents(one.because)
        plain.append(row)
    return plain


def _rows(suggestions: Sequence[Suggestion]) -> list[tuple[str, ...]]:
    return [
        (one.label, probability(one.confidence), f"{one.score:.2f}", in_words(one.because)) for one in suggestions
    ] or [("(none)", "", "", "")]


def _table(names: tuple[str, ...], rows: Sequence[tuple[str, ...]], explain: bool) -> Table:
    shown = len(names) if explain else len(names) - 1
    return columns(names[:shown], [row[:shown] for row in rows], numbers=("confidence", "score"))


def _write_all(
    model: Path,
    out: Path,
    form: str | None,
    prefix: str,
    wanted: SuggestOptions,
    place: ClusterOptions,
    screen: Console,
) -> None:
    from vse_ens.export.suggestions import format_of

    form = form or format_of(out)  # told before the model is loaded
    annotator = load(model, screen)
    with screen.progress("annotating", len(annotator.known_.images), "images") as progress:
        written = annotator.annotate_all(
            out, form, prefix=prefix, progress=progress, cluster=place.cluster, address=place.address, **wanted
        )
    counts = asdict(written)
    shown = [(name.replace("_", " "), f"{count:,}") for name, count in counts.items()]
    screen.result({"file": str(out), **counts}, facts([("file", str(out)), *shown]))
