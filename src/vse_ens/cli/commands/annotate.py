"""``vse annotate``: suggest labels for images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from vse_ens.cli.console import Console, columns, confidence_text, facts, plural, reasons_json
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
from vse_ens.cli.parameters import Argument, Option, given_parameters, misuse

if TYPE_CHECKING:
    from rich.table import Table

    from vse_ens.annotator import Annotator
    from vse_ens.curate.suggest import Suggestion, SuggestOptions

Load = Callable[[], "Annotator"]
Mode = Literal["images", "labels", "file", "collection"]
"""Images of the model, a new image by its labels, or all images: to a file or to their collection."""

_WRITE_CONFIDENCE = 0.5  # of labels that are written to people's files, unless given
# Options that only some modes take: their parameters, those modes, and the message about the first option.
_RESTRICTED: tuple[tuple[tuple[str, ...], tuple[Mode, ...], str, str], ...] = (
    (("dry_run", "journal"), ("collection",), "--dry-run", "--dry-run and --journal need --write"),
    (("file_format", "prefix"), ("file", "collection"), "--format", "--format and --prefix need --all"),
    (("cluster", "address"), ("file",), "--cluster", "--cluster and --address need --all --out"),
    (("explain",), ("images", "labels"), "--explain", "cannot be combined with --all"),
)
_COLUMNS = ("suggestion", "confidence", "hit", "score", "because of")


def annotate(
    model: ModelDir,
    images: Annotated[Sequence[str], Argument("IDs of images of the model.", "[IMAGE]...")] = (),
    *,
    labels: LabelsOption = None,
    all_images: Annotated[bool, Option("All images of the model; needs --out or --write.", name="--all")] = False,
    out: Annotated[Path | None, Option("Output of --all: a .parquet, .csv or .jsonl file.", "FILE")] = None,
    file_format: Annotated[
        str | None,
        Option(
            "Format of FILE if not given by its suffix: parquet, csv, jsonl, exiftool (XMP keywords) or "
            "label-studio. With --write, the format of SOURCE if it is not recognized.",
            "F",
            name="--format",
        ),
    ] = None,
    write: Annotated[
        Path | None,
        Option(
            "Add the suggestions of --all to a collection: .xmp sidecars, .txt files or an annotation file. "
            "Image files are never changed.",
            "SOURCE",
        ),
    ] = None,
    writing: WriteOptions,
    prefix: Annotated[
        str,
        Option(
            "Prefix that turns an image ID into a path or URL (exiftool, label-studio). With --write, text before "
            "every added label, such as 'suggested|'.",
            "TEXT",
        ),
    ] = "",
    defuse_formulas: DefuseFormulas = False,
    top: Annotated[int, Option("Maximum number of suggestions per image.", "N", min=1)] = 5,
    allow: Annotated[str | None, Option("Suggest only these labels; or a file with one label per line.", "A,B")] = None,
    deny: Annotated[str | None, Option("Never suggest these labels; or a file with one label per line.", "A,B")] = None,
    only: Annotated[
        Sequence[str],
        Option("Suggest only labels that match, such as 'place|*' or 'character:*'; may be repeated.", "PATTERN"),
    ] = (),
    per_namespace: Annotated[
        int | None, Option("At most N suggestions per namespace such as 'place|'.", "N", min=1)
    ] = None,
    min_confidence: Annotated[
        float | None,
        Option("Drop suggestions with lower confidence.", "X", min=0.0, max=1.0, default="0, or 0.5 with --write"),
    ] = None,
    completeness: CompletenessOption = None,
    explain: Annotated[bool, Option("Show the reasons of every suggestion.")] = False,
    cluster: ClusterOptions,
    console: Console,
) -> None:
    """Suggest missing labels for images.

    Suggestions are sorted, best first, and exclude labels the image is known to have. The confidence is the chance that
    the label is right for the image; it depends on how complete the labels are (vse calibrate). The hit is the chance
    that it is the missing label of an image that lacks exactly one.

    Example: vse annotate model img_0000001 img_0000002
    """
    mode = _mode(images, labels, all_images, out, write)
    for names, modes, option, message in _RESTRICTED:
        if mode not in modes and not given_parameters().keys().isdisjoint(names):
            raise misuse(option, message)
    if defuse_formulas and (out is None or (file_format or out.suffix) not in ("csv", ".csv")):
        raise misuse("--defuse-formulas", "needs --all and --out FILE.csv")
    if completeness is not None and cluster.cluster:
        raise misuse("--completeness", "cannot be combined with --cluster; use vse calibrate")
    share = parse_completeness(completeness)
    options: SuggestOptions = {
        "top": top,
        "allow": parse_or_read_labels(allow),
        "deny": parse_or_read_labels(deny),
        "min_confidence": (_WRITE_CONFIDENCE if mode == "collection" else 0.0)
        if min_confidence is None
        else min_confidence,
        "explain": explain,
    }
    if only:
        options["only"] = only
    if per_namespace is not None:
        options["per_namespace"] = per_namespace

    def load() -> Annotator:
        annotator = load_model(model, console)
        return annotator if share is None else annotator.calibrate(completeness=share)

    if mode == "images":
        _annotate_images(load, model, images, options, console)
    elif mode == "labels":
        _annotate_labels(load, model, parse_labels(labels or ""), options, console)
    elif out is not None:
        _annotate_all(load, model, out, file_format, prefix, defuse_formulas, options, cluster, console)
    elif write is not None:
        _write(load, write, file_format, prefix, options, writing, console)


def _mode(images: Sequence[str], labels: str | None, all_images: bool, out: Path | None, write: Path | None) -> Mode:
    """Return what to annotate and where the suggestions go."""
    if sum((bool(images), labels is not None, all_images)) != 1:
        raise misuse("IMAGE", "give exactly one of IMAGE, --labels and --all")
    if all_images != (out is not None or write is not None):
        raise misuse("--all", "--all and --out FILE or --write SOURCE must be given together")
    if out is not None and write is not None:
        raise misuse("--write", "cannot be combined with --out")
    if all_images:
        return "file" if out is not None else "collection"
    return "images" if images else "labels"


def _annotate_images(load: Load, model: Path, images: Sequence[str], options: SuggestOptions, console: Console) -> None:
    suggestion_lists = load().annotate(list(images), **options)
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
            **vars(cluster),
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
