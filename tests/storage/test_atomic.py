from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.stored_models import beside
from vse_ens.errors import DataError
from vse_ens.storage import atomic
from vse_ens.storage.atomic import (
    open_atomic,
    partial_name,
    remove_dir,
    replace_dir,
    replace_files,
    replaced_name,
    reserve,
    write_bytes,
    write_json,
    write_text,
)


def test_both_files_appear_together_in_place_of_the_old(tmp_path: Path) -> None:
    one, other = tmp_path / "new" / "one", tmp_path / "other"
    other.write_text("old")
    with replace_files(one, other) as partial:
        for path, text in zip(partial, ("1", "2"), strict=True):
            path.write_text(text)
        assert other.read_text() == "old"
        assert not one.exists()
    assert (one.read_text(), other.read_text()) == ("1", "2")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["new", "one", "other"]


@pytest.mark.parametrize("left", ["file", "link", "link to nothing"])
@pytest.mark.parametrize("name", [".file.partial", ".file.0123456789abcdef.partial"])
def test_a_file_of_a_temporary_name_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: str, name: str
) -> None:
    monkeypatch.setattr(atomic.secrets, "token_hex", lambda _: "0123456789abcdef")
    monkeypatch.setattr(atomic, "_clean_folder", lambda _: None)
    other, partial = tmp_path / "elsewhere", tmp_path / name
    if left != "link to nothing":
        other.write_text("not ours")
    if left == "file":
        partial.write_text("not ours")
    else:
        partial.symlink_to(other)
    before = {path: path.readlink() if path.is_symlink() else path.read_text() for path in tmp_path.iterdir()}
    if name == ".file.partial":  # the name of version 0.3 and of no other
        write_bytes(tmp_path / "file", b"new")
        assert (tmp_path / "file").read_bytes() == b"new"
        (tmp_path / "file").unlink()
    else:
        with pytest.raises(DataError, match="could not be written: File exists"):
            write_bytes(tmp_path / "file", b"new")
    assert before == {path: path.readlink() if path.is_symlink() else path.read_text() for path in tmp_path.iterdir()}


_HELD = """
import sys, time
from pathlib import Path
from vse_ens.storage.atomic import replace_file
with replace_file(Path(sys.argv[1])) as partial:
    print(partial, flush=True)
    time.sleep(60)
"""


