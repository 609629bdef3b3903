"""``vse annotate``: suggest labels for images."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from vse_ens.cli.console import Console, columns, confidence_text, facts, plural, reasons_json
from vse_ens.cli.options import (
    ClusterOptions,
    CompletenessOption,
    DefuseFormulas,
    FeaturesOption,
    LabelsOption,
    ModelDir,
    ScoresOption,
    WriteOptions,
    load_model,
    note_unlabeled,
    parse_completeness,
    parse_labels,
    parse_or_read_labels,
    read_table,
)
from vse_ens.cli.parameters import Argument, Option, given_parameters, misuse

if TYPE_CHECKING:
    from rich.table import Table

    from vse_ens.annotator import Annotator
    from vse_ens.curate.suggest import Suggestion, Suggestions, SuggestOptions
    from vse_ens.data.collections.base import WritableCollection
    from vse_ens.data.collections.write import WriteReport
    from vse_ens.data.features import FeatureTable
    from vse_ens.data.vocabulary import Vocabulary
    from vse_ens.export import SuggestedEdits

Mode = Literal["images", "labels", "features", "file", "collection"]
"""Images of the model, a new image by its labels, images by features, or all: to a file or to their collection."""

_WRITE_CONFIDENCE = 0.3
"""Of labels that are written to people's files, unless given. With labels hidden from IAPR TC-12 and from scenes, it
adds 0.01 to 0.6 labels per image, a third to a half of them hidden ones (fewer of 600 images); 0.5 adds hardly any."""
_FEW = 100  # images per written label from which a note says why
# Options that only some modes take: their parameters, those modes, and the message about the first option.
_RESTRICTED: tuple[tuple[tuple[str, ...], tuple[Mode, ...], str, str], ...] = (
    (("dry_run", "diff", "journal"), ("collection",), "--dry-run", "--dry-run, --diff and --journal need --write"),
    (("file_format", "prefix"), ("file", "collection"), "--format", "--format and --prefix need --all"),
    (("cluster", "address"), ("file",), "--cluster", "--cluster and --address need --all --out"),
    (("explain",), ("images", "labels", "features"), "--explain", "cannot be combined with --all"),
)
_COLUMNS = ("suggestion", "confidence", "hit", "score", "because of")


def annotate(
    model: ModelDir,
    images: Annotated[Sequence[str], Argument("IDs of images of the model, or of --features.", "[IMAGE]...")] = (),
    *,
    labels: LabelsOption = None,
    features: FeaturesOption = None,
    scores: ScoresOption = None,
    all_images: Annotated[
        bool, Option("All images of the model, or of --features; needs --out or --write.", name="--all")
    ] = False,
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
            "Add the suggestions of --all with a confidence of at least 0.3, or --min-confidence, to a collection: "
            ".xmp sidecars, .txt files or an annotation file. Image files are never changed.",
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
        Option("Drop suggestions with lower confidence.", "X", min=0.0, max=1.0, default="0, or 0.3 with --write"),
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
    mode = _mode(images, labels, all_images, out, write, by_features=bool(features or scores))
    for names, modes, option, message in _RESTRICTED:
        if mode not in modes and not given_parameters().keys().isdisjoint(names):
            raise misuse(option, message)
    if defuse_formulas and (out is None or (file_format or out.suffix) not in ("csv", ".csv")):
        raise misuse("--defuse-formulas", "needs --all and --out FILE.csv")
    if completeness is not None and cluster.cluster:
        raise misuse("--completeness", "cannot be combined with --cluster; use vse calibrate")
    if min_confidence is None:
        min_confidence = _WRITE_CONFIDENCE if mode == "collection" else 0.0
    options: SuggestOptions = {
        "top": top,
        "allow": parse_or_read_labels(allow),
        "deny": parse_or_read_labels(deny),
        "min_confidence": min_confidence,
        "explain": explain,
    }
    if only:
        options["only"] = only
    if per_namespace is not None:
        options["per_namespace"] = per_namespace
    table = read_table(features, scores, console)
    if table is not None and cluster.cluster:
        raise misuse("--features", "cannot be combined with --cluster")
    run = _Run(model, parse_completeness(completeness), options, console, table)
    if mode == "features":
        run.features(list(images), None if labels is None else parse_labels(labels))
    elif mode == "images":
        run.images(list(images))
    elif mode == "labels":
        run.labels(parse_labels(labels or ""))
    elif out is not None:
        run.to_file(out, file_format, prefix, cluster, defuse_formulas=defuse_formulas)
    elif write is not None:
        run.to_collection(write, file_format, prefix, writing)


def _mode(
    images: Sequence[str], labels: str | None, all_images: bool, out: Path | None, write: Path | None, by_features: bool
) -> Mode:
    """Return what to annotate and where the suggestions go."""
    if sum((bool(images), labels is not None, all_images)) != 1 and (all_images or not by_features):
        raise misuse("IMAGE", "give exactly one of IMAGE, --labels and --all")
    if all_images != (out is not None or write is not None):
        raise misuse("--all", "--all and --out FILE or --write SOURCE must be given together")
    if out is not None and write is not None:
        raise misuse("--write", "cannot be combined with --out")
    if all_images:
        return "file" if out is not None else "collection"
    if by_features:
        return "features"
    return "images" if images else "labels"


@dataclass(frozen=True)
class _Run:
    """The four modes, each a method."""

    model: Path
    completeness: float | dict[str, float] | None
    options: SuggestOptions
    console: Console
    table: FeatureTable | None = None

    def images(self, images: list[str]) -> None:
        """Print suggestions for images of the model."""
        annotator = self._load()
        known = annotator.known_
        images = [_find_image(known.images, image) for image in images]
        found = annotator.annotate(images, **self.options)
        if not annotator.config_.has_features:
            note_unlabeled(known, self.console, images)
        self._print(images, found)

    def features(self, images: list[str], given: list[str] | None) -> None:
        """Print suggestions for images by their features, and by the labels given or that the model knows of them."""
        annotator, table = self._load(), self.table
        if table is None:
            return
        images = [_find_image(table.images, image) for image in images] or list(table.images)
        table = table.aligned(annotator.known_.feature_names, "the file of features")
        chosen = table.matrix[table.images.numbers(images)]
        known = annotator.known_
        labels = [
            given if given is not None else known.labels_of(image) if image in known.images else [] for image in images
        ]
        self._print(images, annotator.annotate(features=chosen, labels=labels, **self.options))

    def _print(self, images: Sequence[str], found: Sequence[Suggestions]) -> None:
        document, rows = [], []
        for image, suggestions in zip(images, found, strict=True):
            document.append({"image": image, "suggestions": self._json(suggestions)})
            names = [image, *[""] * len(suggestions)]  # the first row names the image
            rows += [(name, *row) for name, row in zip(names, _rows(suggestions), strict=False)]
        self.console.result(document, self._table(("image", *_COLUMNS), rows))
        best = next(((image, first[0].label) for image, first in zip(images, found, strict=True) if first), None)
        self.console.finish(
            f"{plural(sum(map(len, found)), 'suggestion')} for {plural(len(images), 'image')}.",
            *(("explain", self.model, *best) if best else ()),
        )

    def labels(self, labels: list[str]) -> None:
        """Print suggestions for a new image with some labels."""
        found = self._load().annotate(labels=labels, **self.options)
        document = [{"image": None, "labels": labels, "suggestions": self._json(found)}]
        self.console.result(document, self._table(_COLUMNS, _rows(found)))
        self.console.finish(
            f"{plural(len(found), 'label')} would suit such an image.", "search", self.model, *labels[:1]
        )

    def to_file(
        self, out: Path, file_format: str | None, prefix: str, cluster: ClusterOptions, *, defuse_formulas: bool
    ) -> None:
        """Write suggestions for all images to a file."""
        from vse_ens.export.suggestions import format_of

        form = file_format or format_of(out)  # fails on an unknown suffix before the model is loaded
        annotator = self._load()
        with self.console.progress("annotating", self._count(annotator), "images") as progress:
            written = annotator.annotate_all(
                out,
                form,
                features=self.table,
                prefix=prefix,
                defuse_formulas=defuse_formulas,
                progress=progress,
                **vars(cluster),
                **self.options,
            )
        if not annotator.config_.has_features and self.table is None:
            note_unlabeled(annotator.known_, self.console)
        counts = asdict(written)
        rows = [(name.replace("_", " "), f"{count:,}") for name, count in counts.items()]
        self.console.result({"file": str(out), **counts}, facts([("file", str(out)), *rows]))
        self.console.finish(f"The suggestions for all images are in {out}.", "audit", self.model)

    def to_collection(self, source: Path, source_format: str | None, prefix: str, writing: WriteOptions) -> None:
        """Add suggestions for all images to their collection."""
        collection = writing.open(source, source_format)  # fails before the model is loaded
        annotator = self._load()
        with self.console.progress("annotating", self._count(annotator), "images") as progress:
            edits = annotator.suggested_edits(features=self.table, progress=progress, **self.options)
        least = self.options["min_confidence"]
        given = "" if "min_confidence" in given_parameters() else ", the default"
        rows = [("confidence", f"at least {least:g}{given}; change it with --min-confidence")]
        report = writing.write(collection, edits, self.console, prefix=prefix, rows=rows, confidences=edits.confidences)
        if report.written.journal is not None:
            self._note_suggested(report, collection, prefix, edits)
        if not annotator.config_.has_features and self.table is None:
            note_unlabeled(annotator.known_, self.console)
        reached = sum(len(edit.add) for edit in edits.values())
        if edits.confidences and reached * _FEW < len(edits):
            self.console.note(self._why_few(annotator, edits, reached, source, collection.format))
        elif reached and not report.added and not report.missing:
            self.console.note(f"{source} has the {plural(reached, 'suggestion')} of a confidence of {least:g} already")

    def _note_suggested(
        self, report: WriteReport, collection: WritableCollection, prefix: str, edits: SuggestedEdits
    ) -> None:
        """Write what was suggested to the journal, from which ``vse feedback collect`` takes it."""
        from vse_ens.data.collections.journal import Suggested, note_suggested
        from vse_ens.storage.reader import manifest_digest

        labels: dict[str, dict[str, float | None]] = {}
        for image, edit in report.edits.items():
            known = edits.confidences.get(image, {})
            labels[image] = {label: known.get(label) for label in (one.removeprefix(prefix) for one in edit.add)}
        model = manifest_digest(self.model)[:12]
        about = Suggested(collection.path, collection.format, prefix, model, labels)
        if report.written.journal is not None:
            note_suggested(report.written.journal, about)

    def _why_few(
        self, annotator: Annotator, edits: SuggestedEdits, reached: int, source: Path, source_format: str
    ) -> str:
        """Return why few or no suggestions are written, and what to try."""
        calibration = annotator.calibration_
        found = calibration and calibration.completeness
        assumed = "" if not found else f", assuming that {found.mean:.0%} of the right labels are recorded "
        assumed += "" if not found else "(given)" if found.is_given else "(estimated)"
        tried = f"{min(self.options['min_confidence'], edits.best) / 2:.1g}"
        command = ["vse", "annotate", self.model, "--all", "--write", source, "--min-confidence", tried]
        if source_format == "photos":
            command += ["--prefix", "suggested|"]
        return (
            f"of {edits.found:,} suggestions, {reached or 'none'} reached that confidence; the best has "
            f"{edits.best:.2g}{assumed}; to look at more, from {tried} "
            f"on: {shlex.join(map(str, command))} --dry-run; if more labels are missing than assumed, say so: vse "
            f"calibrate {shlex.quote(str(self.model))} --completeness 0.5"
        )

    def _count(self, annotator: Annotator) -> int:
        return len(annotator.known_.images if self.table is None else self.table.images)

    def _load(self) -> Annotator:
        annotator = load_model(self.model, self.console)
        return annotator if self.completeness is None else annotator.calibrate(completeness=self.completeness)

    def _json(self, suggestions: Sequence[Suggestion]) -> list[dict[str, Any]]:
        return [
            {
                "label": one.label,
                "score": one.score,
                "confidence": one.confidence,
                "hit": one.hit,
                **({"because": reasons_json(one.because)} if self.options["explain"] else {}),
            }
            for one in suggestions
        ]

    def _table(self, names: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
        width = len(names) if self.options["explain"] else len(names) - 1
        return columns(names[:width], [row[:width] for row in rows], numbers=("confidence", "hit", "score"))


def _find_image(images: Vocabulary, name: str) -> str:
    """Return the id of an image: the name, or the one id that ends with this path or that the path ends with."""
    if name in images or not name:
        return name
    path = name.replace(os.sep, "/").removeprefix("./")
    found = [one for one in images if one.endswith(f"/{path}") or path.endswith(f"/{one}")]
    return found[0] if len(found) == 1 else name


def _rows(suggestions: Sequence[Suggestion]) -> list[tuple[str, ...]]:
    from vse_ens.curate.explain import reasons_text

    return [
        (
            one.label,
            confidence_text(one.confidence),
            confidence_text(one.hit),
            f"{one.score:.2f}",
            reasons_text(one.because),
        )
        for one in suggestions
    ] or [("(none)", "", "", "", "")]
