"""Arguments and option groups that commands share.

An option group is a dataclass whose fields are typer options. A command that has one as a parameter gets all its
options on the command line and receives the filled dataclass:

    def info(file: PairsFile, reading: ReadOptions, console: Console) -> None: ...

    add_command(app, info, example="vse info pairs.csv")
"""

from __future__ import annotations

import csv
import functools
import inspect
import json
import re
import shlex
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer
from rich.text import Text
from typer.core import TyperCommand

from vse_ens.cli.console import Console, ReadingProgress, facts
from vse_ens.cli.conversion import PlainCommand
from vse_ens.config import LOSSES, METRICS, SAMPLERS, TOWERS
from vse_ens.errors import ConfigError, ModelError
from vse_ens.presets import PRESETS

if TYPE_CHECKING:
    from vse_ens.annotator import Annotator
    from vse_ens.data.annotations import Annotations
    from vse_ens.data.collections.base import FileChange, LabelEdit, WritableCollection
    from vse_ens.data.partition.parts import PartFiles

Command = Callable[..., None]

PAIRS_HELP = (
    "A file of (image, label) pairs (csv, tsv, txt, jsonl or parquet, optionally gzipped), or a collection such as a "
    "folder of photos with keywords; see docs/collections.md."
)

PairsFile = Annotated[Path, typer.Argument(metavar="PAIRS", show_default=False, help=PAIRS_HELP)]
ModelDir = Annotated[Path, typer.Argument(metavar="MODEL", show_default=False, help="A model directory.")]
HubRepo = Annotated[
    str,
    typer.Argument(metavar="USER/NAME", show_default=False, help="A model repository on the Hugging Face Hub."),
]
CollectionPath = Annotated[
    Path,
    typer.Option("--to", metavar="SOURCE", show_default=False, help="The collection to write to: a folder or a file."),
]
CollectionFormat = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", show_default=False, help="Format of SOURCE; recognised by default."),
]
CompletenessOption = Annotated[
    str | None,
    typer.Option(
        metavar="X",
        show_default=False,
        help="Share of all right labels that the data record, such as 0.7, or a .csv file with a label and its share "
        "per line. By default it is estimated.",
    ),
]
LabelsOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,C",
        show_default=False,
        help="Comma-separated labels of a new image, instead of an image of the model.",
    ),
]
DefuseFormulas = Annotated[
    bool,
    typer.Option(
        "--defuse-formulas",
        help="In a .csv file, put an apostrophe before text that a spreadsheet would run as a formula.",
    ),
]
Workers = Annotated[
    int | None, typer.Option(metavar="N", min=1, show_default="all cores", help="Number of worker threads.")
]

Portable = Annotated[
    bool,
    typer.Option(
        "--portable", help="Compute so that every x86-64-v3 machine gives the same bytes; slower on newer ones."
    ),
]


def add_command(
    app: typer.Typer,
    function: Command,
    *,
    example: str,
    cls: type[TyperCommand] = PlainCommand,
    name: str | None = None,
) -> None:
    """Register a function as a command, by default under its own name, with help that ends with ``example``."""
    app.command(name, cls=cls, epilog=f"\b\nExample:\n  $ {example}")(expand_options(function))


