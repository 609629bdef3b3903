"""``vse annotate``: suggestions for one image, some, or all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vse_ens.cli.asking import (
    Labels,
    ModelFolder,
    as_documents,
    in_words,
    listed,
    listed_or_read,
    load,
    probability,
)
from vse_ens.cli.screen import Screen, columns, facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from vse_ens.annotator import Suggestion, Wanted

_BLOCK = 1_000  # images between two writes to a file
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
    screen: Screen,
) -> None:
    """Suggest labels that images lack.

    The best come first, and labels an image is known to have are left out. The confidence is the probability that a
    suggestion is right, as learnt on labels held out in training.
    """
    if sum((bool(images), labels is not None, every)) != 1:
        raise typer.BadParameter("give images, --labels or --all, one of the three", param_hint="'IMAGE'")
    if every != (out is not None):
        raise typer.BadParameter("--all and --out FILE go together", param_hint="'--all'")
    if every and explain:
        raise typer.BadParameter("a file of --all has no room for reasons", param_hint="'--explain'")
    wanted: Wanted = {
        "top": top,
        "allow": listed_or_read(allow),
        "deny": listed_or_read(deny),
        "min_confidence": min_confidence,
        "explain": explain,
    }
    if out is not None:
        _write_all(model, out, wanted, screen)
    elif labels is not None:
        _show_one(model, listed(labels), wanted, screen)
    else:
        _show(model, images or [], wanted, screen)


def _show(model: Path, images: list[str], wanted: Wanted, screen: Screen) -> None:
    found = load(model, screen).annotate(images, **wanted)
    document, rows = [], []
    for image, suggestions in zip(images, found, strict=True):
        document.append({"image": image, "suggestions": _plain(suggestions, wanted["explain"])})
        names = [image, *[""] * len(suggestions)]  # named once
        rows += [(name, *row) for name, row in zip(names, _rows(suggestions), strict=False)]
    screen.result(document, _table(("image", *_COLUMNS), rows, wanted["explain"]))


def _show_one(model: Path, labels: list[str], wanted: Wanted, screen: Screen) -> None:
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


def _write_all(model: Path, out: Path, wanted: Wanted, screen: Screen) -> None:
    from vse_ens.data.suggestion_file import Suggested, check_name, suggestion_file

    check_name(out)
    annotator = load(model, screen)
    images = annotator.known_.images
    suggested = annotated = 0
    with suggestion_file(out) as write, screen.progress("annotating", len(images), "images") as progress:
        for first in range(0, len(images), _BLOCK):
            block = images.ids(range(first, min(first + _BLOCK, len(images))))
            found = annotator.annotate(block, **wanted)
            rows = [
                Suggested(image, one.label, one.score, one.confidence)
                for image, suggestions in zip(block, found, strict=True)
                for one in suggestions
            ]
            write(rows)
            suggested += len(rows)
            annotated += sum(map(bool, found))
            progress(first + len(block))
    counts = {"images": len(images), "images_with_suggestions": annotated, "suggestions": suggested}
    shown = [(name.replace("_", " "), f"{count:,}") for name, count in counts.items()]
    screen.result({"file": str(out), **counts}, facts([("file", str(out)), *shown]))
