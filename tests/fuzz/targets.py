"""What is fuzzed: every reader, and the loader of models. Any bytes may be refused, but only with one sentence."""

from __future__ import annotations

import contextlib
import functools
import gzip
import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.support.collection_samples import Reader, samples
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations
from vse_ens.data.collections import FileChange
from vse_ens.data.collections.journal import undo, write_changes
from vse_ens.data.features import read_features, read_scores
from vse_ens.errors import VseError

Target = Callable[[bytes], None]
HERE = Path(__file__).parent


@functools.cache
def folder() -> Path:
    """A folder for the files of this process."""
    return Path(tempfile.mkdtemp(prefix="vse-fuzz-"))


def refused_with_a_sentence(read: Callable[[Path], object], path: Path) -> None:
    """Read a file; an error must be one of ours, in one line of readable length."""
    try:
        read(path)
    except VseError as error:
        message = str(error)
        if "\n" in message.replace(str(path), "") or len(message) > 1000:
            raise AssertionError(f"not one sentence: {message!r}") from None


def reader(name: str, read: Callable[[Path], object]) -> Target:
    """Write the bytes to a file of that name and read it."""

    def target(content: bytes) -> None:
        path = folder() / name
        path.write_bytes(gzip.compress(content, 1) if name.endswith(".gz") else content)
        refused_with_a_sentence(read, path)

    return target


def features(path: Path) -> object:
    path.with_name("f.ids.txt").write_text("a\nb\n")
    return read_features(path)


def wide(path: Path) -> object:
    return Annotations.read(path, layout="wide")


@functools.cache
def model_files() -> dict[str, bytes]:
    """The files of a tiny model."""
    pairs = [(f"i{image}", f"l{(image * step) % 7}") for image in range(12) for step in (1, 2, 3)]
    path = folder() / "model"
    Annotator(epochs=1, dimensions=2, validate=False, label_pairs=2).fit(Annotations.from_pairs(pairs)).save(path)
    return {one.name: one.read_bytes() for one in sorted(path.iterdir())}


def model(content: bytes) -> None:
    """Replace one file of a model, chosen by the first byte, and seal the model again as its writer would."""
    if not content:
        return
    files = dict(model_files())
    name = sorted(files)[content[0] % len(files)]
    files[name] = content[1:]
    if name != "manifest.json":
        manifest = json.loads(files["manifest.json"])
        manifest["files"][name] = {"sha256": hashlib.sha256(content[1:]).hexdigest(), "size": len(content) - 1}
        files["manifest.json"] = json.dumps(manifest).encode()
    path = folder() / "hostile"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    for one, text in files.items():
        (path / one).write_bytes(text)
    refused_with_a_sentence(Annotator.load, path)


def raw_gzip(content: bytes) -> None:
    """Read the bytes as a compressed file."""
    path = folder() / "b.tsv.gz"
    path.write_bytes(content)
    refused_with_a_sentence(Annotations.read, path)


def collection(name: str) -> Target:
    """Read the bytes as one file of a collection, and change its labels where that is possible."""

    def target(content: bytes) -> None:
        read = collections()[name][1]
        path = folder() / "collections" / "file"
        path.parent.mkdir(exist_ok=True)
        with contextlib.suppress(VseError):
            read(content, path)

    return target


@functools.cache
def collections() -> dict[str, tuple[bytes, Reader]]:
    """Whole files of collections and their readers, by the name of the target."""
    return {f"collection-{re.sub('[^a-z0-9]+', '-', name.lower())}": sample for name, sample in samples().items()}


def as_format(name: str) -> Callable[[Path], object]:
    """Read a file as one of the formats of docs/interop.md, with the rating that some of them have."""

    def read(path: Path) -> object:
        rating = {} if name == "xmc" else {"min_rating": 2.0}
        return Annotations.read(path, format=name, **rating)  # type: ignore[arg-type]

    return read


def lenskit(file: str) -> Target:
    """Read the bytes as one file of a LensKit data set."""

    def target(content: bytes) -> None:
        path = folder() / f"lenskit-{file}"
        path.mkdir(exist_ok=True)
        for kind in ("user", "item", "rating", "schema"):
            name = "schema.json" if kind == "schema" else f"{kind}.parquet"
            (path / name).write_bytes((HERE / "seeds" / f"lenskit-{kind}" / "plain").read_bytes())
        (path / file).write_bytes(content)
        refused_with_a_sentence(Annotations.read, path / "schema.json" if file == "schema.json" else path)
        refused_with_a_sentence(as_format("lenskit"), path)

    return target


def journal(content: bytes) -> None:
    """Undo the bytes as a journal of a folder; the image beside its files stays as it is."""
    files = folder() / "undone"
    files.mkdir(exist_ok=True)
    (files / "a.txt").write_bytes(b"new")
    (files / "a.jpg").write_bytes(b"\xff\xd8\xff")
    path = folder() / "journal"
    path.write_bytes(content)
    refused_with_a_sentence(undo, path)
    if (files / "a.jpg").read_bytes() != b"\xff\xd8\xff":
        raise AssertionError("an image was changed")


def journals() -> list[bytes]:
    """Journals of a change, with and without the checksums that keep most damage from being read further."""
    files, log = folder() / "undone", folder() / "written"
    files.mkdir(exist_ok=True)
    (files / "a.txt").write_bytes(b"old")
    log.unlink(missing_ok=True)
    write_changes([FileChange(files / "a.txt", b"old", b"new")], log, collection=files)
    content = log.read_bytes()
    return [content, re.sub(rb', "check": "[0-9a-f]+"', b"", content)]


TARGETS: dict[str, Target] = {
    "csv": reader("a.csv", Annotations.read),
    "csv-gz": reader("a.csv.gz", Annotations.read),
    "csv-wide": reader("a.csv", wide),
    "txt": reader("a.txt", Annotations.read),
    "gzip": raw_gzip,
    "jsonl": reader("a.jsonl", Annotations.read),
    "parquet": reader("a.parquet", Annotations.read),
    "features-csv": reader("f.csv", features),
    "features-parquet": reader("f.parquet", features),
    "features-npy": reader("f.npy", features),
    "features-npz": reader("f.npz", features),
    "features-safetensors": reader("f.safetensors", features),
    "scores": reader("s.csv", read_scores),
    "recbole": reader("a.inter", as_format("recbole")),
    "movielens-csv": reader("ratings.csv", as_format("movielens")),
    "movielens-dat": reader("ratings.dat", as_format("movielens")),
    "xmc-matrix": reader("X_Y.txt", as_format("xmc")),
    "xmc-features": reader("a.svm", as_format("xmc")),
    "interop-detected": reader("b.txt", Annotations.read),
    "lenskit-schema": lenskit("schema.json"),
    "lenskit-user": lenskit("user.parquet"),
    "lenskit-item": lenskit("item.parquet"),
    "lenskit-rating": lenskit("rating.parquet"),
    "model": model,
    "journal": journal,
}
TARGETS |= {name: collection(name) for name in collections()}


def starts(name: str) -> list[bytes]:
    """The contents that a target starts from: stored ones, and those that are made."""
    stored = [path.read_bytes() for kind in ("seeds", "found") for path in sorted((HERE / kind / name).glob("*"))]
    if name == "model":
        stored += [bytes([number]) + content for number, content in enumerate(model_files().values())]
    if name == "journal":
        stored += journals()
    if name in collections():
        stored.append(collections()[name][0])
    return stored