def expand_options(function: Command) -> Command:
    """Return the function with every option group in its signature replaced by the group's options."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, type[Any]] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if is_dataclass(group := hints[name]) and isinstance(group, type):
            groups[name] = group
            parameters += _group_parameters(group)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name]))

    @functools.wraps(function)
    def run(**values: Any) -> None:
        filled = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        function(**values, **filled)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _group_parameters(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(group)
    ]


def _read_option(metavar: str | None, text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, **{"show_default": False, **more})


@dataclass
class ReadOptions:
    """Options of commands that read pairs."""

    image_column: Annotated[
        str | None, _read_option("NAME", "Column of image IDs: its name, or its number from 0.")
    ] = None
    label_column: Annotated[
        list[str] | None,
        _read_option("NAME", "Column of labels: its name, or its number from 0. Several: repeat it, or use commas."),
    ] = None
    header: Annotated[
        bool | None,
        _read_option(None, "Whether line 1 has column names; detected by default.", "--header/--no-header"),
    ] = None
    separator: Annotated[str | None, _read_option("CHAR", "Column separator; detected by default.")] = None
    quote: Annotated[str, _read_option("CHAR", "Quote character; '' disables quoting.")] = '"'
    layout: Annotated[
        Literal["long", "wide"] | None,
        _read_option("NAME", "long: one pair per row. wide: one image with its labels per row."),
    ] = None
    label_separator: Annotated[str | None, _read_option("TEXT", "Separator between the labels of a row.")] = None
    label_namespaces: Annotated[
        bool,
        _read_option(None, "Put the column's name in front of a label, as in artist:monet.", "--label-namespaces"),
    ] = False
    format: Annotated[
        str | None,
        _read_option(
            "NAME", "Format, such as csv, photos or coco; recognised by default. docs/collections.md lists all."
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        _read_option("PATTERN", "Leave out labels that match, such as 'suggested|*'; may be repeated."),
    ] = None
    ancestors: Annotated[
        bool, _read_option(None, "Give an image with the label place|beach the label place too.", "--ancestors")
    ] = False
    merge_spelling: Annotated[
        bool, _read_option(None, "Merge labels that differ only in case or accents.", "--merge-spelling")
    ] = False
    cache: Annotated[
        bool,
        _read_option(None, "Whether to keep the labels of a folder's files for the next read.", "--cache/--no-cache"),
    ] = True
    min_rating: Annotated[
        float | None, _read_option("X", "Lowest rating that makes a pair; 4 for MovieLens, else any.")
    ] = None
    rows: Annotated[
        str | None, _read_option("FILE", "Read the rows that a split of the XMC repository lists; FILE:N for column N.")
    ] = None
    rules: Annotated[
        Path | None, _read_option("FILE", "Apply the aliases, renames and implications of a rules file; see vse rules.")
    ] = None
    min_images_per_label: Annotated[
        int, _read_option("N", "Drop labels with fewer images.", min=1, show_default=True)
    ] = 1
    min_labels_per_image: Annotated[
        int, _read_option("N", "Drop images with fewer labels.", min=1, show_default=True)
    ] = 1

    def read(self, path: Path, console: Console) -> Annotations:
        """Read a file of pairs or a collection. The result carries notes for the user, such as merged duplicates."""
        with ReadingProgress(console, path) as progress:
            from vse_ens.data.io.read import read

            return read(
                path,
                image=_column(self.image_column),
                label=_columns(self.label_column),
                header=self.header,
                separator=self.separator,
                quote=self.quote or None,
                format=self.format,
                layout=self.layout,
                label_separator=self.label_separator,
                label_namespaces=self.label_namespaces,
                min_images_per_label=self.min_images_per_label,
                min_labels_per_image=self.min_labels_per_image,
                ignore=self.ignore or (),
                ancestors=self.ancestors,
                merge_spelling=self.merge_spelling,
                rules=self.rules,
                cache=self.cache,
                min_rating=self.min_rating,
                rows=self.rows,
                on_progress=progress,
            )

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

        labels = _columns(self.label_column) or []
        if len(labels) > 1:
            raise ConfigError(f"{path} is a folder of Parquet files, which takes one --label-column")
        return PartFiles.find(_address(path), _column(self.image_column), labels[0] if labels else None)


def _address(path: Path) -> str:
    """Return a path as it was typed; ``Path`` drops one slash of ``s3://``."""
    return re.sub(r"^([a-z][a-z0-9+]+):/(?!/)", r"\1://", str(path))


def _column(text: str | None) -> str | int | None:
    """Return a column number if the text is one, since files without a header have no column names."""
    return int(text) if text is not None and text.isdecimal() else text


def _columns(texts: list[str] | None) -> list[str | int] | None:
    """Return columns that were named one by one or with commas between them."""
    names = [name for text in texts or () for name in text.split(",")]
    return [column for name in names if (column := _column(name)) is not None] or None


_PANEL = "Training"


def _setting_option(help_text: str, metavar: str = "X", *names: str) -> Any:
    """Return an option for a setting that comes from the preset by default."""
    return typer.Option(*names, metavar=metavar, rich_help_panel=_PANEL, show_default=False, help=help_text)


@dataclass
class TrainOptions:
    """Options of commands that train."""

    preset: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            rich_help_panel=_PANEL,
            help=f"Model preset: {', '.join(PRESETS)}, or a .toml file of vse tune.",
        ),
    ] = "context"
    sampler: Annotated[str | None, _setting_option(f"Negative sampler: {', '.join(SAMPLERS)}.", "NAME")] = None
    loss: Annotated[str | None, _setting_option(f"Ranking loss: {', '.join(LOSSES)}.", "NAME")] = None
    tower: Annotated[str | None, _setting_option(f"Source of image vectors: {', '.join(TOWERS)}.", "NAME")] = None
    dimensions: Annotated[int | None, _setting_option("Length of a vector.", "K")] = None
    epochs: Annotated[int | None, _setting_option("Number of passes over the pairs.", "N")] = None
    rank_scale: Annotated[
        float | None,
        _setting_option("Scale of sampled ranks relative to the label count (vse-ens, naive).", "X", "--lambda"),
    ] = None
    learning_rate: Annotated[float | None, _setting_option("Learning rate.")] = None
    learning_rate_decay: Annotated[float | None, _setting_option("Factor on the learning rate after every epoch.")] = (
        None
    )
    regularization: Annotated[float | None, _setting_option("L2 regularization of the vectors.")] = None
    negatives: Annotated[int | None, _setting_option("Negatives per positive (softmax).", "M")] = None
    validate: Annotated[
        bool | None,
        _setting_option("Hold out one label of some images and keep the best epoch on them.", "", "--validate"),
    ] = None
    metric: Annotated[str | None, _setting_option(f"Validation metric: {', '.join(METRICS)}.", "NAME")] = None
    patience: Annotated[int | None, _setting_option("Epochs without improvement before training stops.", "N")] = None
    shards: Annotated[
        int | None,
        _setting_option("Parts of the images trained separately, for a cluster; changes the model.", "N"),
    ] = None
    more: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            rich_help_panel=_PANEL,
            show_default=False,
            help="Any other setting of docs/training.md, such as margin=0.5; may be repeated.",
        ),
    ] = None
    seed: Annotated[int, typer.Option(metavar="N", rich_help_panel=_PANEL, help="Random seed; part of the model.")] = 0
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            rich_help_panel=_PANEL,
            show_default="all cores",
            help="Number of worker threads; does not change the model on one kind of CPU.",
        ),
    ] = None

    def settings(self) -> dict[str, Any]:
        """Return the settings given, by the field names of `vse_ens.config.Config`."""
        fixed = {name: value for name, value in vars(self).items() if name not in ("preset", "more", "seed", "workers")}
        given = {name: value for name, value in fixed.items() if value is not None}
        return given | dict(map(parse_setting, self.more or []))


