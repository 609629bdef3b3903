"""``vse embed``: the features of pictures by an ONNX network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from vse_ens.cli.console import Console, facts, plural
from vse_ens.cli.options import Reading
from vse_ens.cli.parameters import Argument, Option, misuse
from vse_ens.errors import DataError

if TYPE_CHECKING:
    from vse_ens.data.annotations import Annotations
    from vse_ens.pixels import Encoder, Vectors

NETWORK_HELP = (
    "The network: an .onnx file, a folder with one, or USER/NAME on the Hub, such as a CLIP, SigLIP or DINOv2 in ONNX."
)


def embed(
    source: Annotated[Path, Argument("A folder of pictures, or a collection that says where they are.", "FOLDER")],
    *,
    out: Annotated[Path, Option("The features: a .parquet or .npy file, or another that vse export writes.", "FILE")],
    model: Annotated[str, Option(NETWORK_HELP, "NETWORK")],
    revision: Annotated[
        str | None, Option("A branch, tag or commit of the network on the Hub; the commit is shown.", "REV")
    ] = None,
    provider: Annotated[str, Option("What onnxruntime computes with, such as cpu or cuda.", "NAME")] = "cpu",
    threads: Annotated[int | None, Option("Threads of the network.", "N", min=1, default="all cores")] = None,
    reading: Reading,
    console: Console,
) -> None:
    """Compute the features of pictures with an ONNX network.

    A second run computes only pictures that are new or changed; Ctrl-C loses nothing. Damaged pictures are counted and
    left out.

    Example: vse embed ~/Pictures --out features.parquet --model encoder.onnx
    """
    from vse_ens.export.vectors import check_suffix, write_vectors

    check_suffix(out)
    encoder = open_encoder(model, console, revision=revision, provider=provider, threads=threads)
    with embed_pictures(_pictures(source, reading, console), encoder, console) as vectors:
        write_vectors(out, vectors.images, vectors.dimensions, vectors.blocks())
    counts = {"images": len(vectors.images), "computed": vectors.computed, "skipped": len(vectors.faults)}
    document = {"features": str(out), "network": str(encoder.path), "dimensions": vectors.dimensions, **counts}
    rows = [
        ("features", str(out)),
        ("network", f"{encoder.path}, {vectors.dimensions:,} numbers per image from {encoder.output}"),
        ("pictures", f"{encoder.preprocessing}"),
        *((name, f"{count:,}") for name, count in counts.items()),
    ]
    console.result(document, facts(rows))
    console.finish(f"{out} has the features.", "train", source, "--features", out, "--out", "model")


def open_encoder(
    model: str, console: Console, *, revision: str | None = None, provider: str = "cpu", threads: int | None = None
) -> Encoder:
    """Open a network: a file, a folder, or one on the Hub."""
    from vse_ens.pixels import EXTERNAL, NETWORKS, Encoder
    from vse_ens.pixels.preprocessing import CONFIG

    path = Path(model)
    if not path.exists() and model.count("/") == 1 and not model.startswith((".", "/", "~")) and path.suffix != ".onnx":
        from vse_ens.export.hub import download_network

        with console.status(f"downloading {model}"):
            path = download_network(model, NETWORKS, EXTERNAL, [CONFIG], revision)
    elif revision is not None:
        raise misuse("--revision", f"{model} is not on the Hub")
    with console.status(f"loading {path}"):
        encoder = Encoder(path, provider, threads)
    if encoder.is_guessed:
        console.note(f"there is no {CONFIG} beside {encoder.path}; used the usual {encoder.preprocessing}")
    return encoder


@contextmanager
def embed_pictures(pictures: Mapping[str, str], encoder: Encoder, console: Console) -> Iterator[Vectors]:
    """Return the vectors of pictures, which are given as paths by image id."""
    from vse_ens.pixels import VectorCache, embed

    with VectorCache(encoder.key) as cache:
        try:
            with console.progress("embedding", len(pictures), "images") as progress:
                vectors = embed(pictures, encoder, cache, progress)
        except KeyboardInterrupt:
            console.log("stopped; the same command continues")
            raise
        console.notes(vectors.faults.notes())
        yield vectors


def picture_paths(source: Path, data: Annotations, console: Console) -> dict[str, str]:
    """Return the paths of the pictures of a collection, by image id."""
    if data.pictures is None:
        raise misuse("FOLDER", f"{source} does not say where its pictures are; name the folder of the pictures")
    root = Path(data.pictures.root).absolute()
    found = {image: data.pictures.location(image) for image in data.images}
    paths = {image: str(root / location) for image, location in found.items() if "://" not in location}
    if len(paths) < len(found):
        console.note(f"{plural(len(found) - len(paths), 'picture')} at an address, such as https://, left out")
    return paths


def _pictures(source: Path, reading: Reading, console: Console) -> dict[str, str]:
    from vse_ens.data.collections.detect import find_collection
    from vse_ens.data.collections.files import list_files, unread_note

    try:
        is_collection = not source.is_dir() or reading.format is not None or find_collection(source) is not None
    except DataError:  # a folder of pictures, none of which has labels
        is_collection = False
    if is_collection:
        data = reading.read(source, console)
        console.notes(data.notes)
        return picture_paths(source, data, console)
    unread: list[str] = []
    found = {name: str(source.absolute() / name) for name in list_files(source, unread)}
    console.notes(unread_note(unread))
    if not found:
        raise misuse("FOLDER", f"{source} has no pictures")
    return found
