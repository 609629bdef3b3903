"""Arguments and groups of options that commands share; see `vse_ens.cli.parameters`."""

from __future__ import annotations

import csv
import getpass
import json
import re
import shlex
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_origin, get_type_hints

import click

from vse_ens.cli.console import Console, ReadingProgress, facts
from vse_ens.cli.parameters import Argument, Field, Option, misuse
from vse_ens.config import LOSSES, METRICS, SAMPLERS, TOWERS
from vse_ens.errors import ConfigError, ModelError
from vse_ens.presets import PRESETS
from vse_ens.read_options import DEFAULTS, ReadOptions

if TYPE_CHECKING:
    from vse_ens.annotator import Annotator
    from vse_ens.data.annotations import Annotations
    from vse_ens.data.collections.base import FileChange, LabelEdit, WritableCollection
    from vse_ens.data.collections.write import WriteReport
    from vse_ens.data.features import FeatureTable
    from vse_ens.data.partition.parts import PartFiles

PAIRS_HELP = (
    "A file of (image, label) pairs (csv, tsv, txt, jsonl or parquet, optionally gzipped), or a collection such as a "
    "folder of photos with keywords; see docs/collections.md."
)

PairsFile = Annotated[Path, Argument(PAIRS_HELP, "PAIRS")]
ModelDir = Annotated[Path, Argument("A model directory.", "MODEL")]
HubRepo = Annotated[str, Argument("A model repository on the Hugging Face Hub.", "USER/NAME")]
CollectionPath = Annotated[Path, Option("The collection to write to: a folder or a file.", "SOURCE", name="--to")]
CollectionFormat = Annotated[str | None, Option("Format of SOURCE; recognized by default.", "NAME", name="--format")]
Person = Annotated[str | None, Option("Your name, kept with the event.", "NAME", name="--by", default="your user name")]
CompletenessOption = Annotated[
    str | None,
    Option(
        "Share of all right labels that the data record, such as 0.7, or a .csv file with a label and its share "
        "per line. By default it is estimated.",
        "X",
    ),
]
LabelsOption = Annotated[
    str | None, Option("Comma-separated labels of an image, instead of those that the model knows.", "A,B,C")
]
FeaturesOption = Annotated[
    Path | None,
    Option(
        "Features of images: a .npy, .npz, .safetensors, Parquet or CSV file, or a folder of clip-retrieval; see "
        "docs/features.md.",
        "FILE",
    ),
]
Nearby = Annotated[
    bool, Option("Use folders and times of photos: what photos of one folder, day or hour have in common.")
]
ScoresOption = Annotated[
    Path | None,
    Option(
        "Tags with scores of another tagger, as features: image, tag and score per row, or a column per tag.", "FILE"
    ),
]
DefuseFormulas = Annotated[
    bool, Option("In a .csv file, put an apostrophe before text that a spreadsheet would run as a formula.")
]
Workers = Annotated[int | None, Option("Number of worker threads.", "N", min=1, default="all cores")]
Portable = Annotated[
    bool, Option("Compute so that every x86-64-v3 machine gives the same bytes; slower on newer ones.")
]


