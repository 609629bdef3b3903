"""``vse annotate``: suggest labels for images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vse_ens.cli.console import Console, columns, facts
from vse_ens.cli.formatting import confidence_text, plural, reasons_json
from vse_ens.cli.options import (
    ClusterOptions,
    CompletenessOption,
    DefuseFormulas,
    LabelsOption,
    ModelDir,
    WriteOptions,
    load_model,
    parse_completeness,
    parse_labels,
    parse_or_read_labels,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from vse_ens.annotator import Annotator
    from vse_ens.curate.suggest import Suggestion, SuggestOptions

Load = Callable[[], "Annotator"]

_WRITE_CONFIDENCE = 0.5  # of labels that are written to people's files, unless given
_COLUMNS = ("suggestion", "confidence", "hit", "score", "because of")


def annotate(
    model: ModelDir,
    images: Annotated[
        list[str] | None, typer.Argument(metavar="IMAGE", show_default=False, help="IDs of images of the model.")
    ] = None,
    *,
    labels: LabelsOption = None,
    all_images: Annotated[bool, typer.Option("--all", help="All images of the model; needs --out or --write.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="Output of --all: a .parquet, .csv or .jsonl file."),
    ] = None,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="F",
            show_default=False,
            help="Format of FILE if not given by its suffix: parquet, csv, jsonl, exiftool (XMP keywords) or "
            "label-studio. With --write, the format of SOURCE if it is not recognised.",
        ),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="SOURCE",
            show_default=False,
            help="Add the suggestions of --all to a collection: .xmp sidecars, .txt files or an annotation file. "
            "Image files are never changed.",
        ),
    ] = None,
    writing: WriteOptions,
    prefix: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            show_default=False,
            help="Prefix that turns an image ID into a path or URL (exiftool, label-studio). With --write, text before "
            "every added label, such as 'suggested|'.",
        ),
    ] = "",
    defuse_formulas: DefuseFormulas = False,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="Maximum number of suggestions per image.")] = 5,
    allow: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", show_default=False, help="Suggest only these labels; or a file with one label per line."
        ),
    ] = None,
    deny: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", show_default=False, help="Never suggest these labels; or a file with one label per line."
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            show_default=False,
            help="Suggest only labels that match, such as 'place|*' or 'character:*'; may be repeated.",
        ),
    ] = None,
    per_namespace: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, show_default=False, help="At most N suggestions per namespace such as 'place|'."
        ),
    ] = None,
    min_confidence: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            min=0.0,
            max=1.0,
            show_default="0, or 0.5 with --write",
            help="Drop suggestions with lower confidence.",
        ),
    ] = None,
    completeness: CompletenessOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the reasons of every suggestion.")] = False,
    cluster: ClusterOptions,
    console: Console,
) -> None:
    """Suggest missing labels for images.

    Suggestions are sorted, best first, and exclude labels the image is known to have. The confidence is the chance that
    the label is right for the image; it depends on how complete the labels are (vse calibrate). The hit is the chance
    that it is the missing label of an image that lacks exactly one.
    """
    if sum((bool(images), labels is not None, all_images)) != 1:
        raise typer.BadParameter("give exactly one of IMAGE, --labels and --all", param_hint="'IMAGE'")
    if all_images != (out is not None or write is not None):
        raise typer.BadParameter("--all and --out FILE or --write SOURCE must be given together", param_hint="'--all'")
    if out is not None and write is not None:
        raise typer.BadParameter("cannot be combined with --out", param_hint="'--write'")
    if (writing.dry_run or writing.journal) and write is None:
        raise typer.BadParameter("--dry-run and --journal need --write", param_hint="'--dry-run'")
    if (file_format or prefix) and not all_images:
        raise typer.BadParameter("--format and --prefix need --all", param_hint="'--format'")
    if defuse_formulas and (out is None or (file_format or out.suffix) not in ("csv", ".csv")):
        raise typer.BadParameter("needs --all and --out FILE.csv", param_hint="'--defuse-formulas'")
    if (cluster.cluster or cluster.address) and out is None:
        raise typer.BadParameter("--cluster and --address need --all --out", param_hint="'--cluster'")
    if all_images and explain:
        raise typer.BadParameter("cannot be combined with --all", param_hint="'--explain'")
    options: SuggestOptions = {
        "top": top,
        "allow": parse_or_read_labels(allow),
        "deny": parse_or_read_labels(deny),
        "min_confidence": (0.0 if write is None else _WRITE_CONFIDENCE) if min_confidence is None else min_confidence,
        "explain": explain,
    }
    if only:
        options["only"] = only
    if per_namespace is not None:
        options["per_namespace"] = per_namespace
    if completeness is not None and cluster.cluster:
        raise typer.BadParameter("cannot be combined with --cluster; use vse calibrate", param_hint="'--completeness'")
    given = parse_completeness(completeness)

    def load() -> Annotator:
        annotator = load_model(model, console)
        return annotator if given is None else annotator.calibrate(completeness=given)

    if out is not None:
        _annotate_all(load, model, out, file_format, prefix, defuse_formulas, options, cluster, console)
    elif write is not None:
        _write(load, write, file_format, prefix, options, writing, console)
    elif labels is not None:
        _annotate_labels(load, model, parse_labels(labels), options, console)
    else:
        _annotate_images(load, model, images or [], options, console)


def _annotate_images(load: Load, model: Path, images: list[str], options: SuggestOptions, console: Console) -> None:
    suggestion_lists = load().annotate(images, **options)
    document, rows = [], []
    for image, suggestions in zip(images, suggestion_lists, strict=True):
        document.append({"image": image, "suggestions": _suggestions_json(suggestions, options["explain"])})
        names = [image, *[""] * len(suggestions)]  # the first row names the image
        rows += [(name, *row) for name, row in zip(names, _rows(suggestions), strict=False)]
    console.result(document, _table(("image", *_COLUMNS), rows, options["explain"]))
    best = next(((image, found[0].label) for image, found in zip(images, suggestion_lists, strict=True) if found), None)
    console.finish(
        f"{plural(sum(map(len, suggestion_lists)), 'suggestion')} for {plural(len(images), 'image')}.",
        *(("explain", model, *best) if best else ()),
    )


def _annotate_labels(load: Load, model: Path, labels: list[str], options: SuggestOptions, console: Console) -> None:
    suggestions = load().annotate(labels=labels, **options)
    document = [{"image": None, "labels": labels, "suggestions": _suggestions_json(suggestions, options["explain"])}]
    console.result(document, _table(_COLUMNS, _rows(suggestions), options["explain"]))
    console.finish(f"{plural(len(suggestions), 'label')} would suit such an image.", "search", model, *labels[:1])


def _annotate_all(
    load: Load,
    model: Path,
    out: Path,
    file_format: str | None,
    prefix: str,
    defuse_formulas: bool,
    options: SuggestOptions,
    cluster: ClusterOptions,
    console: Console,
) -> None:
    from vse_ens.export.suggestions import format_of

    file_format = file_format or format_of(out)  # fails on an unknown suffix before the model is loaded
    annotator = load()
    with console.progress("annotating", len(annotator.known_.images), "images") as progress:
        written = annotator.annotate_all(
            out,
            file_format,
            prefix=prefix,
            defuse_formulas=defuse_formulas,
            progress=progress,
            cluster=cluster.cluster,
            address=cluster.address,
            allow_mixed_cpus=cluster.allow_mixed_cpus,
            **options,
        )
    counts = asdict(written)
    rows = [(name.replace("_", " "), f"{count:,}") for name, count in counts.items()]
    console.result({"file": str(out), **counts}, facts([("file", str(out)), *rows]))
    console.finish(f"The suggestions for all images are in {out}.", "audit", model)


def _write(
    load: Load,
    source: Path,
    source_format: str | None,
    prefix: str,
    options: SuggestOptions,
    writing: WriteOptions,
    console: Console,
) -> None:
    collection = writing.open(source, source_format)  # fails before the model is loaded
    annotator = load()
    with console.progress("annotating", len(annotator.known_.images), "images") as progress:
        edits = annotator.suggested_edits(progress=progress, **options)
    writing.write(collection, edits, console, prefix=prefix)


def _suggestions_json(suggestions: Sequence[Suggestion], explain: bool) -> list[dict[str, Any]]:
    rows = []
    for suggestion in suggestions:
        row: dict[str, Any] = {
            "label": suggestion.label,
            "score": suggestion.score,
            "confidence": suggestion.confidence,
            "hit": suggestion.hit,
        }
        if explain:
            row["because"] = reasons_json(suggestion.because)
        rows.append(row)
    return rows


def _rows(suggestions: Sequence[Suggestion]) -> list[tuple[str, ...]]:
    from vse_ens.curate.explain import reasons_text

    return [
        (
            suggestion.label,
            confidence_text(suggestion.confidence),
            confidence_text(suggestion.hit),
            f"{suggestion.score:.2f}",
            reasons_text(suggestion.because),
        )
        for suggestion in suggestions
    ] or [("(none)", "", "", "", "")]


def _table(names: tuple[str, ...], rows: Sequence[tuple[str, ...]], explain: bool) -> Table:
    width = len(names) if explain else len(names) - 1
    return columns(names[:width], [row[:width] for row in rows], numbers=("confidence", "hit", "score"))
