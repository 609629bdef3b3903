"""``vse data iaprtc12``: convert the labels or descriptions of IAPR TC-12."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from vse_ens.cli.commands.data.published import DownloadedPath, OutFile, convert
from vse_ens.cli.console import Console


def iaprtc12(
    path: DownloadedPath,
    out: OutFile,
    *,
    form: Annotated[
        Literal["hvecs", "mat", "texts"] | None,
        typer.Option(
            metavar="NAME",
            show_default="the first of these in PATH",
            help="hvecs: TagProp files. mat: MATLAB files. texts: dictionary words in the .eng descriptions.",
        ),
    ] = None,
    split: Annotated[
        Literal["train", "test"] | None,
        typer.Option(metavar="NAME", show_default="all", help="Read the images of one image list."),
    ] = None,
    dictionary: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default="the one in PATH", help="Names of the labels, one per line."),
    ] = None,
    console: Console,
) -> None:
    """Convert the 291 labels of IAPR TC-12, or find its dictionary words in the descriptions.

    PATH is a folder with the unpacked files, or one .hvecs, .mat or .eng file.
    """
    from vse_ens.data.datasets.iaprtc12 import read_iaprtc12

    convert(
        path,
        out,
        lambda progress: read_iaprtc12(path, form=form, split=split, dictionary=dictionary, progress=progress),
        console,
    )