class Reading:
    """The options of commands that read pairs: those of `ReadOptions`."""

    def __init__(self, **values: Any) -> None:
        label = [_column(name) for text in values.pop("label") for name in text.split(",") if name]
        given = {name: value for name, value in values.items() if value != DEFAULTS.get(name)}
        if "image" in given:
            given["image"] = _column(given["image"])
        if "quote" in given:
            given["quote"] = given["quote"] or None
        if label:
            given["label"] = label
        self.options: ReadOptions = given  # type: ignore[assignment]  # has the keys of ReadOptions
        self.rules = None if values["rules"] is None else Path(values["rules"])
        self.format: str | None = values["format"]

    @staticmethod
    def parameters() -> list[click.Parameter]:
        """Return the options for click."""
        hints = get_type_hints(ReadOptions, include_extras=True)
        return [
            Field(name, hint, DEFAULTS.get(name)).parameter("Reading options")
            for name, hint in hints.items()
            if get_origin(hint) is Annotated
        ]

    def read(self, path: Path, console: Console, *, rules: bool = True) -> Annotations:
        """Read a file of pairs or a collection. The result carries notes for the user, such as merged duplicates."""
        with ReadingProgress(console, path) as progress:
            from vse_ens.data.io.read import read

            options: ReadOptions = {**self.options, "on_progress": progress}
            return read(path, **(options if rules else {**options, "rules": None}))

    def is_parts(self, path: Path) -> bool:
        """Return whether a path is a folder of Parquet files or an address such as s3://bucket/pairs."""
        if "://" in _address(path):
            return True
        if not path.is_dir() or self.format not in (None, "parquet"):
            return False
        from vse_ens.data.collections.detect import find_collection

        return find_collection(path) is None

    def parts(self, path: Path) -> PartFiles:
        """Return the Parquet files of a folder."""
        from vse_ens.data.partition.parts import PartFiles

        labels = self.options.get("label") or []
        if isinstance(labels, str | int) or len(labels) > 1:
            raise ConfigError(f"{path} is a folder of Parquet files, which takes one --label-column")
        return PartFiles.find(_address(path), self.options.get("image"), labels[0] if labels else None)


def _address(path: Path) -> str:
    """Return a path as it was typed; ``Path`` drops one slash of ``s3://``."""
    return re.sub(r"^([a-z][a-z0-9+]+):/(?!/)", r"\1://", str(path))


def _column(text: str) -> str | int:
    """Return a column number if the text is one, since files without a header have no column names."""
    return int(text) if text.isdecimal() else text


@dataclass
class TrainOptions:
    """Options of commands that train."""

    SECTION: ClassVar = "Training options"

    preset: Annotated[str, Option(f"Model preset: {', '.join(PRESETS)}, or a .toml file of vse tune.", "NAME")] = (
        "context"
    )
    sampler: Annotated[str | None, Option(f"Negative sampler: {', '.join(SAMPLERS)}.", "NAME")] = None
    loss: Annotated[str | None, Option(f"Ranking loss: {', '.join(LOSSES)}.", "NAME")] = None
    tower: Annotated[str | None, Option(f"Source of image vectors: {', '.join(TOWERS)}.", "NAME")] = None
    dimensions: Annotated[int | None, Option("Length of a vector.", "K")] = None
    epochs: Annotated[int | None, Option("Number of passes over the pairs.", "N")] = None
    rank_scale: Annotated[
        float | None, Option("Scale of sampled ranks relative to the label count (vse-ens, naive).", "X", "--lambda")
    ] = None
    learning_rate: Annotated[float | None, Option("Learning rate.", "X")] = None
    learning_rate_decay: Annotated[float | None, Option("Factor on the learning rate after every epoch.", "X")] = None
    regularization: Annotated[float | None, Option("L2 regularization of the vectors.", "X")] = None
    negatives: Annotated[int | None, Option("Negatives per positive (softmax).", "M")] = None
    validate: Annotated[
        bool | None, Option("Hold out one label of some images and keep the best epoch on them.", name="--validate")
    ] = None
    metric: Annotated[str | None, Option(f"Validation metric: {', '.join(METRICS)}.", "NAME")] = None
    patience: Annotated[int | None, Option("Epochs without improvement before training stops.", "N")] = None
    shards: Annotated[
        int | None, Option("Parts of the images trained separately, for a cluster; changes the model.", "N")
    ] = None
    overrides: Annotated[
        Sequence[str],
        Option(
            "Any other setting of docs/training.md, such as margin=0.5; may be repeated.", "NAME=VALUE", name="--set"
        ),
    ] = ()
    seed: Annotated[int, Option("Random seed; part of the model.", "N")] = 0
    workers: Annotated[
        int | None,
        Option("Number of worker threads; does not change the model on one kind of CPU.", "N", default="all cores"),
    ] = None

    def settings(self) -> dict[str, Any]:
        """Return the settings given, by the field names of `vse_ens.config.Config`."""
        fixed = {
            name: value for name, value in vars(self).items() if name not in ("preset", "overrides", "seed", "workers")
        }
        given = {name: value for name, value in fixed.items() if value is not None}
        return given | dict(map(parse_setting, self.overrides))