def parse_setting(text: str) -> tuple[str, Any]:
    """Parse NAME=VALUE of ``--set``."""
    name, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE, such as margin=0.5", param_hint="'--set'")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


@dataclass
class ClusterOptions:
    """Options of commands that can run on a cluster."""

    cluster: Annotated[
        Literal["ray"] | None,
        typer.Option(metavar="ray", show_default=False, help="Run on a Ray cluster; see docs/scale.md."),
    ] = None
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", show_default=False, help="Cluster address; by default one starts on this machine."
        ),
    ] = None
    allow_mixed_cpus: Annotated[
        bool,
        typer.Option(
            "--allow-mixed-cpus", help="Go on although CPUs of several kinds take part, which changes the last bits."
        ),
    ] = False


@dataclass
class WriteOptions:
    """Options of commands that write labels to a collection."""

    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the changes as a diff and write nothing.")] = False
    journal: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default="a new file in ~/.local/state/vse-ens/undo",
            help="The undo journal to write, for vse undo.",
        ),
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
    ) -> None:
        """Write the edits, or show them, and print the result; ``more`` is added to the JSON document."""
        from vse_ens.data.collections.journal import default_journal, diff
        from vse_ens.data.collections.write import write_labels

        diffs: list[dict[str, str]] = []

        def show(change: FileChange) -> None:
            text = diff(change)
            if console.json:
                diffs.append({"file": str(change.path), "diff": text})
            else:
                console.out.print(Text(text.rstrip("\n")), soft_wrap=True)

        planned = self.journal or default_journal()
        try:
            with console.progress("writing", max(len(edits), 1), "files") as progress:
                report = write_labels(
                    collection,
                    edits,
                    planned,
                    prefix=prefix,
                    dry_run=show if self.dry_run else None,
                    progress=progress,
                )
        except KeyboardInterrupt:
            if planned.exists():
                console.log(f"stopped; vse undo {shlex.quote(str(planned))} restores the files written so far")
            raise
        for note in report.notes:
            console.note(note)
        files, journal = report.written.files, report.written.journal
        document: dict[str, Any] = {
            "source": str(collection.path),
            "format": collection.format,
            "dry_run": self.dry_run,
            "images": report.images,
            "labels_added": report.added,
            "labels_removed": report.removed,
            "files": [str(path) for path in files],
            "skipped": [str(path) for path in report.written.skipped],
            "missing": report.missing,
            "journal": None if journal is None else str(journal),
            "notes": report.notes,
            **(more or {}),
        }
        if self.dry_run:
            document["changes"] = diffs
        rows = [
            ("source", f"{collection.path} ({collection.format})"),
            ("images", f"{report.images:,}"),
            ("labels", f"{report.added:,} added, {report.removed:,} removed"),
            ("files", f"{len(files):,}" + (" would change" if self.dry_run else " written")),
        ]
        console.result(document, facts(rows))
        if journal is not None and not console.json:
            # A long path must not be broken: people copy this line.
            console.out.print(Text(f"to undo: vse undo {shlex.quote(str(journal))}"), soft_wrap=True)
        what = "Nothing was written: this was a trial." if self.dry_run else "The collection has the labels."
        console.finish(what, *(("undo", journal) if journal is not None else ()))


def load_model(path: Path, console: Console) -> Annotator:
    """Load the model in a directory."""
    with console.status(f"loading {path}"):
        from vse_ens.annotator import Annotator

        return Annotator.load(path)


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
    path, hint = Path(text), "'--completeness'"
    if not path.is_file():
        raise typer.BadParameter(
            f"{text!r} is neither a number such as 0.7 nor a file of labels and numbers", param_hint=hint
        )
    found: dict[str, float] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, row in enumerate(csv.reader(file), 1):
            try:
                found[row[0]] = float(row[1])
            except (IndexError, ValueError):
                if number > 1 and row:  # the first line may be a header
                    raise typer.BadParameter(
                        f"{path}, line {number} must be a label and a number, such as beach,0.7", param_hint=hint
                    ) from None
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
        raise typer.BadParameter(f"{path} is not UTF-8 text with one label per line") from error
    return [label for line in lines if (label := line.strip())]
