"""``vse data scenes``: make the built-in data set, of any size."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vse_ens.cli.screen import Screen, facts


def scenes(
    out: Annotated[Path, typer.Option(metavar="FILE", show_default=False, help="The file to write.")],
    *,
    images: Annotated[int, typer.Option(min=1, metavar="N", help="How many images.")] = 2000,
    labels: Annotated[
        int | None, typer.Option(min=1, metavar="N", show_default="some 900 plain words", help="How many labels.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed gives other images.")] = 0,
    screen: Screen,
) -> None:
    """Make the built-in data set: everyday scenes, and words for what is seen in them.

    Images are written as they are made, so that any number of them fits.
    """
    from vse_ens.data.scenes import write_scenes

    with screen.progress("making scenes", images, "images") as done:
        counts = write_scenes(out, images=images, labels=labels, seed=seed, progress=done)
    document = {"file": str(out), **counts._asdict(), "seed": seed}
    rows = [(name, f"{count:,}") for name, count in counts._asdict().items()]
    screen.result(document, facts([("file", str(out)), *rows]))
