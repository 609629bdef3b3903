"""How pairs are read: the options of every command that reads some."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from vse_ens.cli.screen import Screen
    from vse_ens.data.annotations import Annotations
    from vse_ens.data.part_files import PartFiles

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

    def read(self, path: Path, screen: Screen) -> Annotations:
        """Read a file of pairs; what a user should know about it is told in the notes of the result."""
        with screen.busy(f"reading {path}"):
            from vse_ens.data.readers import read

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
        from vse_ens.data.part_files import PartFiles

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
