"""The folder `run.shards` from somebody else: everything in it is checked before a kernel sees it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.training_runs import small_config
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.partition.build import partition, without_pairs
from vse_ens.data.partition.parts import PartFiles
from vse_ens.data.partition.store import Partition
from vse_ens.data.splits import HeldOut, one_label_each
from vse_ens.errors import DataError, ModelError
from vse_ens.model.checkpoint_store import load_state, save_state
from vse_ens.train.checkpoint import Checkpoints
from vse_ens.train.run_files import check_run_files
from vse_ens.train.trainer import Trainer

IMAGES, LABELS, SHARDS = 60, 46, 3
Change = Callable[[Path], None]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Parquet files, their partition with its index by label, and a part of it without some pairs."""
    folder = tmp_path_factory.mktemp("parts")
    scenes(IMAGES, 50).to_frame("polars").write_parquet(folder / "all.parquet")
    whole = partition(PartFiles.find(folder), folder / "pairs", SHARDS)
    assert (whole.counts.images, whole.counts.labels) == (IMAGES, LABELS)
    whole.build_label_index()
    without_pairs(whole, held_out(whole), folder / "train").build_label_index()
    return folder


def held_out(whole: Partition) -> HeldOut:
    return one_label_each(whole.known.indptr, 5, "validation", 20)


def numbers(name: str, kind: str, change: Callable[[Any], Any]) -> Change:
    """Change the numbers of a file, and keep its size."""

    def apply(folder: Path) -> None:
        values = np.fromfile(folder / name, kind)
        change(values)
        (folder / name).unlink()  # it may be a hard link
        values.tofile(folder / name)

    return apply


def put(place: Any, value: int) -> Callable[[Any], None]:
    return lambda values: values.__setitem__(place, value)


def swap(one: int, other: int) -> Callable[[Any], None]:
    return lambda values: values.__setitem__([one, other], values[[other, one]])


def content(name: str, change: Callable[[bytes], bytes]) -> Change:
    def apply(folder: Path) -> None:
        before = (folder / name).read_bytes()
        (folder / name).unlink()
        (folder / name).write_bytes(change(before))

    return apply


def manifest(**counts: Any) -> Change:
    def change(raw: bytes) -> bytes:
        document = json.loads(raw)
        document["counts"] |= counts
        return json.dumps(document).encode()

    return content("partition.json", change)