def test_what_a_killed_write_left_is_removed_by_the_next_process(tmp_path: Path) -> None:
    (tmp_path / ".mine.partial").write_text("mine")
    (tmp_path / ".mine.0123456789abcdef.partial.txt").write_text("mine")
    (tmp_path / ".linked.0123456789abcdef.partial").symlink_to(tmp_path / ".mine.partial")
    before = sorted(tmp_path.iterdir())
    writers = [
        subprocess.Popen([sys.executable, "-c", _HELD, str(tmp_path / name)], stdout=subprocess.PIPE, text=True)
        for name in ("n" * 255, "alive")
    ]
    try:
        killed, alive = (Path(writer.stdout.readline().strip()) for writer in writers if writer.stdout)
        writers[0].kill()
        writers[0].wait()
        assert killed.exists()
        write_bytes(tmp_path / "another", b"")
        assert sorted(tmp_path.iterdir()) == sorted([*before, alive, tmp_path / "another"])
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
            if writer.stdout:
                writer.stdout.close()


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail() -> None:
        with open_atomic(path) as file:
            file.write(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert [one.read_text() for one in tmp_path.iterdir()] == ["old"]


def test_a_failed_write_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / "below"
    message = r"below could not be written: Not a directory \(.*file\); correct this or choose another path"
    with pytest.raises(DataError, match=message), replace_files(place):
        pass
    with pytest.raises(DataError, match=message), replace_dir(place):
        pass
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match=r"folder could not be written: Is a directory; correct this"):
        write_bytes(tmp_path / "folder", b"")


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="asks Linux for the names of open files")
def test_files_are_flushed_before_the_rename_and_folders_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, done = tmp_path / "file", []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        done.append((Path(f"/proc/self/fd/{descriptor}").readlink().name, path.exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    write_text(path, "text")
    assert re.fullmatch(r"\.file\.[0-9a-f]{16}\.partial", done[0][0])
    assert [done[0][1], *done[1:]] == [False, (tmp_path.name, True)]


def test_text_and_json_are_utf8_with_escaped_surrogates(tmp_path: Path) -> None:
    value = {"b": ["Über", 1.5], "a": "\udc80"}
    write_json(tmp_path / "file.json", value)
    assert json.loads((tmp_path / "file.json").read_bytes()) == value
    assert (tmp_path / "file.json").read_text(encoding="utf-8").startswith('{\n  "b": [\n    "Über"')
    assert "Über" in (tmp_path / "file.json").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "file.json", float("nan"))
    write_text(tmp_path / "file.html", "\udc80", errors="xmlcharrefreplace")
    assert (tmp_path / "file.html").read_bytes() == b"&#56448;"
    assert beside(tmp_path / "file.json") == ["file.html"]


@pytest.mark.parametrize("exchange", [True, False])
def test_an_old_folder_stays_until_the_new_one_is_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    if not exchange:
        monkeypatch.setattr(atomic, "exchange_directories", lambda one, other: False)
    folder = tmp_path / "folder"
    for text in ("old", "new"):
        with replace_dir(folder) as partial:
            (partial / "deep").mkdir()
            (partial / "deep" / text).write_text(text)
            assert text == "old" or (folder / "deep" / "old").read_text() == "old"
    removed: list[bool] = []
    rmtree = atomic.shutil.rmtree

    def note(path: Path) -> None:
        removed.append((folder / "deep" / "newest").is_file())
        rmtree(path)

    with replace_dir(folder) as partial:
        (partial / "deep").mkdir()
        (partial / "deep" / "newest").write_text("")
        monkeypatch.setattr(atomic.shutil, "rmtree", note)
    assert removed
    assert all(removed)
    assert [path.name for path in folder.rglob("*")] == ["deep", "newest"]
    assert beside(folder) == []


def test_a_path_is_reserved_by_one_process_at_a_time(tmp_path: Path) -> None:
    place = tmp_path / "new" / "model"
    with reserve(place):
        assert beside(place) == [".model.run.lock"]
        with (
            pytest.raises(
                DataError, match=r"another process is training .*model; wait until it has finished, or choose"
            ),
            reserve(place),
        ):
            pass
        with (
            pytest.raises(DataError, match=r"another process is writing trials to .*model; .* choose another --study$"),
            reserve(place, doing="writing trials to", option="--study"),
        ):
            pass
        write_bytes(place, b"")  # the holder writes
    place.unlink()
    with reserve(place):
        pass
    assert beside(place) == []


def test_a_path_is_reserved_while_its_last_holder_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_lock, opened = atomic.open_lock, []

    def open_late(lock: Path) -> int:
        opened.append(open_lock(lock))
        if len(opened) == 1:
            lock.unlink()
        return opened[-1]

    monkeypatch.setattr(atomic, "open_lock", open_late)
    with reserve(tmp_path / "model"):
        assert len(opened) == 2


def test_a_path_that_cannot_be_written_cannot_be_reserved(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(DataError, match=r"below could not be written: Not a directory"),
        reserve(tmp_path / "file/below"),
    ):
        pass


def test_a_directory_is_removed_with_remains_of_a_killed_writer(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for path in (folder, partial_name(folder), replaced_name(folder)):
        path.mkdir()
        (path / "state").write_text("")
    (tmp_path / ".run.lock").write_text("")
    remove_dir(folder, ["state", "arrays"])
    assert list(tmp_path.iterdir()) == []
    remove_dir(folder, ["state"])
    remove_dir(tmp_path / "none" / "run", ["state"])


@pytest.mark.parametrize("exchange", [True, False])
def test_a_folder_of_the_user_beside_a_directory_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    if not exchange:
        monkeypatch.setattr(atomic, "exchange_directories", lambda one, other: False)
    mine = [tmp_path / f".model.{suffix}" for suffix in ("partial", "replaced")]
    for path in mine:
        path.mkdir()
        (path / "thesis").write_text("mine")
    locks = [tmp_path / ".model.lock", tmp_path / ".model.run.lock"]
    for lock in locks:
        lock.write_text("mine")
    for text in ("old", "new"):
        with reserve(tmp_path / "model"), replace_dir(tmp_path / "model") as partial:
            (partial / text).write_text(text)
    assert [(path / "thesis").read_text() for path in mine] == ["mine", "mine"]
    remove_dir(tmp_path / "model", ["new", "thesis"])
    assert sorted(tmp_path.iterdir()) == sorted([*mine, *locks])
    assert [(path / "thesis").read_text() for path in mine] == ["mine", "mine"]


def test_a_directory_may_have_a_long_name(tmp_path: Path) -> None:
    long, longer = tmp_path / ("n" * 240), tmp_path / ("n" * 241)
    with replace_dir(long) as one, replace_dir(longer) as other:
        assert one != other
    assert sorted(tmp_path.iterdir()) == [long, longer]


def test_only_known_files_of_a_directory_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("state", "thesis"):
        (folder / name).write_text(name)
    remove_dir(folder, ["state"])
    assert [path.name for path in folder.iterdir()] == ["thesis"]


def test_a_file_is_not_replaced_by_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with (
        pytest.raises(DataError, match=r"file could not be written: Not a directory; correct this"),
        replace_dir(tmp_path / "file"),
    ):
        pass
    assert (tmp_path / "file").read_text() == "mine"
    assert beside(tmp_path / "file") == []


def test_a_lock_that_cannot_be_taken_leaves_no_open_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    open_lock = atomic.open_lock
    monkeypatch.setattr(atomic, "open_lock", lambda lock: opened.append(open_lock(lock)) or opened[-1])

    def interrupted(_: int) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic, "try_lock", interrupted)
    with pytest.raises(KeyboardInterrupt):
        atomic._try_lock(tmp_path / "lock")
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened[0])


def test_a_released_lock_does_not_remove_that_of_the_next_holder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, close = tmp_path / "lock", os.close
    descriptor = atomic._try_lock(lock)
    assert descriptor is not None

    def closed(number: int) -> None:
        close(number)
        if number == descriptor:
            lock.touch()  # of another process, which may lock from now on

    monkeypatch.setattr(os, "close", closed)
    atomic._release(lock, descriptor)
    monkeypatch.undo()
    assert lock.exists()
