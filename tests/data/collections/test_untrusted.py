"""A collection and a journal come from anywhere: what is written, undone and read stays inside, and ends."""

from __future__ import annotations

import base64
import gc
import hashlib
import json
import os
import resource
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Mapping
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.support import dataset_files
from vse_ens.data.collections import FileChange, LabelEdit, catalog, journal
from vse_ens.data.collections.catalog import open_catalog
from vse_ens.data.collections.detect import open_collection
from vse_ens.data.collections.files import walk
from vse_ens.data.collections.journal import undo, write_changes
from vse_ens.data.collections.write import write_labels
from vse_ens.data.io import id_index
from vse_ens.data.io.read import read
from vse_ens.errors import DataError

EDITS = {f"{name}.jpg": LabelEdit(add=("sea",)) for name in "abc"}
JPEG = b"\xff\xd8\xff\xe0 a picture"


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Three images; the last two have files of tags."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.jpg").write_bytes(JPEG)
    for name in "bc":
        (folder / f"{name}.txt").write_text("sand")
    return folder


def tree(folder: Path) -> dict[str, object]:
    """Return every entry below a folder: the bytes of a file, the target of a link."""
    return {
        path.relative_to(folder).as_posix(): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def write(folder: Path, log: Path, format_name: str = "txt-tags", **options: Any) -> tuple[list[str], list[str]]:
    """Add a label to every image; return the files written, and the notes."""
    report = write_labels(open_collection(folder, format_name), EDITS, log, **options)  # type: ignore[arg-type]
    return sorted(path.name for path in report.written.files), report.notes


@pytest.mark.parametrize("exists", [False, True], ids=["dangling", "to a file"])
def test_a_link_out_of_the_collection_is_refused_and_counted(photos: Path, tmp_path: Path, exists: bool) -> None:
    outside = tmp_path / "outside.txt"
    if exists:
        outside.write_text("mine")
    (photos / "a.txt").symlink_to(outside)
    before = tree(tmp_path)
    shown: list[FileChange] = []
    write(photos, tmp_path / "log", dry_run=shown.append)
    assert [change.path.name for change in shown] == ["b.txt", "c.txt"]
    files, notes = write(photos, tmp_path / "log")
    assert files == ["b.txt", "c.txt"]
    assert [note for note in notes if "1 file" in note and "a.txt" in note and "not changed" in note]
    assert outside.exists() == exists
    assert not exists or outside.read_text() == "mine"
    undo(tmp_path / "log")
    (tmp_path / "log").unlink()
    assert tree(tmp_path) == before


def test_a_folder_that_is_a_link_out_of_the_collection_is_left(photos: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "d.jpg").write_bytes(JPEG)
    (photos / "linked").symlink_to(other)
    edits = {"linked/d.jpg": LabelEdit(add=("sea",))}
    report = write_labels(open_collection(photos, "txt-tags"), edits, tmp_path / "log")  # type: ignore[arg-type]
    assert report.written.files == []
    assert report.written.refused == [photos / "linked" / "d.txt"]
    assert [path.name for path in other.iterdir()] == ["d.jpg"]


@pytest.mark.parametrize("exists", [False, True], ids=["dangling", "to a file"])
def test_a_link_inside_the_collection_stays_a_link(photos: Path, tmp_path: Path, exists: bool) -> None:
    (photos / "tags").mkdir()
    if exists:
        (photos / "tags" / "a").write_text("sky")
    (photos / "a.txt").symlink_to("tags/a")
    before = tree(photos)
    files, _ = write(photos, tmp_path / "log")
    assert files == ["a.txt", "b.txt", "c.txt"]
    assert tree(photos)["a.txt"] == "tags/a"
    assert (photos / "tags" / "a").read_text() == ("sky, sea" if exists else "sea")
    undo(tmp_path / "log")
    assert tree(photos) == before


@pytest.mark.parametrize("target", ["a.jpg", "catalog.lrcat", "gone/a", "a.txt"])
def test_a_link_to_an_image_a_catalog_or_nowhere_is_refused(photos: Path, tmp_path: Path, target: str) -> None:
    (photos / "catalog.lrcat").write_bytes(b"SQLite format 3\0")
    (photos / "a.txt").symlink_to(target)
    before = tree(photos)
    files, notes = write(photos, tmp_path / "log")
    assert files == ["b.txt", "c.txt"]
    assert any("a.txt" in note for note in notes)
    undo(tmp_path / "log")
    assert tree(photos) == before
    assert not (photos / "gone").exists()


@pytest.mark.unhurried
@pytest.mark.parametrize(("format_name", "name"), [("txt-tags", "a.txt"), ("photos", "a.jpg.xmp")])
@pytest.mark.parametrize("kind", ["fifo", "device", "folder", "link to a fifo"])
def test_what_is_not_a_regular_file_is_neither_read_nor_written(
    photos: Path, tmp_path: Path, format_name: str, name: str, kind: str
) -> None:
    place = photos / name
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "device":
        place.symlink_to("/dev/zero")
    elif kind == "folder":
        place.mkdir()
    else:
        os.mkfifo(photos / "pipe")
        place.symlink_to("pipe")
    done = subprocess.run(
        [sys.executable, "-c", _WRITE, str(photos), format_name, str(tmp_path / "log")],
        capture_output=True,
        text=True,
        timeout=20,
        preexec_fn=_limited,
    )
    assert done.returncode == 0, done.stderr
    assert name not in json.loads(done.stdout)
    assert len(json.loads(done.stdout)) == 2


_WRITE = """
import json, sys
from pathlib import Path
from vse_ens.data.collections import LabelEdit
from vse_ens.data.collections.catalog import open_catalog
from vse_ens.data.collections.detect import open_collection
from vse_ens.data.collections.write import write_labels
edits = {f"{name}.jpg": LabelEdit(add=("sea",)) for name in "abc"}
report = write_labels(open_collection(Path(sys.argv[1]), sys.argv[2]), edits, Path(sys.argv[3]))
print(json.dumps([path.name for path in report.written.files]))
"""
_UNDO = """
import sys
from pathlib import Path
from vse_ens.data.collections.files import walk
from vse_ens.data.collections.journal import undo
from vse_ens.errors import DataError
try:
    undo(Path(sys.argv[1]), force=True)
except DataError as error:
    sys.exit(str(error))
"""


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def test_a_file_exchanged_for_another_kind_before_its_write_is_not_read(photos: Path, tmp_path: Path) -> None:
    fifo, large = photos / "b.txt", photos / "c.txt"
    wanted = [FileChange(path, b"sand", b"sand, sea") for path in (large, fifo)]
    fifo.unlink()
    os.mkfifo(fifo)
    with large.open("wb") as file:
        file.truncate(1 << 40)
    written = write_changes(wanted, tmp_path / "log", collection=photos)
    assert (written.files, written.skipped, written.refused) == ([], [large], [fifo])


def line(path: Path | str, before: bytes | None, after: bytes, **more: object) -> dict[str, object]:
    """Return an entry of a journal."""
    packed = None if before is None else base64.b64encode(zlib.compress(before)).decode()
    name = base64.b64encode(os.fsencode(str(path))).decode()
    return {"path": name, "before": packed, "after_sha256": hashlib.sha256(after).hexdigest(), **more}


def stored(log: Path, *entries: Mapping[str, object], root: Path | str | None = None) -> Path:
    """Write a journal as somebody else could."""
    header: dict[str, object] = {"format": "vse-ens journal", "version": 2}
    if root is not None:
        header["root"] = base64.b64encode(os.fsencode(str(root))).decode()
    written = [{"written": entry["path"]} for entry in entries]
    log.write_text("".join(json.dumps(one) + "\n" for one in (header, *entries, *written)))
    return log


@pytest.mark.parametrize("force", [False, True])
def test_undo_never_changes_an_image_or_a_catalog(photos: Path, tmp_path: Path, force: bool) -> None:
    (photos / "plain").write_bytes(JPEG)
    (photos / "link.txt").symlink_to("a.jpg")
    for name in ("a.jpg", "plain", "link.txt"):
        for before in (b"gone", None):
            log = stored(tmp_path / "log", line(photos / name, before, JPEG), root=photos)
            with pytest.raises(DataError, match="which vse never changes"):
                undo(log, force=force)
    assert tree(photos)["a.jpg"] == tree(photos)["plain"] == JPEG


@pytest.mark.parametrize("force", [False, True])
def test_undo_stays_inside_the_collection(photos: Path, tmp_path: Path, force: bool) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    (photos / "a.txt").symlink_to(outside)
    entries = [line(photos / "b.txt", b"old", b"sand"), line(photos / "a.txt", b"old", b"mine")]
    for root in (photos, None):
        with pytest.raises(DataError, match=r"a\.txt is a link that leads out of"):
            undo(stored(tmp_path / "log", *entries, root=root), force=force)
    with pytest.raises(DataError, match=r"leads out of"):
        undo(stored(tmp_path / "log", line(photos / ".." / "outside.txt", None, b"mine"), root=photos), force=force)
    assert outside.read_text() == "mine"
    assert (photos / "b.txt").read_text() == "sand"


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("name", [".bashrc", ".config/start.txt"])
def test_undo_never_changes_hidden_files(photos: Path, tmp_path: Path, name: str, force: bool) -> None:
    hidden = photos / name
    hidden.parent.mkdir(exist_ok=True)
    hidden.write_text("mine")
    for root in (photos, None) if name == ".bashrc" else (photos,):
        with pytest.raises(DataError, match="is hidden, and vse never changes hidden files"):
            undo(stored(tmp_path / "log", line(hidden, b"run me", b"mine"), root=root), force=force)
    assert hidden.read_text() == "mine"


def test_the_root_of_the_file_system_is_no_collection(photos: Path, tmp_path: Path) -> None:
    (photos / "b.txt").write_text("mine")
    with pytest.raises(DataError, match="/ is the root of the file system; name the folder of the images"):
        undo(stored(tmp_path / "log", line(photos / "b.txt", b"run me", b"mine"), root="/"))
    assert (photos / "b.txt").read_text() == "mine"


def test_a_journal_that_unpacks_to_much_is_refused(photos: Path, tmp_path: Path) -> None:
    # Five gigabytes of zeros, of which 16 MiB are compressed: after a full flush, equal data gives equal bytes.
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    part = raw.compress(bytes(1 << 24)) + raw.flush(zlib.Z_FULL_FLUSH)
    packed = zlib.compress(b"")[:2] + part * 320
    assert len(packed) < 6_000_000
    assert zlib.decompressobj().decompress(packed, 1 << 25) == bytes(1 << 25)
    entry = line(photos / "b.txt", b"", b"sand") | {"before": base64.b64encode(packed).decode()}
    log = stored(tmp_path / "log", entry, root=photos)
    done = subprocess.run(
        [sys.executable, "-c", _UNDO, str(log)], capture_output=True, text=True, timeout=30, preexec_fn=_limited
    )
    assert done.returncode == 1
    assert "is damaged in line 2" in done.stderr


def test_old_bytes_that_compress_well_are_restored(photos: Path, tmp_path: Path) -> None:
    content = bytes(20 << 20)
    (photos / "b.txt").write_bytes(content)
    write_changes([FileChange(photos / "b.txt", content, b"new")], tmp_path / "log", collection=photos)
    undo(tmp_path / "log")
    assert (photos / "b.txt").read_bytes() == content


def test_a_journal_that_is_a_pipe_or_one_endless_line_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "zero").symlink_to("/dev/zero")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    for name in ("fifo", "zero", "sparse"):
        with pytest.raises(DataError, match=r"is not a journal of vse|not a regular file"):
            undo(tmp_path / name)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"path": ["a"]}', '{"path": "AA==", "before": null, "after_sha256": ""}', '{"written": 3}x'],
)
def test_a_line_of_a_journal_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    log = stored(tmp_path / "log")
    with log.open("a") as file:
        file.write(text + "\n")
    with pytest.raises(DataError, match="is damaged in line 2"):
        undo(log)


