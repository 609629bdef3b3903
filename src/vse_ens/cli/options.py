"""How a function becomes a command, and how commands share options.

An option group is a dataclass whose fields are typer options. A command that names one as a parameter gets all its
options on the command line and the filled-in dataclass in its hand:

    def info(file: PairsFile, reading: Reading, screen: Screen) -> None: ...

    add(app, info, example="vse info pairs.csv")

How pairs are read: the options of every command that reads some.

How a model is trained: the options of every command that trains one.

What commands that ask a trained model share: the model, and lists of labels as they are typed.
"""

from __future__ import annotations

import csv
import functools
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from vse_ens.cli.console import Console
from vse_ens.config import LOSSES, METRICS, PRESETS, SAMPLERS, TOWERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vse_ens.annotator import Annotator
    from vse_ens.curate.explain import Reason
    from vse_ens.data.annotations import Annotations
    from vse_ens.data.partition.parts import PartFiles


Function = Callable[..., None]


@dataclass
class ClusterOptions:
    """The option group of commands whose work a cluster can do."""

    cluster: Annotated[
        Literal["ray"] | None,
        typer.Option(metavar="ray", show_default=False, help="Work on a Ray cluster: docs/scale.md."),
    ] = None
    address: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", show_default=False, help="Of the cluster; else one starts on this machine."),
    ] = None


def add(app: typer.Typer, function: Function, *, example: str) -> None:
    """Make a function a command of ``app``, under its own name, with help that ends with ``example``."""
    app.command(epilog=f"\b\nExample:\n  $ {example}")(expand_options(function))


def expand_options(function: Function) -> Function:
    """The same function as typer should see it: every option group replaced by the options it holds."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, type[Any]] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if is_dataclass(group := hints[name]) and isinstance(group, type):
            groups[name] = group
            parameters += _parameters_of(group)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name]))

    @functools.wraps(function)
    def run(**given: Any) -> None:
        filled = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        function(**given, **filled)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parameters_of(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(group)
    ]


PairsFile = Annotated[
    Path,
    typer.Argument(
        metavar="PAIRS",
        show_default=False,
        help="A file of (image, label) pairs: csv, tsv, txt, jsonl or parquet, also gzipped.",
    ),
]


def _option(metavar: str | None, text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, **{"show_default": False, **more})


@dataclass
class Reading:
    """The option group of commands that read pairs."""

    image_column: Annotated[str | None, _option("NAME", "The column of image ids: its name, or its number from 0.")] = (
        None
    )
    label_column: Annotated[str | None, _option("NAME", "The column of labels, likewise.")] = None
    header: Annotated[
        bool | None, _option(None, "Whether line 1 names the columns; guessed if not said.", "--header/--no-header")
    ] = None
    separator: Annotated[str | None, _option("CHAR", "What stands between columns; found if not said.")] = None
    quote: Annotated[str, _option("CHAR", "What a column with a separator in it is put in; '' if nothing is.")] = '"'
    layout: Annotated[
        Literal["long", "wide"] | None, _option("NAME", "long: a pair a row. wide: an image and its labels a row.")
    ] = None
    label_separator: Annotated[str | None, _option("TEXT", "What stands between the labels of a row.")] = None
    format: Annotated[
        Literal["csv", "tsv", "txt", "jsonl", "parquet"] | None, _option("NAME", "What the file is; else its suffix.")
    ] = None
    min_images_per_label: Annotated[int, _option("N", "Drop labels with fewer images.", min=1, show_default=True)] = 1
    min_labels_per_image: Annotated[int, _option("N", "Drop images with fewer labels.", min=1, show_default=True)] = 1

    def read(self, path: Path, screen: Console) -> Annotations:
        """Read a file of pairs; what a user should know about it is told in the notes of the result."""
        with screen.busy(f"reading {path}"):
            from vse_ens.data.io.read import read

            return read(
                path,
                image=_column(self.image_column),
                label=_column(self.label_column),
                header=self.header,
                separator=self.separator,
                quote=self.quote or None,
                format=self.format,
                layout=self.layout,
                label_separator=self.label_separator,
                min_images_per_label=self.min_images_per_label,
                min_labels_per_image=self.min_labels_per_image,
            )

    def parts(self, path: Path) -> PartFiles:
        """The Parquet parts of a folder."""
        from vse_ens.data.partition.parts import PartFiles

        return PartFiles.find(_address(path), _column(self.image_column), _column(self.label_column))


def is_folder(path: Path) -> bool:
    """Whether it is a folder, here or in a store such as s3://bucket/pairs."""
    return path.is_dir() or "://" in _address(path)


def _address(path: Path) -> str:
    """A path as it was typed: of an address it has swallowed a slash."""
    return re.sub(r"^([a-z][a-z0-9+]+):/(?!/)", r"\1://", str(path))


def _column(text: str | None) -> str | int | None:
    """Files without a header have columns without names: there a number is a place."""
    return int(text) if text is not None and text.isdecimal() else text


_PANEL = "Training"


