"""``vse data openimages``: the pairs in Open Images' image-level labels."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from vse_ens.cli.loading import Downloaded, Out, load
from vse_ens.cli.screen import Screen


def openimages(
    path: Downloaded,
    out: Out,
    *,
    source: Annotated[
        Literal["human", "machine", "both"] | None,
        typer.Option(
            metavar="NAME",
            show_default="human of a folder, all of a file",
            help="Labels that humans verified, that a machine gave, or both.",
        ),
    ] = None,
    split: Annotated[
        Literal["train", "validation", "test"] | None,
        typer.Option(metavar="NAME", show_default="all that are there", help="One split of a folder."),
    ] = None,
    min_confidence: Annotated[
        float, typer.Option(metavar="X", min=0, max=1, help="Leave out labels of a machine with less confidence.")
    ] = 0.5,
    names: Annotated[
        bool | None,
        typer.Option(
            "--names/--ids",
            show_default="names, where a file of names is there",
            help="Labels by name, or by id such as /m/01g317.",
        ),
    ] = None,
    screen: Screen,
) -> None:
    """Read Open Images' image-level labels, versions 1 to 7.

    PATH is a folder with the csv files as they were downloaded, or one of them. Labels that humans verified as absent
    are left out.
    """
    from vse_ens.data.openimages import read_openimages

    load(
        path,
        out,
        lambda tell: read_openimages(
            path, source=source, split=split, min_confidence=min_confidence, names=names, progress=tell
        ),
        screen,
    )
