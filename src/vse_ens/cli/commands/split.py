"""``vse split``: pairs to learn from and pairs to test on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vse_ens.cli.console import Console, columns
from vse_ens.cli.options import PairsFile, Reading
from vse_ens.errors import DataError

if TYPE_CHECKING:
    from vse_ens.data.annotations import Annotations

Protocol = Literal["leave-one-out", "new-images", "random"]

_OPTIONS: dict[Protocol, tuple[str, ...]] = {
    "leave-one-out": (),
    "new-images": ("share", "reveal"),
    "random": ("share",),
}


def split(
    pairs: PairsFile,
    out: Annotated[Path, typer.Option(metavar="DIR", show_default=False, help="The folder to write to.")],
    *,
    protocol: Annotated[
        Protocol,
        typer.Option(
            metavar="NAME",
            help="leave-one-out: one label of every image that has several. new-images: whole images, with part of "
            "their labels revealed. random: any pairs.",
        ),
    ] = "leave-one-out",
    share: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            show_default="0.1 of new-images, 0.2 of random",
            help="How much of the images or pairs to hold out.",
        ),
    ] = None,
    reveal: Annotated[
        float | None,
        typer.Option(metavar="X", show_default="0.5 of new-images", help="How much of a held-out image to reveal."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed gives another split.")] = 0,
    reading: Reading,
    screen: Console,
) -> None:
    """Split pairs into train.parquet and test.parquet.

    The split depends on the pairs, the protocol and the seed, not on the order of the rows.
    """
    given = {name: value for name, value in (("share", share), ("reveal", reveal)) if value is not None}
    for name in given:
        if name not in _OPTIONS[protocol]:
            raise typer.BadParameter(f"it means nothing with --protocol {protocol}", param_hint=f"'--{name}'")

    data = reading.read(pairs, screen)
    parts = _parts(data, protocol, seed, given)
    files = {name: out / f"{name}.parquet" for name in parts}
    _refuse_leftovers(out, protocol)
    with screen.busy(f"writing to {out}"):
        from vse_ens.data.io.write import write_parquet

        write_parquet({files[name]: part for name, part in parts.items()})

    for note in data.notes:
        screen.say(f"note: {note}")
    document = {
        "images": len(data.images),
        "labels": len(data.labels),
        "pairs": data.pairs,
        **{name: part.pairs for name, part in parts.items()},
        "protocol": protocol,
        "seed": seed,
        **given,
        "files": {name: str(path) for name, path in files.items()},
        "notes": list(data.notes),
    }
    rows = [_row(str(pairs), data), *(_row(str(files[name]), part) for name, part in parts.items())]
    screen.result(document, columns(("file", "pairs", "images", "labels"), rows, numbers=("pairs", "images", "labels")))


def _parts(data: Annotations, protocol: Protocol, seed: int, given: dict[str, float]) -> dict[str, Annotations]:
    if protocol == "leave-one-out":
        return data.leave_one_out(seed=seed)._asdict()
    if protocol == "new-images":
        return data.new_images(seed=seed, **given)._asdict()
    return data.random(seed=seed, **given)._asdict()


def _refuse_leftovers(out: Path, protocol: Protocol) -> None:
    """A file of an earlier split beside the two of this one would be taken for part of it."""
    leftover = out / "revealed.parquet"
    if protocol != "new-images" and leftover.exists():
        raise DataError(f"{leftover} is left from a new-images split; remove it or choose another --out")


def _row(name: str, data: Annotations) -> tuple[str, str, str, str]:
    """A line of the table: images and labels count where they have a pair."""
    summary = data.summary()
    images = summary.images - summary.images_without_labels
    labels = summary.labels - summary.labels_without_images
    return name, f"{data.pairs:,}", f"{images:,}", f"{labels:,}"