def test_a_flipped_bit_in_a_journal_is_found(photos: Path, tmp_path: Path) -> None:
    write_changes([FileChange(photos / "b.txt", b"sand", b"new")], tmp_path / "log", collection=photos)
    content = (tmp_path / "log").read_bytes()
    missed = []
    for at in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[at] ^= 4
        (tmp_path / "log").write_bytes(damaged)
        try:
            undo(tmp_path / "log")
        except DataError:
            continue
        if (photos / "b.txt").read_text() == "sand":
            write_changes([FileChange(photos / "b.txt", b"sand", b"new")], tmp_path / f"log {at}", collection=photos)
            continue
        missed.append(at)  # a broken end of the last line says that nothing was written
    assert all(at >= content.rindex(b"\n", 0, -1) for at in missed)


def test_undo_names_its_files_without_the_journal_module_trusting_them(tmp_path: Path) -> None:
    for path in ("relative.txt", "nul\0.txt"):
        with pytest.raises(DataError, match="is damaged in line 2"):
            undo(stored(tmp_path / "log", line(path, None, b"")))
    assert journal.Written([], None).refused == []


def catalog_with(folder: Path, column: str, before: str = "", tags: int = 1) -> Path:
    """Write a catalog of digiKam whose tags have names as another sees fit."""
    path = folder / "digikam4.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            f"""
            CREATE TABLE AlbumRoots (id INTEGER PRIMARY KEY, identifier TEXT, specificPath TEXT);
            CREATE TABLE Albums (id INTEGER PRIMARY KEY, albumRoot INTEGER, relativePath TEXT);
            CREATE TABLE Images (id INTEGER PRIMARY KEY, album INTEGER, name TEXT, status INTEGER);
            CREATE TABLE ImageTags (imageid INTEGER, tagid INTEGER);
            {before}
            CREATE TABLE Tags (id INTEGER PRIMARY KEY, pid INTEGER, name {column});
            INSERT INTO AlbumRoots VALUES (1, 'volumeid:?path=/home/me', '/');
            INSERT INTO Albums VALUES (1, 1, '/');
            INSERT INTO Images VALUES (1, 1, 'a.jpg', 1);
            """
        )
        for number in range(1, tags + 1):
            connection.execute("INSERT INTO Tags (id, pid) VALUES (?, 0)", (number,))
            connection.execute("INSERT INTO ImageTags VALUES (1, ?)", (number,))
        connection.commit()
    return path


@pytest.mark.unhurried
def test_generated_columns_of_a_catalog_are_not_computed(tmp_path: Path) -> None:
    path = catalog_with(tmp_path, "TEXT GENERATED ALWAYS AS (hex(zeroblob(8000000)))", tags=390)
    started = time.monotonic()
    with pytest.raises(DataError, match="generated columns, which are not read"):
        read(path, format="digikam")
    with pytest.raises(DataError):
        read(path)
    assert time.monotonic() - started < 5


def test_virtual_tables_and_views_of_a_catalog_are_not_read(tmp_path: Path) -> None:
    path = catalog_with(tmp_path, "TEXT")
    # Of virtual tables, those of fts5 have hidden columns, and those of rtree none.
    for made in (
        "VIRTUAL TABLE Tags USING fts5(id, pid, name)",
        "VIRTUAL TABLE Tags USING rtree(id, pid, name)",
        "VIEW Tags AS SELECT 1 id, 0 pid, 'x' name",
    ):
        with closing(sqlite3.connect(path)) as connection:
            kind = connection.execute("SELECT type FROM sqlite_schema WHERE name = 'Tags'").fetchone()[0]
            connection.execute(f"DROP {kind} Tags")
            connection.execute(f"CREATE {made}")
        with pytest.raises(DataError, match="it has no table Tags"):
            read(path, format="digikam")


def test_a_log_of_a_catalog_that_is_a_device_is_not_copied(tmp_path: Path) -> None:
    path = catalog_with(tmp_path, "TEXT")
    Path(f"{path}-journal").write_bytes(b"not empty")
    Path(f"{path}-wal").symlink_to("/dev/zero")
    with pytest.raises(DataError, match="not a regular file"):
        read(path, format="digikam")


LONG = "x" * 1_001
CATEGORY = {"id": 1, "name": "x" * 1_000_000}
REPEATED = {
    "images": [{"id": number, "file_name": f"{number}.jpg"} for number in range(3_000)],
    "annotations": [{"image_id": number, "category_id": 1} for number in range(3_000)],
    "categories": [CATEGORY],
}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", f"image,label\na,{LONG}\n"),
        ("a.csv", f"image,labels\na,sea {LONG}\n"),
        ("a.tsv", f"image\tlabel\na\t{LONG}\n"),
        ("a.txt", f"a\t{LONG}\n"),
        ("a.jsonl", json.dumps({"image": "a", "labels": ["sea", LONG]}) + "\n"),
        ("coco.json", json.dumps(REPEATED)),
    ],
)
def test_a_label_of_more_than_a_thousand_characters_is_refused_by_every_reader(
    tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=r"^label 'x{37,40}' has 1,00\d,?\d* characters, more than 1,000") as caught:
        read(tmp_path / name, **({"label_separator": " "} if "labels" in content and name == "a.csv" else {}))
    assert len(str(caught.value)) < 300


def test_a_long_label_of_a_catalog_or_a_folder_is_refused(tmp_path: Path, photos: Path) -> None:
    path = catalog_with(tmp_path, f"TEXT DEFAULT '{LONG}'")
    (photos / "b.txt").write_text(LONG)
    for source in (path, photos):
        with pytest.raises(DataError, match=r"has 1,001 characters, more than 1,000"):
            read(source)
    (tmp_path / "a.csv").write_text(f"image,label\na,{'é' * 1_000}\n")
    assert read(tmp_path / "a.csv").labels.id(0) == "é" * 1_000


def test_names_of_tags_inside_tags_do_not_multiply(tmp_path: Path) -> None:
    path = catalog_with(tmp_path, f"TEXT DEFAULT '{'x' * 900}'", tags=20_000)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE Tags SET pid = min(id - 1, 99)")
        connection.commit()
    with pytest.raises(DataError, match=r"has 1,801 characters"):
        read(path)


def test_labels_have_a_limit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = tmp_path / "a.csv"
    pairs.write_text("".join(f"a,label {number:04}\n" for number in range(200)))
    monkeypatch.setattr(id_index, "_MAX_LABELS", 1_000)
    with pytest.raises(DataError, match="the labels have more than 1,000 bytes together"):
        read(pairs)
    pairs.write_text("".join(f"image {number:04},sea\n" for number in range(200)))
    assert read(pairs).pairs == 200


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the file system of Linux")
def test_the_files_of_the_system_are_not_walked(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to("/proc")
    faults: list[str] = []
    assert list(walk(Path("/proc"), lambda name, _: faults.append(name))) == []
    assert list(walk(Path("/sys/kernel"), lambda name, _: faults.append(name))) == []
    assert list(walk(tmp_path, lambda name, _: faults.append(name))) == []
    assert faults == [".", ".", "linked"]


def lightroom_with(folder: Path, *statements: str) -> Path:
    """Write a small catalog of Lightroom and change it."""
    path = dataset_files.lightroom(folder, {"a.jpg": ["place|beach", "sea"], "d/b.jpg": ["sea"]})
    with closing(sqlite3.connect(path)) as connection:
        for one in statements:
            connection.execute(one)
        connection.commit()
    return path


def test_tables_without_keys_do_not_multiply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)"
    statements = []
    for table in ("Adobe_images", "AgLibraryFile", "AgLibraryFolder", "AgLibraryRootFolder"):
        statements += [
            f"CREATE TABLE other AS SELECT * FROM {table} LIMIT 1",
            f"DROP TABLE {table}",
            f"CREATE TABLE {table} AS {numbers} SELECT other.* FROM n, other",
            "DROP TABLE other",
        ]
    monkeypatch.setattr(catalog, "_STEPS", 1_000_000)  # 40 rows to the fourth power take more
    path = lightroom_with(tmp_path)
    assert read(path).pairs == 3
    for one in statements:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(one)
            connection.commit()
    with pytest.raises(DataError, match=r"lrcat is damaged: its tables join to far more rows than they have"):
        read(path)


def test_a_large_catalog_needs_far_fewer_steps_than_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "_STEPS", 0)
    monkeypatch.setattr(catalog, "_STEPS_AT_ONCE", 100)
    tree = {f"d{number % 9}/{number}.jpg": [f"a|{number % 50}", f"b|{number % 7}"] for number in range(900)}
    for make in (dataset_files.lightroom, dataset_files.digikam, dataset_files.darktable):
        folder = tmp_path / make.__name__
        folder.mkdir()
        assert read(make(folder, tree)).pairs == 1_800
        monkeypatch.setattr(catalog, "_STEPS_OF_A_BYTE", 25)  # half of what it may


@pytest.mark.parametrize(
    ("make", "table", "column"),
    [
        (dataset_files.lightroom, "AgLibraryRootFolder", "absolutePath"),
        (dataset_files.lightroom, "AgLibraryFolder", "pathFromRoot"),
        (dataset_files.digikam, "AlbumRoots", "identifier"),
        (dataset_files.digikam, "AlbumRoots", "specificPath"),
        (dataset_files.digikam, "Albums", "relativePath"),
        (dataset_files.darktable, "film_rolls", "folder"),
    ],
)
def test_a_folder_of_a_catalog_has_a_path_of_a_file(tmp_path: Path, make: Any, table: str, column: str) -> None:
    for length, refused in ((4_096, False), (4_097, True)):
        folder = tmp_path / str(length)
        folder.mkdir()
        path = make(folder, {"a.jpg": ["sea"]})
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"UPDATE {table} SET {column} = '/{'x' * (length - 1)}'")
            connection.commit()
        with pytest.raises(DataError, match="a path of more than 4,096 characters") if refused else nullcontext():
            assert read(path).pairs == 1


def test_a_catalog_that_is_given_up_says_so_and_no_more(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda fault: print(fault.exc_value, file=sys.stderr))
    path = lightroom_with(tmp_path)
    for kept in (True, False):
        with open_catalog(path) as found:
            rows = found.rows("SELECT id_local FROM AgLibraryFile")
            next(rows)
            if kept:
                del rows
    del rows
    gc.collect()
    assert capfd.readouterr().err == ""


def test_tags_inside_tags_have_a_limit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = catalog_with(tmp_path, "TEXT DEFAULT 'x'", tags=200)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE Tags SET pid = min(id - 1, 50)")
        connection.commit()
    assert read(path).pairs == 51  # the others have the same name
    monkeypatch.setattr(catalog, "_MAX_PATHS", 10_000)
    with pytest.raises(DataError, match="the tags inside tags have more than 10,000 characters together"):
        read(path)
