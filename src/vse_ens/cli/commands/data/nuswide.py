"""``vse data nuswide``: convert the tags or concepts of NUS-WIDE."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from vse_ens.cli.commands.data.published import DownloadedPath, OutFile, convert
from vse_ens.cli.console import Console


def nuswide(
    path: DownloadedPath,
    out: OutFile,
    *,
    labels: Annotated[
        Literal["tags5018", "tags1k", "concepts81"] | None,
        typer.Option(
            metavar="NAME",
            show_default="tags5018 for a folder",
            help="tags5018: user tags in Final_Tag_List.txt. tags1k: AllTags1k.txt. concepts81: Labels_*.txt.",
        ),
    ] = None,
    split: Annotated[
        Literal["train", "test"] | None,
        typer.Option(metavar="NAME", show_default="all", help="Read the images of one image list."),
    ] = None,
    console: Console,
) -> None:
    """Convert the tags or concepts of NUS-WIDE; image IDs are Flickr IDs.

    PATH is a folder with the unpacked archives, or All_Tags.txt or AllTags1k.txt.
    """
    from vse_ens.data.datasets.nuswide import read_nuswide

    convert(path, out, lambda progress: read_nuswide(path, labels=labels, split=split, progress=progress), console)