def parse_setting(text: str) -> tuple[str, Any]:
    """Parse NAME=VALUE of ``--set``."""
    name, equals, value = text.partition("=")
    if not equals:
        raise misuse("--set", f"{text!r} is not NAME=VALUE, such as margin=0.5")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


@dataclass
class ClusterOptions:
    """Options of commands that can run on a cluster."""

    SECTION: ClassVar = "Cluster options"

    cluster: Annotated[Literal["ray"] | None, Option("Run on a Ray cluster; see docs/scale.md.", "ray")] = None
    address: Annotated[str | None, Option("Cluster address; by default one starts on this machine.", "HOST:PORT")] = (
        None
    )
    allow_mixed_cpus: Annotated[bool, Option("Allow different CPU types; last bits may differ.")] = False


@dataclass
class WriteOptions:
    """Options of commands that write labels to a collection."""

    dry_run: Annotated[bool, Option("Show the labels that would be added to each image, and write nothing.")] = False
    diff: Annotated[bool, Option("Like --dry-run, but show the change of every file as a diff.")] = False
    journal: Annotated[
        Path | None,
        Option("The undo journal to write, for vse undo.", "FILE", default="a new file in ~/.local/state/vse-ens/undo"),
    ] = None

    def open(self, source: Path, source_format: str | None) -> WritableCollection:
        """Open a collection to write to."""
        from vse_ens.data.collections.detect import open_collection
        from vse_ens.data.collections.write import writable

        return writable(open_collection(source, source_format))

    def write(
        self,
        collection: WritableCollection,
        edits: Mapping[str, LabelEdit],
        console: Console,
        *,
        prefix: str = "",
        more: Mapping[str, Any] | None = None,
        rows: Sequence[tuple[str, str]] = (),
        confidences: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
    ) -> WriteReport:
        """Write the edits, or show them, and print the result.

        ``more`` is added to the JSON document and ``rows`` to the table. ``confidences`` has one for each added label.
        """
        from vse_ens.data.collections.journal import default_journal, diff
        from vse_ens.data.collections.write import write_labels

        journal = self.journal or default_journal()
        changes: list[dict[str, str]] = []

        def show(change: FileChange) -> None:
            changes.append({"file": str(change.path), "diff": diff(change)})
            if self.diff:
                console.line(changes[-1]["diff"].rstrip("\n"))

        is_trial = self.dry_run or self.diff
        dry_run = show if is_trial else None
        try:
            with console.progress("writing", max(len(edits), 1), "files") as progress:
                report = write_labels(collection, edits, journal, prefix=prefix, dry_run=dry_run, progress=progress)
        except KeyboardInterrupt:
            if journal.exists():
                console.log(f"stopped; vse undo {shlex.quote(str(journal))} restores the files written so far")
            raise
        console.notes(report.notes)
        likely = {
            image: [confidences[image][label.removeprefix(prefix)] for label in edit.add]
            for image, edit in (report.edits.items() if confidences else ())
        }
        document = {"source": str(collection.path), "format": collection.format, "dry_run": is_trial}
        document |= report.to_dict() | ({"changes": changes} if is_trial else {}) | dict(more or {})
        right = sum(map(sum, likely.values()))
        expected = f"; about {right:,.0f} of them should be right" if likely and report.added else ""
        table = [
            ("source", f"{collection.path} ({collection.format})"),
            *rows,
            ("images", f"{report.images:,}"),
            ("labels", f"{report.added:,} added, {report.removed:,} removed{expected}"),
            ("files", f"{len(report.written.files):,} {'would change' if is_trial else 'written'}"),
        ]
        if self.dry_run and not self.diff:
            _preview(report.edits, likely, console)
        console.result(document, facts(table))
        if report.written.journal is None:
            console.finish("Dry run: nothing written." if is_trial else "The collection has the labels.")
            return report
        console.line(f"to undo: vse undo {shlex.quote(str(journal))}")
        console.finish("The collection has the labels.", "undo", journal)
        return report


