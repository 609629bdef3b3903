"""Catalogs of other programs: read completely, without leaving a trace, also while they are in use."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support import dataset_files as made
from tests.support.dataset_files import Table
from vse_ens.data.collections import WritableCollection, open_collection
from vse_ens.data.io.read import read
from vse_ens.errors import DataError

TREE: Table = {"a.jpg": ["place|beach", "sea"], "d/b.jpg": ["place", "été"], "d/c.jpg": []}
HASHES: Table = {"0a" * 32: ["character:alice", "solo"], "0b" * 32: ["solo"], "0c" * 32: []}
FILES: dict[str, tuple[Callable[[Path, Table], Path], str]] = {
    "lightroom": (made.lightroom, "Lightroom Catalog.lrcat"),
    "digikam": (made.digikam, "digikam4.db"),
    "darktable": (made.darktable, "library.db"),
    "hydrus": (made.hydrus, "client.db"),
}
ROOTS = {
    "lightroom": "C:/Users/me/Pictures",
    "digikam": "/home/me/My Pictures",
    "darktable": "/home/me/Pictures",
}


def make(name: str, folder: Path) -> tuple[Path, Table]:
    table = HASHES if name == "hydrus" else TREE
    return FILES[name][0](folder, table), table


def labels(path: Path) -> dict[str, list[str]]:
    return {item.image: sorted(item.labels) for item in open_collection(path).items()}


@pytest.mark.parametrize("name", FILES)
def test_labels_and_ids_are_those_of_the_program(name: str, tmp_path: Path) -> None:
    path, table = make(name, tmp_path)
    collection = open_collection(path)
    assert collection.format == name
    assert not isinstance(collection, WritableCollection)
    assert labels(path) == {image: sorted(given) for image, given in table.items()}
    if name != "hydrus":
        assert collection.root == Path(ROOTS[name])
        list(collection.items())
        assert f"image ids are paths below {ROOTS[name]}" in collection.notes


@pytest.mark.parametrize("name", FILES)
def test_reading_leaves_no_trace(name: str, tmp_path: Path) -> None:
    path, _ = make(name, tmp_path)
    before = {one.name: (one.read_bytes(), one.stat().st_mtime_ns) for one in tmp_path.iterdir()}
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        labels(path)
    finally:
        tmp_path.chmod(stat.S_IRWXU)
    assert {one.name: (one.read_bytes(), one.stat().st_mtime_ns) for one in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", FILES)
def test_a_catalog_is_read_while_its_program_writes_to_it(name: str, tmp_path: Path) -> None:
    path, table = make(name, tmp_path)
    with closing(sqlite3.connect(tmp_path / FILES[name][1], isolation_level=None)) as program:
        program.execute("BEGIN EXCLUSIVE")
        program.execute("CREATE TABLE half_done (x)")
        assert labels(path) == {image: sorted(given) for image, given in table.items()}
        program.execute("ROLLBACK")


@pytest.mark.parametrize("name", FILES)
def test_locked_and_closed_catalogs_are_read_in_place(name: str, tmp_path: Path) -> None:
    path, table = make(name, tmp_path)
    database = tmp_path / FILES[name][1]
    with closing(sqlite3.connect(database, isolation_level=None)) as program:
        program.execute("PRAGMA journal_mode = WAL")
    before = sorted(one.name for one in tmp_path.iterdir())
    assert labels(path) == {image: sorted(given) for image, given in table.items()}
    assert sorted(one.name for one in tmp_path.iterdir()) == before, "a log was created beside the catalog"
    with closing(sqlite3.connect(database, isolation_level=None)) as program:
        program.execute("PRAGMA journal_mode = DELETE")
        program.execute("BEGIN EXCLUSIVE")
        assert labels(path) == {image: sorted(given) for image, given in table.items()}


def test_sqlite_message_that_is_not_utf_8_is_one_line(tmp_path: Path) -> None:
    path = made.digikam(tmp_path, TREE)
    path.write_bytes(path.read_bytes().replace(b"TABLE Tags", b"TABLE \xc7 \xc7s"))
    with pytest.raises(DataError, match="cannot be read as a database"):
        list(open_collection(path, "digikam").items())


def test_a_view_is_not_taken_for_a_table(tmp_path: Path) -> None:
    path = made.digikam(tmp_path, TREE)
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE ImageTags")
        db.execute(
            "CREATE VIEW ImageTags AS WITH RECURSIVE n(imageid, tagid) AS "
            "(SELECT 1, 1 UNION ALL SELECT imageid, tagid FROM n) SELECT * FROM n"
        )
    with pytest.raises(DataError, match="it has no table ImageTags"):
        list(open_collection(path, "digikam").items())


@pytest.mark.parametrize("name", ["lightroom", "digikam"])
def test_write_ahead_log_is_read_and_left_alone(name: str, tmp_path: Path) -> None:
    path, _ = make(name, tmp_path)
    table, column = ("AgLibraryKeyword", "name") if name == "lightroom" else ("Tags", "name")
    with closing(sqlite3.connect(path, isolation_level=None)) as program:
        program.execute("PRAGMA journal_mode = WAL")
        program.execute("PRAGMA wal_autocheckpoint = 0")
        program.execute(f"UPDATE {table} SET {column} = 'ocean' WHERE {column} = 'sea'")
        before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
        assert f"{path.name}-wal" in before
        assert labels(path)["a.jpg"] == ["ocean", "place|beach"]
        after = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
        assert after.keys() == before.keys()
        assert after[path.name] == before[path.name]
        assert after[f"{path.name}-wal"] == before[f"{path.name}-wal"]
    assert list(tmp_path.parent.glob("vse-*")) == []


def test_virtual_copies_and_duplicates_count_as_their_original(tmp_path: Path) -> None:
    path = made.lightroom(tmp_path, TREE)
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO Adobe_images VALUES (9, 'copy', 1, 1)")
        db.execute("INSERT INTO AgLibraryKeyword (id_local, parent, name) VALUES (90, 1, 'copied')")
        db.execute("INSERT INTO AgLibraryKeywordImage (image, tag) VALUES (9, 90)")
    assert labels(path)["a.jpg"] == ["copied", "place|beach", "sea"]


def test_several_root_folders_have_a_common_one(tmp_path: Path) -> None:
    path = made.lightroom(tmp_path, TREE)
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO AgLibraryRootFolder VALUES (2, 'C:/Users/me/Scans/')")
    assert next(iter(labels(path))) == "Pictures/a.jpg"
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO AgLibraryRootFolder VALUES (3, '//server/share/')")
    (first, *_) = open_collection(path).items()
    assert first.image == first.picture == "C:/Users/me/Pictures/a.jpg"


def test_a_circle_of_tags_ends(tmp_path: Path) -> None:
    path = made.digikam(tmp_path, {"a.jpg": ["place|beach"]})
    with sqlite3.connect(path) as db:
        db.execute("UPDATE Tags SET pid = 11 WHERE id = 10")
    assert labels(path)["a.jpg"][0].startswith("place|beach|place")


@pytest.mark.parametrize("name", FILES)
def test_other_files_are_refused_in_one_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / FILES[name][1]
    with pytest.raises(DataError, match=r"cannot be read|does not exist"):
        list(open_collection(path, name).items())
    path.write_bytes(b"SQLite format 3\0 and no more")
    with pytest.raises(DataError, match=r"cannot be read as a database|no catalog"):
        list(open_collection(path, name).items())
    path.write_bytes(b"text")
    with pytest.raises(DataError, match="is not a SQLite database"):
        list(open_collection(path, name).items())
    path.unlink()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE other (x)")
        # A view that never ends must not be taken for a table.
        db.execute("CREATE VIEW Images AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT * FROM n")
        db.commit()
    with pytest.raises(DataError, match=r"it has no table|cannot be read"):
        list(open_collection(path, name).items())


@pytest.mark.parametrize("name", [*FILES, "coco", "cvat", "label-studio"])
def test_a_named_pipe_is_refused_and_not_waited_for(name: str, tmp_path: Path) -> None:
    path = tmp_path / FILES[name][1] if name in FILES else tmp_path / "x.json"
    os.mkfifo(path)
    with pytest.raises(DataError, match="is not a regular file"):
        list(open_collection(path, name).items())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
@pytest.mark.parametrize("name", [*FILES, "coco", "cvat", "label-studio"])
def test_a_file_that_may_not_be_read_is_one_sentence(name: str, tmp_path: Path) -> None:
    path = tmp_path / FILES[name][1] if name in FILES else tmp_path / "x.json"
    path.write_bytes(b"{}")
    path.chmod(0)
    with pytest.raises(DataError, match=r"cannot be read: .*denied"):
        list(open_collection(path, name).items())


def tagged_photos(folder: Path) -> None:
    from PIL import Image

    for name in ("holiday/a.jpg", "holiday/b.jpg", "home/c.jpg"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (64, 48), (200, 100, 50)).save(folder / name)
    keywords = ["-XMP-dc:Subject=beach", "-XMP-dc:Subject=sea", "-XMP-lr:HierarchicalSubject=place|beach"]
    keywords += ["-XMP-lr:HierarchicalSubject=sea"]
    tool = ["exiftool", "-q", "-overwrite_original"]
    subprocess.run([*tool, *keywords, folder / "holiday/a.jpg"], check=True)
    subprocess.run([*tool, "-XMP-dc:Subject=dog", folder / "home/c.jpg"], check=True)


TAGGED = {"holiday/a.jpg": ["place|beach", "sea"], "holiday/b.jpg": [], "home/c.jpg": ["dog"]}


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("darktable-cli"), reason="darktable is not installed: apt-get install darktable")
@pytest.mark.skipif(not shutil.which("exiftool"), reason="exiftool is not installed")
def test_a_library_that_darktable_made_is_read(tmp_path: Path) -> None:
    tagged_photos(tmp_path / "pictures")
    config = tmp_path / "config"
    for name in TAGGED:
        subprocess.run(
            [
                "darktable-cli", tmp_path / "pictures" / name, tmp_path / f"{Path(name).stem}.png",
                "--core", "--configdir", config, "--library", config / "library.db",
                "--conf", "write_sidecar_files=never",
            ],
            check=True,
            capture_output=True,
        )  # fmt: skip
    assert labels(config) == TAGGED
    assert labels(config / "library.db") == TAGGED
    assert open_collection(config).root == tmp_path / "pictures"


@contextmanager
def digikam_running(folder: Path, database: Path) -> Iterator[Callable[[], bool]]:
    """Start digiKam on a display of its own, and end it and all it started."""
    environment = {
        **os.environ,
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "QTWEBENGINE_DISABLE_SANDBOX": "1",
        "QTWEBENGINE_CHROMIUM_FLAGS": "--no-sandbox",
    }
    command = ["dbus-run-session", "xvfb-run", "-a", "-s", "-screen 0 1280x1024x24"]
    command += ["digikam", "--database-directory", str(database)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as program:
        try:
            yield lambda: program.poll() is None
        finally:
            os.killpg(program.pid, signal.SIGTERM)
            try:
                program.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(program.pid, signal.SIGKILL)


def wait(alive: Callable[[], bool], done: Callable[[], bool]) -> None:
    """Wait until something is done; a test that hangs is ended by pytest's limit."""
    while not done():
        assert alive(), "digiKam ended"
        time.sleep(0.2)


