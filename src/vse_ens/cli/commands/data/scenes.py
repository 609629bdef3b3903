"""``vse data scenes``: generate the built-in data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from vse_ens.cli.console import Console, facts


def scenes(
    out: Annotated[Path, typer.Option(metavar="FILE", show_default=False, help="The file or folder to write.")],
    *,
    collection: Annotated[
        Literal["photos", "txt-tags", "coco"] | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="Write a folder of tiny images instead, with keywords in the files (photos), .txt files of tags "
            "(txt-tags) or a file of boxes (coco).",
        ),
    ] = None,
    images: Annotated[int, typer.Option(min=1, metavar="N", help="Number of images.")] = 2000,
    labels: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", show_default="about 900 plain words", help="Number of labels."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed; another seed gives other images.")] = 0,
    console: Console,
) -> None:
    """Generate the built-in data set: everyday scenes and words for what they show.

    Images are written as they are generated, so RAM does not limit their number.
    """
    from vse_ens.data.datasets.scenes import write_scene_folder, write_scenes

    with console.progress("generating scenes", images, "images") as progress:
        if collection is None:
            counts = write_scenes(out, images=images, labels=labels, seed=seed, progress=progress)
        else:
            counts = write_scene_folder(out, collection, images, labels, seed, progress)
    document = {"file": str(out), **counts._asdict(), "seed": seed}
    rows = [(name, f"{count:,}") for name, count in counts._asdict().items()]
    console.result(document, facts([("file", str(out)), *rows]))
    console.finish(f"{counts.images:,} made-up images are in {out}.", "train", out, "--out", "model")