def _setting_option(help_text: str, metavar: str = "X", *names: str) -> Any:
    """A setting that is the preset's where it is not given."""
    return typer.Option(*names, metavar=metavar, rich_help_panel=_PANEL, show_default=False, help=help_text)


@dataclass
class Training:
    """The option group of commands that train."""

    preset: Annotated[
        str, typer.Option(metavar="NAME", rich_help_panel=_PANEL, help=f"The model: {', '.join(PRESETS)}.")
    ] = "context"
    sampler: Annotated[str | None, _setting_option(f"Where negatives come from: {', '.join(SAMPLERS)}.", "NAME")] = None
    loss: Annotated[str | None, _setting_option(f"What a wrong order costs: {', '.join(LOSSES)}.", "NAME")] = None
    tower: Annotated[str | None, _setting_option(f"How an image becomes a vector: {', '.join(TOWERS)}.", "NAME")] = None
    dimensions: Annotated[int | None, _setting_option("The length of a vector.", "K")] = None
    epochs: Annotated[int | None, _setting_option("How often every pair is visited.", "N")] = None
    rank_scale: Annotated[
        float | None,
        _setting_option("How deep vse-ens and naive draw ranks, as a share of the label count.", "X", "--lambda"),
    ] = None
    learning_rate: Annotated[float | None, _setting_option("The size of a step.")] = None
    learning_rate_decay: Annotated[float | None, _setting_option("Multiplies the learning rate after every epoch.")] = (
        None
    )
    regularization: Annotated[float | None, _setting_option("L2 on the vectors.")] = None
    negatives: Annotated[int | None, _setting_option("Negatives against one positive (softmax).", "M")] = None
    validate: Annotated[
        bool | None,
        _setting_option(
            "Hold out one label of some images, and keep the epoch that is best on them.", "", "--validate"
        ),
    ] = None
    metric: Annotated[str | None, _setting_option(f"What is best: {', '.join(METRICS)}.", "NAME")] = None
    patience: Annotated[int | None, _setting_option("Epochs without improvement before training stops.", "N")] = None
    shards: Annotated[
        int | None,
        _setting_option("Parts of the images that train apart, for a cluster; another number, another model.", "N"),
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
    seed: Annotated[int, typer.Option(metavar="N", rich_help_panel=_PANEL, help="Another seed, another model.")] = 0
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            rich_help_panel=_PANEL,
            show_default="all cores",
            help="Threads; the model is the same bytes on any number.",
        ),
    ] = None

    def settings(self) -> dict[str, Any]:
        """What was given, by the names of `vse_ens.config.Config`."""
        own = {name: value for name, value in vars(self).items() if name not in ("preset", "more", "seed", "workers")}
        return {name: value for name, value in own.items() if value is not None} | dict(map(_setting, self.more or []))


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE, such as margin=0.5", param_hint="'--set'")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


ModelFolder = Annotated[Path, typer.Argument(metavar="MODEL", show_default=False, help="A model directory.")]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,C",
        show_default=False,
        help="In place of an image of the model: the labels of any other image, with commas.",
    ),
]


def load(model: Path, screen: Console) -> Annotator:
    """The trained model in a directory."""
    with screen.busy(f"loading {model}"):
        from vse_ens.annotator import Annotator

        return Annotator.load(model)


def listed(text: str) -> list[str]:
    """Labels with commas between them; one that holds a comma stands in double quotes."""
    rows = csv.reader(text.splitlines(), skipinitialspace=True)
    return [label for row in rows for one in row if (label := one.strip())]


def listed_or_read(text: str | None) -> list[str] | None:
    """Labels with commas between them, or those in the file of that name, one a line."""
    if text is None:
        return None
    path = Path(text)
    if not path.is_file():
        return listed(text)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"{path} is not UTF-8 text with one label a line") from error
    return [label for line in lines if (label := line.strip())]


def named(reason: Reason) -> str:
    """A reason in words."""
    sources = {"image": "the image's own vector", "bias": "the label's own bias"}
    return " + ".join(reason.labels) or sources[reason.source]


def in_words(reasons: Sequence[Reason], most: int = 3) -> str:
    """The first few reasons, each with its share."""
    return ", ".join(f"{named(reason)} ({reason.share:+.2f})" for reason in reasons[:most])


def as_documents(reasons: Sequence[Reason]) -> list[dict[str, Any]]:
    """Reasons for JSON."""
    return [{"labels": list(one.labels), "share": one.share, "source": one.source} for one in reasons]


def probability(confidence: float | None) -> str:
    """A confidence as a table shows it."""
    return "-" if confidence is None else f"{confidence:.3f}"


def some(labels: Sequence[str], *, first: Sequence[str] = (), most: int = 6) -> str:
    """The labels of an image as a table shows them: a few, some of them in front."""
    ordered = sorted(labels, key=lambda label: label not in first)
    more = f" and {len(ordered) - most} more" if len(ordered) > most else ""
    return ", ".join(ordered[:most]) + more
