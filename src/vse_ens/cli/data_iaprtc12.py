"""``vse data iaprtc12``: the pairs in IAPR TC-12's labels or descriptions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from vse_ens.cli.loading import Downloaded, Out, load
from vse_ens.cli.screen import Screen


def iaprtc12(
    path: Downloaded,
    out: Out,
    *,
    form: Annotated[
        Literal["hvecs", "mat", "texts"] | None,
        typer.Option(
            metavar="NAME",
            show_default="the first of these that is there",
            help="hvecs: TagProp's files. mat: MATLAB's. texts: dictionary words in the .eng descriptions.",
        ),
    ] = None,
    split: Annotated[
        Literal["train", "test"] | None,
        typer.Option(metavar="NAME", show_default="all", help="The images of one image list."),
    ] = None,
    dictionary: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default="the one in PATH", help="The names of the labels, one a line."),
    ] = None,
    screen: Screen,
) -> None:
    """Read IAPR TC-12's 291 labels, or look its dictionary up in the descriptions.

    PATH is a folder with the unpacked files, or one .hvecs, .mat or .eng file.
    """
    from vse_ens.data.iaprtc12 import read_iaprtc12

    load(
        path,
        out,
        lambda tell: read_iaprtc12(path, form=form, split=split, dictionary=dictionary, progress=tell),
        screen,
    )
