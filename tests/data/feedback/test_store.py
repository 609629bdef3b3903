from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from vse_ens.data.feedback import store
from vse_ens.data.feedback.store import (
    COLUMNS,
    check_integrity,
    is_feedback_file,
    open_reader,
    open_writer,
    read_connection,
    transaction,
)
from vse_ens.errors import DataError

ADD = f"""INSERT INTO events ({COLUMNS})
    VALUES (NULL, ?, 'sea', 'accept', 'anna', '2025-01-01', 'page', NULL, 'm', NULL, NULL)"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "f.sqlite"
    connection = open_writer(made)
    with transaction(connection):
        connection.executemany(ADD, [(f"image {number}",) for number in range(500)])
    connection.close()
    return made


def test_written_events_are_read(path: Path) -> None:
    with read_connection(path) as file:
        assert file.execute("SELECT count(*) FROM in_force").fetchone() == (500,)


def test_only_the_owner_may_read_what_people_said(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        path = tmp_path / "f.sqlite"
        connection = open_writer(path)
        reader = open_reader(path)
        files = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
        assert files == {"f.sqlite": 0o600, "f.sqlite-wal": 0o600, "f.sqlite-shm": 0o600}
        reader.close()
        connection.close()
        path.chmod(0o640)  # shared on purpose
        open_writer(path).close()
        assert path.stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


def test_a_pipe_is_no_feedback_file_and_nobody_waits_for_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert not is_feedback_file(pipe)
    for opening in (open_reader, open_writer):
        with pytest.raises(DataError, match="pipe is not a regular file; name a feedback file"):
            opening(pipe)


@pytest.mark.parametrize("statement", ["DELETE FROM events", "UPDATE events SET by = 'eve'"])
def test_no_event_can_be_taken_away_or_changed(path: Path, statement: str) -> None:
    connection = open_writer(path)
    with pytest.raises(sqlite3.IntegrityError, match="events are never"):
        connection.execute(statement)
    connection.close()


def test_a_commit_waits_for_the_disk(path: Path) -> None:
    connection = open_writer(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    connection.close()


def test_a_reader_changes_nothing(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(DataError, match="is not writable"), read_connection(path) as file:
        file.execute(ADD, ("image",))
    assert path.read_bytes() == before


def test_a_file_whose_maker_was_killed_at_once_is_made_again(tmp_path: Path) -> None:
    for name, bytes_there in (("empty", b""), ("blank", None)):
        path = tmp_path / name
        if bytes_there is None:
            blank = sqlite3.connect(path)
            blank.execute("PRAGMA journal_mode = WAL")
            blank.close()
        else:
            path.write_bytes(bytes_there)
        open_writer(path).close()
        assert is_feedback_file(path)


def test_other_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "pairs.csv"
    text.write_text("image,label\na,sea\n" * 100)
    short = tmp_path / "short.csv"
    short.write_text("image,label\n")
    other = tmp_path / "other.sqlite"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE photos (id)")
    connection.close()
    for path, sentence in (
        (text, "is not a feedback file; name one that vse serve wrote"),
        (short, "is not a feedback file; name one that vse serve wrote"),
        (other, "is a SQLite file of another program"),
        (tmp_path, "is a folder; name a feedback file"),
    ):
        before = path.read_bytes() if path.is_file() else None
        for opening in (open_reader, open_writer):
            with pytest.raises(DataError, match=f"{path.name}.*{sentence}"):
                opening(path)
        assert (path.read_bytes() if path.is_file() else None) == before
    assert not is_feedback_file(text)
    assert not is_feedback_file(tmp_path)
    assert is_feedback_file(other)  # whatever it is, it is not a file of pairs


def test_a_file_of_another_version_is_refused(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(DataError, match="has version 9, but this program reads 1; use the program that wrote it"):
        open_writer(path)


def test_places_where_no_file_can_be_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot be created: there is no folder .*nowhere; create it first"):
        open_writer(tmp_path / "nowhere" / "f.sqlite")
    with pytest.raises(DataError, match="does not exist; vse serve creates a feedback file"):
        open_reader(tmp_path / "f.sqlite")


def test_a_folder_that_may_not_be_written_is_told() -> None:
    # Not a matter of permissions, which root has: no file can be made there.
    with pytest.raises(DataError, match="could not be opened: it or its folder is not writable"):
        open_writer(Path("/proc/f.sqlite"))


def test_a_damaged_file_is_told(path: Path) -> None:
    whole = path.read_bytes()
    assert len(whole) > 20_000
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"f\.sqlite is damaged .*; restore a copy"):
        open_writer(path)
    page = int.from_bytes(whole[16:18], "big")
    path.write_bytes(whole[:page] + b"\xff" * page + whole[2 * page :])
    with pytest.raises(DataError, match=r"f\.sqlite is damaged"), read_connection(path) as file:
        file.execute("SELECT * FROM in_force").fetchall()


def test_a_damaged_file_is_not_opened_for_writing_and_not_held(path: Path) -> None:
    whole = path.read_bytes()
    page = int.from_bytes(whole[16:18], "big")
    path.write_bytes(whole[:page] + b"\xff" * page + whole[2 * page :])
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(DataError, match=r"f\.sqlite is damaged"):
        open_writer(path)
    with pytest.raises(DataError, match="has version 9"):
        open_reader(_of_version_9(path.with_name("other.sqlite")))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def _of_version_9(path: Path) -> Path:
    connection = open_writer(path)
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    return path


def test_the_name_of_a_new_file_is_on_disk_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("vse_ens.data.feedback.store.sync", synced.append)
    open_writer(tmp_path / "f.sqlite").close()
    assert synced == [tmp_path]


def test_one_changed_letter_is_found_before_training(path: Path) -> None:
    whole = path.read_bytes()
    place = whole.index(b"image 321sea")  # in the table; the index has the same words
    path.write_bytes(whole[:place] + b"I" + whole[place + 1 :])
    with read_connection(path) as file:
        check_integrity(file, path, "quick_check")
        with pytest.raises(DataError, match=r"f\.sqlite is damaged \(.*\); restore a copy"):
            check_integrity(file, path, "integrity_check")


def test_a_file_that_another_holds_too_long_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vse_ens.data.feedback.store._BUSY_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(DataError, match="is locked by another process; try again when it has finished"):
        open_writer(path)
    other.close()


def test_a_reader_opens_a_file_after_a_crash(path: Path, tmp_path: Path) -> None:
    """What a killed writer left in the log is read: the reader makes the shared memory file that belongs to it."""
    connection = open_writer(path)
    with transaction(connection):
        connection.execute(ADD, ("one more",))
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name in ("f.sqlite", "f.sqlite-wal"):
        (crashed / name).write_bytes((tmp_path / name).read_bytes())
    connection.close()
    with read_connection(crashed / "f.sqlite") as file:
        assert file.execute("SELECT count(*) FROM in_force").fetchone() == (501,)


@pytest.mark.parametrize(("writable", "mode"), [(True, "rw"), (False, "ro")])
def test_a_reader_does_not_ask_to_write_where_it_may_not(
    path: Path, monkeypatch: pytest.MonkeyPatch, writable: bool, mode: str
) -> None:
    modes: list[str] = []
    connect = store._connect

    def connecting(file: Path, how: str) -> sqlite3.Connection:
        modes.append(how)
        return connect(file, "rw")

    monkeypatch.setattr(os, "access", lambda *_: writable)
    monkeypatch.setattr(store, "_connect", connecting)
    open_reader(path).close()
    assert modes == [mode]


def test_an_error_of_sqlite_that_nobody_foresaw_names_the_file(path: Path) -> None:
    with (
        pytest.raises(DataError, match=r"f\.sqlite could not be used: no such table: missing"),
        read_connection(path) as file,
    ):
        file.execute("SELECT * FROM missing")


def test_a_pipe_is_no_feedback_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert [is_feedback_file(tmp_path / name) for name in ("pipe", "nowhere", ".")] == [False, False, False]
