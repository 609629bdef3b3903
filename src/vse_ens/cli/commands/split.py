"""``vse split``: split pairs into training and test files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vse_ens.cli.console import Console, columns
from vse_ens.cli.options import PairsFile, ReadOptions
from vse_ens.errors import DataError

if TYPE_CHECKING:
    from vse_ens.data.annotations import Annotations

Protocol = Literal["leave-one-out", "new-images", "random"]

_PROTOCOL_OPTIONS: dict[Protocol, tuple[str, ...]] = {
    "leave-one-out": (),
    "new-images": ("share", "reveal"),
    "random": ("share",),
}


def split(
    pairs: PairsFile,
    out: Annotated[Path, typer.Option(metavar="DIR", show_default=False, help="Folder for the files.")],
    *,
    protocol: Annotated[
        Protocol,
        typer.Option(
            metavar="NAME",
            help="leave-one-out: hold out one label of every image with several. new-images: hold out whole images and "
            "reveal part of their labels. random: hold out random pairs.",
        ),
    ] = "leave-one-out",
    share: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            show_default="0.1 for new-images, 0.2 for random",
            help="Share of the images or pairs to hold out.",
        ),
    ] = None,
    reveal: Annotated[
        float | None,
        typer.Option(
            metavar="X", show_default="0.5 for new-images", help="Share of the labels of a held-out image to reveal."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed of the split.")] = 0,
    reading: ReadOptions,
    console: Console,
) -> None:
    """Split pairs into train.parquet and test.parquet.

    The split depends on the pairs, the protocol and the seed, not on the order of rows.
    """
    given = {name: value for name, value in (("share", share), ("reveal", reveal)) if value is not None}
    for name in given:
        if name not in _PROTOCOL_OPTIONS[protocol]:
            raise typer.BadParameter(f"cannot be combined with --protocol {protocol}", param_hint=f"'--{name}'")

    data = reading.read(pairs, console)
    parts = _parts(data, protocol, seed, given)
    files = {name: out / f"{name}.parquet" for name in parts}
    _check_leftovers(out, protocol)
    with console.status(f"writing to {out}"):
        from vse_ens.data.io.write import write_parquet

        write_parquet({files[name]: part for name, part in parts.items()})

    for note in data.notes:
        console.note(note)
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
    console.result(
        document, columns(("file", "pairs", "images", "labels"), rows, numbers=("pairs", "images", "labels"))
    )
    console.finish(
        f"{parts['test'].pairs:,} labels are held out for a test; train on the others.",
        *("train", files["train"], "--out", "model"),
    )


def _parts(data: Annotations, protocol: Protocol, seed: int, given: dict[str, float]) -> dict[str, Annotations]:
    if protocol == "leave-one-out":
        return data.leave_one_out(seed=seed)._asdict()
    if protocol == "new-images":
        return data.new_images(seed=seed, **given)._asdict()
    return data.random(seed=seed, **given)._asdict()


def _check_leftovers(out: Path, protocol: Protocol) -> None:
    """Fail if an earlier split left a file that would look like part of this one."""
    leftover = out / "revealed.parquet"
    if protocol != "new-images" and leftover.exists():
        raise DataError(f"{leftover} is left from a new-images split; remove it or choose another --out")


def _row(name: str, data: Annotations) -> tuple[str, str, str, str]:
    """Return a row of the table; images and labels without pairs do not count."""
    summary = data.summary()
    images = summary.images - summary.images_without_labels
    labels = summary.labels - summary.labels_without_images
    return name, f"{data.pairs:,}", f"{images:,}", f"{labels:,}"