def fifo(name: str) -> Change:
    def apply(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return apply


LOW, HIGH = -(2**31), 2**31 - 1
HOSTILE: dict[str, Change] = {
    "label below 0": numbers("indices", "<i4", put(0, LOW)),
    "label beyond the last": numbers("indices", "<i4", put(-1, LABELS)),
    "labels out of order": numbers("indices", "<i4", lambda values: values.__setitem__(..., values[::-1].copy())),
    "indptr beyond the end": numbers("indptr", "<i8", put(5, 2**60)),
    "indptr falls": numbers("indptr", "<i8", swap(3, 4)),
    "indptr starts late": numbers("indptr", "<i8", put(0, 1)),
    "indptr ends early": numbers("indptr", "<i8", put(-1, 5)),
    "shard with another label": numbers("shard-00001.labels", "<i4", put(0, HIGH)),
    "shard with a negative count": numbers("shard-00001.counts", "<i4", put(0, -3)),
    "shard with counts moved": numbers(
        "shard-00001.counts", "<i4", lambda c: c.__setitem__([0, 1], c[[0, 1]] + [1, -1])
    ),
    "shard of fewer images": content("shard-00001.counts", lambda raw: raw[:-4]),
    "shard truncated": content("shard-00001.labels", lambda raw: raw[:-4]),
    "id beyond the text": numbers("images.starts", "<i8", put(-1, 2**50)),
    "ids that fall": numbers("labels.starts", "<i8", swap(3, 4)),
    "negative start": numbers("labels.starts", "<i8", put(0, -8)),
    "ids that are not UTF-8": content("labels.text", lambda raw: b"\xff" + raw[1:]),
    "ids out of order": content("images.text", lambda raw: b"\x7f" + raw[1:]),
    "no text": content("labels.text", lambda _: b""),
    "index by label beyond": numbers("by_label.indices", "<i4", put(0, IMAGES)),
    "index by label below 0": numbers("by_label.indices", "<i4", put(0, -1)),
    "index by label out of order": numbers("by_label.indices", "<i4", swap(0, 1)),
    "index by label moved": numbers("by_label.indptr", "<i8", put(1, 2**40)),
    "negative count of pairs": manifest(pairs=-1),
    "count that is not a number": manifest(images="60"),
    "count that is true": manifest(labels=True),
    "count with a fraction": manifest(images=60.0),
    "another count": manifest(labels=LABELS + 1),
    "count too much": manifest(rows=1),
    "manifest of lists": content("partition.json", lambda _: b"[" * 5_000),
    "manifest of a megabyte": content("partition.json", lambda raw: b'{"a": "' + b"x" * (1 << 20) + b'",' + raw[1:]),
}
if hasattr(os, "mkfifo"):
    HOSTILE |= {
        f"FIFO {name}": fifo(name) for name in ("partition.json", "indices", "images.text", "shard-00002.labels")
    }


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("kind", ["pairs", "train"])
def test_a_partition_that_does_not_fit_itself_is_refused(name: str, kind: str, parts: Path, tmp_path: Path) -> None:
    shutil.copytree(parts / kind, tmp_path / kind)
    if kind == "pairs":

        def reuse() -> Partition:
            return partition(PartFiles.find(parts), tmp_path / "pairs", SHARDS)
    else:
        whole = Partition.open(parts / "pairs")

        def reuse() -> Partition:
            return without_pairs(whole, held_out(whole), tmp_path / "train")

    reuse()  # as it was written
    HOSTILE[name](tmp_path / kind)
    with pytest.raises(DataError, match=f"delete .*{kind} to rebuild it"):
        reuse()


def test_a_worker_checks_its_shard_too(parts: Path, tmp_path: Path) -> None:
    """It may be another machine: it opens the folder by itself."""
    for number, change in enumerate((put(0, LABELS), put(0, -1), swap(0, 1))):
        folder = shutil.copytree(parts / "pairs", tmp_path / str(number))
        numbers("shard-00001.labels", "<i4", change)(folder)
        with pytest.raises(DataError, match=r"shard-00001\.labels is damaged"):
            Partition.open(folder).rows(1)


@pytest.fixture(scope="module")
def run(parts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a run after an epoch, with the image vectors of its shards."""
    folder = tmp_path_factory.mktemp("run")
    trainer = trained(parts, folder)
    next(trainer.epochs())
    Checkpoints(folder / "run", Partition.open(parts / "pairs")).write(trainer)
    return folder


def trained(parts: Path, folder: Path) -> Trainer:
    config = small_config(sampler="uniform", loss="hinge", shards=SHARDS, epochs=3)
    return Trainer(config, Partition.open(parts / "pairs"), 1, folder=folder / "rows")


def rows_file(folder: Path) -> Path:
    return next(folder.glob("rows/rows-*/shard-00001.npy"))


def saved(change: Callable[[Any], Any]) -> Change:
    def apply(folder: Path) -> None:
        path = rows_file(folder)
        np.save(path, change(np.load(path)))

    return apply


def named(change: Callable[[list[str]], Any]) -> Change:
    """Change the names of the files in the checkpoint, which is sealed again."""

    def apply(folder: Path) -> None:
        arrays, state = load_state(folder / "run")
        state["backend"]["store"]["rows"] = change(state["backend"]["store"]["rows"])
        save_state(folder / "run", {name: np.array(array) for name, array in arrays.items()}, state)

    return apply


def link_to_fifo(folder: Path) -> None:
    path = rows_file(folder)
    path.unlink()
    os.mkfifo(path)


HOSTILE_ROWS: dict[str, Change] = {
    "fewer rows": saved(lambda rows: rows[:-1]),
    "wider": saved(lambda rows: np.repeat(rows, 2, axis=1)),
    "doubles": saved(lambda rows: rows.astype(np.float64)),
    "columns first": saved(np.asfortranarray),
    "flat": saved(np.ravel),
    "not a number": saved(lambda rows: rows * np.float32("nan")),
    "huge": saved(lambda rows: rows + np.float32(1e30)),
    "truncated": lambda folder: rows_file(folder).write_bytes(rows_file(folder).read_bytes()[:-1]) and None,
    "no array": lambda folder: rows_file(folder).write_bytes(b"hello") and None,
    "empty": lambda folder: rows_file(folder).write_bytes(b"") and None,
    "pickled": lambda folder: np.save(rows_file(folder), np.array([{}], object), allow_pickle=True),
    "missing": lambda folder: rows_file(folder).unlink(),
    "file elsewhere": named(lambda names: ["/etc/passwd", *names[1:]]),
    "climbing": named(lambda names: [f"../../{names[0]}/../shard-00000.npy", *names[1:]]),
    "of another shard": named(lambda names: names[::-1]),
    "too few": named(lambda names: names[:-1]),
    "a number": named(lambda names: [1, 2, 3]),
    "text": named(lambda names: "abc"),
    "nothing": named(lambda names: None),
}
if hasattr(os, "mkfifo"):
    HOSTILE_ROWS["FIFO"] = link_to_fifo


@pytest.mark.parametrize("name", HOSTILE_ROWS)
def test_image_vectors_of_another_shape_are_refused(name: str, parts: Path, run: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(run, tmp_path / "copy")
    HOSTILE_ROWS[name](folder)
    trainer = trained(parts, folder)
    with pytest.raises((DataError, ModelError), match="start without --resume"):
        Checkpoints(folder / "run", Partition.open(parts / "pairs")).resume(trainer)


def test_a_checkpoint_goes_on_after_its_folder_moved(parts: Path, run: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(run, tmp_path / "moved")
    named(lambda names: [f"/somewhere/else/{name}" for name in names])(folder)  # as earlier versions wrote them
    trainer = trained(parts, folder)
    assert Checkpoints(folder / "run", Partition.open(parts / "pairs")).resume(trainer)
    next(trainer.epochs())


@pytest.mark.parametrize(
    "name", ["training/image_vectors.npy", "pairs/indices", "training/rows-000000/shard-00000.npy"]
)
def test_nothing_is_written_through_a_link(tmp_path: Path, name: str) -> None:
    link = tmp_path / "run.shards" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "precious")
    with pytest.raises(ModelError, match="is not a regular file, which no training wrote"):
        check_run_files(tmp_path / "run")
    (tmp_path / "precious").write_text("precious")
    with pytest.raises(ModelError, match="is not a regular file, which no training wrote"):
        check_run_files(tmp_path / "run")
