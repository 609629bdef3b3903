"""``vse data nuswide``: the pairs in NUS-WIDE's tags or concepts."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from vse_ens.cli.loading import Downloaded, Out, load
from vse_ens.cli.screen import Screen


def nuswide(
    path: Downloaded,
    out: Out,
    *,
    labels: Annotated[
        Literal["tags5018", "tags1k", "concepts81"] | None,
        typer.Option(
            metavar="NAME",
            show_default="tags5018 of a folder",
            help="tags5018: the users' tags of Final_Tag_List.txt. tags1k: AllTags1k.txt. concepts81: Labels_*.txt.",
        ),
    ] = None,
    split: Annotated[
        Literal["train", "test"] | None,
        typer.Option(metavar="NAME", show_default="all", help="The images of one image list."),
    ] = None,
    screen: Screen,
) -> None:
    """Read NUS-WIDE's tags or concepts; images are named by their Flickr id.

    PATH is a folder with the unpacked archives, or All_Tags.txt or AllTags1k.txt.
    """
    from vse_ens.data.nuswide import read_nuswide

    load(path, out, lambda tell: read_nuswide(path, labels=labels, split=split, progress=tell), screen)