@pytest.mark.slow
@pytest.mark.skipif(
    not all(map(shutil.which, ("digikam", "xvfb-run", "dbus-run-session", "exiftool"))),
    reason="digiKam, Xvfb, dbus or exiftool is not installed: apt-get install digikam xvfb xauth dbus exiftool",
)
def test_a_database_that_digikam_made_is_read_while_it_runs(tmp_path: Path) -> None:
    pictures, database = tmp_path / "my pictures", tmp_path / "database"
    tagged_photos(pictures)
    (tmp_path / "config").mkdir()
    database.mkdir()
    (tmp_path / "config" / "digikamrc").write_text(
        f"[General Settings]\nVersion=7.9.0\nScan At Start=true\nShow Splash=false\n\n[Database Settings]\n"
        f"Database Type=QSQLITE\nDatabase Name={database}/\nDatabase Name Thumbnails={database}/\n"
        f"Database Name Face={database}/\nDatabase Name Similarity={database}/\nInternal Database Server=false\n\n"
        f"[Album Settings]\nAlbum Path={pictures}\n"
    )
    path = database / "digikam4.db"

    def count(table: str) -> int:
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
                return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        except sqlite3.Error:
            return 0

    with digikam_running(tmp_path, database) as alive:
        wait(alive, lambda: count("Settings") >= 16)
    with closing(sqlite3.connect(path)) as db:  # the first-run assistant does this
        db.execute(
            "INSERT INTO AlbumRoots (label, status, type, identifier, specificPath) VALUES ('p', 0, 1, ?, '/')",
            [f"volumeid:?path={pictures}"],
        )
        db.commit()
    with digikam_running(tmp_path, database) as alive:
        wait(alive, lambda: count("ImageTags") >= 3)
        before = {one.name for one in database.iterdir()}
        assert labels(path) == TAGGED
        assert {one.name for one in database.iterdir()} <= before | {one.name for one in database.glob("*.db*")}
    assert open_collection(path).root == pictures
    assert read(path).labels_of("home/c.jpg") == ["dog"]
