"""``vse info``, ``vse split``, ``vse data scenes`` and ``vse data convert``: look at pairs and make files of them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from vse_ens.cli.console import Console, columns, facts
from vse_ens.cli.options import PairsFile, Reading
from vse_ens.cli.parameters import Option, misuse
from vse_ens.errors import DataError

if TYPE_CHECKING:
    from vse_ens.data.annotations import Annotations
    from vse_ens.data.summary import Summary


def info(file: PairsFile, *, reading: Reading, console: Console) -> None:
    """Show a summary of a file of pairs or of a collection.

    Example: vse info pairs.csv
    """
    summary = reading.read(file, console).summary()
    console.result({"file": file, **summary_json(summary)}, facts(summary.rows()))
    console.finish(
        f"{summary.images:,} images have {summary.pairs:,} labels of {summary.labels:,} kinds.",
        *("train", file, "--out", "model"),
    )


def summary_json(summary: Summary) -> dict[str, Any]:
    """Return a summary for ``--json``."""
    return asdict(summary) | {"most_used": dict(summary.most_used), "least_used": dict(summary.least_used)}


Protocol = Literal["leave-one-out", "new-images", "random"]

_PROTOCOL_OPTIONS: dict[Protocol, tuple[str, ...]] = {
    "leave-one-out": (),
    "new-images": ("share", "reveal"),
    "random": ("share",),
}


def split(
    pairs: PairsFile,
    out: Annotated[Path, Option("Folder for the files.", "DIR")],
    *,
    protocol: Annotated[
        Protocol,
        Option(
            "leave-one-out: hold out one label of every image with several. new-images: hold out whole images and "
            "reveal part of their labels. random: hold out random pairs.",
            "NAME",
        ),
    ] = "leave-one-out",
    share: Annotated[
        float | None,
        Option("Share of the images or pairs to hold out.", "X", default="0.1 for new-images, 0.2 for random"),
    ] = None,
    reveal: Annotated[
        float | None, Option("Share of the labels of a held-out image to reveal.", "X", default="0.5 for new-images")
    ] = None,
    seed: Annotated[int, Option("Random seed of the split.", "N")] = 0,
    reading: Reading,
    console: Console,
) -> None:
    """Split pairs into train.parquet and test.parquet.

    The split depends on the pairs, the protocol and the seed, not on the order of rows.

    Example: vse split pairs.csv --out split --seed 0
    """
    given = {name: value for name, value in (("share", share), ("reveal", reveal)) if value is not None}
    for name in given:
        if name not in _PROTOCOL_OPTIONS[protocol]:
            raise misuse(f"--{name}", f"cannot be combined with --protocol {protocol}")

    data = reading.read(pairs, console)
    split_by = getattr(data, protocol.replace("-", "_"))
    parts: dict[str, Annotations] = split_by(seed=seed, **given)._asdict()
    files = {name: out / f"{name}.parquet" for name in parts}
    leftover = out / "revealed.parquet"  # of an earlier split; it would look like part of this one
    if protocol != "new-images" and leftover.exists():
        raise DataError(f"{leftover} is left from a new-images split; remove it or choose another --out")
    with console.status(f"writing to {out}"):
        from vse_ens.data.io.write import write_parquet

        write_parquet({files[name]: part for name, part in parts.items()})

    console.notes(data.notes)
    document = {
        "images": len(data.images),
        "labels": len(data.labels),
        "pairs": data.pairs,
        **{name: part.pairs for name, part in parts.items()},
        "protocol": protocol,
        "seed": seed,
        **given,
        "files": files,
        "notes": list(data.notes),
    }
    rows = [_row(pairs, data), *(_row(files[name], part) for name, part in parts.items())]
    numbers = ("pairs", "images", "labels")
    console.result(document, columns(("file", *numbers), rows, numbers=numbers))
    console.finish(
        f"{parts['test'].pairs:,} labels are held out for a test; train on the others.",
        *("train", files["train"], "--out", "model"),
    )


def _row(file: Path, data: Annotations) -> tuple[Path, int, int, int]:
    """Return a row of the table; images and labels without pairs do not count."""
    summary = data.summary()
    images = summary.images - summary.images_without_labels
    labels = summary.labels - summary.labels_without_images
    return file, data.pairs, images, labels


def scenes(
    out: Annotated[Path, Option("The file or folder to write.", "FILE")],
    *,
    collection: Annotated[
        Literal["photos", "txt-tags", "coco"] | None,
        Option(
            "Write a folder of tiny images instead, with keywords in the files (photos), .txt files of tags "
            "(txt-tags) or a file of boxes (coco).",
            "NAME",
        ),
    ] = None,
    images: Annotated[int, Option("Number of images.", "N", min=1)] = 2000,
    labels: Annotated[int | None, Option("Number of labels.", "N", min=1, default="about 900 plain words")] = None,
    seed: Annotated[int, Option("Random seed; another seed gives other images.", "N")] = 0,
    console: Console,
) -> None:
    """Generate the built-in data set of everyday scenes.

    The labels are words for what a scene shows. Images are written as they are generated, so RAM does not limit their
    number.

    Example: vse data scenes --images 2000 --out pairs.csv
    """
    from vse_ens.data.datasets.scenes import write_scene_folder, write_scenes

    with console.progress("generating scenes", images, "images") as progress:
        if collection is None:
            counts = write_scenes(out, images=images, labels=labels, seed=seed, progress=progress)
        else:
            counts = write_scene_folder(out, collection, images, labels, seed, progress)
    made = {"file": out, **counts._asdict()}
    console.result({**made, "seed": seed}, facts(made.items()))
    console.finish(f"{counts.images:,} made-up images are in {out}.", "train", out, "--out", "model")


def convert(
    source: PairsFile,
    *,
    out: Annotated[Path, Option("The file or folder to write; see --to.", "PATH")],
    to: Annotated[
        str | None,
        Option(
            "Format: parquet, csv, tsv, jsonl, or one of a plug-in, such as recbole, lenskit, movielens and xmc.",
            "NAME",
            default="by the suffix",
        ),
    ] = None,
    test: Annotated[Path | None, Option("Held-out pairs to write too, for recbole and xmc.", "FILE")] = None,
    reading: Reading,
    console: Console,
) -> None:
    """Convert pairs from any format that vse reads to another one.

    Example: vse data convert pairs.csv --out scenes.jsonl
    """
    from vse_ens.data.io.write import format_of, write_as

    form = format_of(out, to)
    data = reading.read(source, console)
    held_out = None if test is None else reading.read(test, console)
    console.notes(data.notes)
    with console.status(f"writing {out}"):
        files = write_as(out, data, form, test=held_out)
    summary = data.summary()
    console.result(
        {"format": form, "files": files, **summary_json(summary)},
        facts([("format", form), ("files", ", ".join(map(str, files))), *summary.rows()]),
    )
    console.finish(f"{data.pairs:,} pairs are in {out}.")