def _preview(changed: Mapping[str, LabelEdit], confidences: Mapping[str, Sequence[float]], console: Console) -> None:
    """Print the change of every image, and how often each label is added and removed."""
    totals: Counter[str] = Counter()
    for image, edit in changed.items():
        marked = [*(f"+ {label}" for label in edit.add), *(f"- {label}" for label in edit.remove)]
        percents = (f" {100 * one:.0f} %" for one in confidences.get(image, ()))
        console.line("  ".join([image, *(text + next(percents, "") for text in marked)]))
        totals.update(marked)
    if totals:
        shown = [f"{label} {count:,}" for label, count in totals.most_common(20)]
        more = len(totals) - len(shown)
        console.line(f"in all: {', '.join([*shown, f'and {more:,} more labels'] if more else shown)}")


def load_model(path: Path, console: Console) -> Annotator:
    """Load the model in a directory."""
    with console.status(f"loading {path}"):
        from vse_ens.annotator import Annotator

        return Annotator.load(path)


def user_name() -> str:
    """Return the name of the user."""
    try:
        return getpass.getuser() or "anonymous"
    except (KeyError, OSError):  # no entry in the list of users, as in some containers
        return "anonymous"


def read_table(features: Path | None, scores: Path | None, console: Console) -> FeatureTable | None:
    """Return the features that the options name; None without options."""
    if features is not None and scores is not None:
        raise misuse("--scores", "cannot be combined with --features")
    path = features or scores
    if path is None:
        return None
    from vse_ens.data.features import read_features, read_scores

    with console.status(f"reading {path}"):
        return read_features(path) if features is not None else read_scores(path)


def note_unlabeled(data: Annotations, console: Console, images: Sequence[str] = ()) -> None:
    """Print a note on images that have neither labels nor features: on the given ones, or on all."""
    from vse_ens.data.features.attach import squared_lengths
    from vse_ens.data.summary import unlabeled_note

    bare = data.labels_per_image == 0
    if data.features is not None:
        bare &= squared_lengths(data.features) == 0
    if images:
        bare = bare[data.images.numbers(images)]
    console.notes(unlabeled_note(int(bare.sum()), len(bare)))


def save_model(model: Annotator, out: Path) -> None:
    """Save a trained model; if that fails, as on a full disk, save it among the temporary files and say where it is."""
    try:
        model.save(out)
    except ModelError as error:
        try:
            rescued = Path(tempfile.mkdtemp(prefix="vse-")) / out.name
            model.save(rescued)
        except (ModelError, OSError):
            raise error from None
        raise ModelError(f"{error}; the trained model is in {rescued}: make space and move it to {out}") from None


def parse_labels(text: str) -> list[str]:
    """Split comma-separated labels; a label that contains a comma is in double quotes."""
    rows = csv.reader(text.splitlines(), skipinitialspace=True)
    return [label for row in rows for cell in row if (label := cell.strip())]


def parse_completeness(text: str | None) -> float | dict[str, float] | None:
    """Return the number of ``--completeness``, or the numbers of the labels in the CSV file of that name."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        pass
    path, option = Path(text), "--completeness"
    if not path.is_file():
        raise misuse(option, f"{text!r} is neither a number such as 0.7 nor a file of labels and numbers")
    found: dict[str, float] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, row in enumerate(csv.reader(file), 1):
            try:
                found[row[0]] = float(row[1])
            except (IndexError, ValueError):
                if number > 1 and row:  # the first line may be a header
                    message = f"{path}, line {number} must be a label and a number, such as beach,0.7"
                    raise misuse(option, message) from None
    return found


def parse_or_read_labels(text: str | None) -> list[str] | None:
    """Split comma-separated labels, or read them from the file of that name, one per line."""
    if text is None:
        return None
    path = Path(text)
    if not path.is_file():
        return parse_labels(text)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise click.BadParameter(f"{path} is not UTF-8 text with one label per line") from error
    return [label for line in lines if (label := line.strip())]
