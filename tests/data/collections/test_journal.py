from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.data.collections import FileChange, journal
from vse_ens.data.collections.journal import (
    Undone,
    default_journal,
    diff,
    read_journal,
    undo,
    write_changes,
)
from vse_ens.errors import DataError

contents = st.dictionaries(
    st.sampled_from([f"file {number}" for number in range(6)]),
    st.binary(max_size=40).filter(lambda content: not content.startswith(journal._PROTECTED)),
)


def state(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def changes(folder: Path, after: dict[str, bytes]) -> list[FileChange]:
    old = state(folder)
    return [
        FileChange(folder / name, old.get(name), content) for name, content in after.items() if old.get(name) != content
    ]


@given(before=contents, after=contents)
def test_undo_restores_the_exact_bytes(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, log = Path(name) / "files", Path(name) / "undo.jsonl"
        folder.mkdir()
        for file, content in before.items():
            (folder / file).write_bytes(content)
        wanted = changes(folder, after)
        written = write_changes(wanted, log)
        assert state(folder) == before | after
        assert written.files == [change.path for change in wanted]
        assert written.journal == (log if wanted else None)
        if wanted:
            assert undo(log) == Undone([change.path for change in wanted])
            assert undo(log) == Undone([])
        assert state(folder) == before


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = tmp_path / "files"
    files.mkdir()
    for number in range(5):
        (files / f"{number}").write_text(f"old {number}")
    return files


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "undo.jsonl"


NEW = {f"{number}": f"new {number}".encode() for number in range(7)}


class KilledError(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("written", range(8))
def test_killed_process_leaves_whole_files_and_a_usable_journal(
    folder: Path, log: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    before, wanted = state(folder), changes(folder, NEW)
    stop_after(written, monkeypatch)
    try:
        write_changes(wanted, log)
    except KilledError:
        assert written < 7
    monkeypatch.undo()
    assert state(folder) == before | dict(list(NEW.items())[:written])
    undo(log)
    assert state(folder) == before


def stop_after(written: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """End the process when it has written this many files."""
    real, count = journal._replace, 0

    def replace(path: Path, content: bytes) -> None:
        nonlocal count
        if count == written:
            raise KilledError
        count += 1
        real(path, content)

    monkeypatch.setattr(journal, "_replace", replace)


def test_killed_write_is_undone_after_a_write_below_it_was(
    folder: Path, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = state(folder)
    write_changes(changes(folder, {"1": b"below 1", "2": b"below 2"}), tmp_path / "below.jsonl")
    wanted = changes(folder, {"0": b"new 0", "1": b"new 1", "2": b"new 2"})
    stop_after(1, monkeypatch)
    with pytest.raises(KilledError):
        write_changes(wanted, log)
    monkeypatch.undo()
    undo(tmp_path / "below.jsonl")
    assert undo(log) == Undone([folder / "0"], [folder / "1", folder / "2"])
    assert state(folder) == before
    # If it is forced, the bytes before the killed write come back, as for any file.
    assert undo(log, force=True) == Undone([folder / "1", folder / "2"])
    assert (folder / "1").read_bytes() == b"below 1"


def test_changed_file_of_a_killed_write_counts_as_written(
    folder: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = changes(folder, {"0": b"new 0", "1": b"new 1", "2": b"new 2"})
    stop_after(2, monkeypatch)
    with pytest.raises(KilledError):
        write_changes(wanted, log)
    monkeypatch.undo()
    (folder / "1").write_text("mine")
    with pytest.raises(DataError, match=r"files/1 changed after"):
        undo(log)
    assert (folder / "0").read_bytes() == b"new 0"


def test_journal_is_read_in_batches_with_the_fate_of_every_file(
    folder: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_BATCH", 2)
    wanted = changes(folder, NEW)
    write = journal._write

    def killed_at_the_last(change: FileChange, *more: Any) -> bool:
        if change.path.name == "6":
            raise KilledError
        if change.path.name == "3":  # another program, which takes no lock
            change.path.write_text("mine")
        return write(change, *more)

    monkeypatch.setattr(journal, "_write", killed_at_the_last)
    with pytest.raises(KilledError):
        write_changes(wanted, log)
    assert [(entry.path.name, entry.written) for entry in read_journal(log)] == [
        *((name, True) for name in "01245"),
        ("6", False),
    ]


def test_files_of_an_earlier_journal_version_count_as_written(folder: Path, log: Path) -> None:
    before = state(folder)
    write_changes(changes(folder, NEW), log)
    header, *lines = log.read_text().splitlines(keepends=True)
    assert json.loads(header)["version"] == 2
    entries = [json.loads(line) for line in lines if "written" not in line]
    for entry in entries:
        del entry["check"]
    log.write_text("".join(json.dumps(one) + "\n" for one in ({"format": "vse-ens journal", "version": 1}, *entries)))
    (folder / "3").write_text("mine")
    with pytest.raises(DataError, match=r"files/3 changed after"):
        undo(log)
    (folder / "3").write_bytes(NEW["3"])
    assert len(undo(log).files) == 7
    assert state(folder) == before


def test_entries_are_on_disk_before_their_files_change(
    folder: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    sync, replace = os.fsync, journal._replace

    def fsync(descriptor: int) -> None:
        if os.path.samestat(os.fstat(descriptor), log.stat()):
            order.append(f"{log.read_bytes().count(b'after_sha256')} entries")
        sync(descriptor)

    def write(path: Path, content: bytes) -> None:
        order.append(path.name)
        replace(path, content)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(journal, "_replace", write)
    monkeypatch.setattr(journal, "_BATCH", 2)
    write_changes(changes(folder, {"0": b"x", "1": b"y", "2": b"z"}), log)
    assert order == ["0 entries", "2 entries", "0", "1", "3 entries", "2"]


def test_incomplete_last_line_does_not_hinder_the_others(folder: Path, log: Path) -> None:
    before = state(folder)
    write_changes(changes(folder, NEW), log)
    lines = log.read_bytes().splitlines(keepends=True)
    (folder / "6").unlink()  # its entry was not complete, so it was not written
    log.write_bytes(b"".join(lines[:7]) + lines[7][:20])
    undo(log)
    assert state(folder) == before


def test_changed_file_is_named_and_nothing_is_restored(folder: Path, log: Path) -> None:
    before = state(folder)
    write_changes(changes(folder, NEW), log)
    (folder / "3").write_text("mine")
    with pytest.raises(DataError, match=r"files/3 changed after .*undo.jsonl was written; nothing was restored"):
        undo(log)
    assert (folder / "0").read_bytes() == b"new 0"
    undo(log, force=True)
    assert state(folder) == before


def test_file_that_changes_before_its_write_is_left(folder: Path, log: Path) -> None:
    wanted = changes(folder, NEW)
    (folder / "3").write_text("mine")
    written = write_changes(wanted, log)
    assert written.skipped == [folder / "3"]
    assert (folder / "3").read_text() == "mine"
    assert len(undo(log).files) == 6  # and the file that was not written does not stand in the way
    assert (folder / "3").read_text() == "mine"


def test_file_that_changes_after_its_entry_is_left(folder: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state(folder)
    wanted = changes(folder, {"1": b"new 1", "3": b"new 3", "4": b"new 4"})
    append = journal._append

    def note(file: FileIO, entries: Iterable[dict[str, Any]], *, flush: bool = True) -> None:
        noted = list(entries)
        append(file, noted, flush=flush)
        if any("after_sha256" in entry for entry in noted):
            (folder / "3").write_text("mine")  # another program, which takes no lock

    monkeypatch.setattr(journal, "_append", note)
    written = write_changes(wanted, log)
    assert (written.files, written.skipped) == ([folder / "1", folder / "4"], [folder / "3"])
    assert [entry.path.name for entry in read_journal(log)] == ["1", "4"]
    assert undo(log) == Undone([folder / "1", folder / "4"])
    assert state(folder) == before | {"3": b"mine"}


def test_removed_new_file_does_not_hinder_an_undo(folder: Path, log: Path) -> None:
    before = state(folder)
    write_changes(changes(folder, {"0": b"new 0", "9": b"created"}), log)
    (folder / "9").unlink()
    assert undo(log) == Undone([folder / "0"])
    assert state(folder) == before
    (folder / "0").write_text("new 0")
    (folder / "9").write_text("something else")
    undo(log, force=True)
    assert state(folder) == before


def test_a_file_that_cannot_be_compared_is_named(folder: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, _limit: int) -> bytes:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(journal, "read_regular", refuse)
    with pytest.raises(DataError, match=r"files/0 cannot be read: permission denied"):
        write_changes([FileChange(folder / "0", b"old 0", b"x")], log)


def test_a_folder_in_the_place_of_a_file_is_left(folder: Path, log: Path) -> None:
    wanted = changes(folder, {"0": b"new 0", "1": b"new 1"})
    (folder / "0").unlink()
    (folder / "0").mkdir()
    written = write_changes(wanted, log)
    assert (written.files, written.refused) == ([folder / "1"], [folder / "0"])


def test_permissions_stay_and_links_stay_links(folder: Path, log: Path, tmp_path: Path) -> None:
    (folder / "0").chmod(0o640)
    target = tmp_path / "elsewhere"
    (folder / "1").rename(target)
    (folder / "1").symlink_to(target)
    write_changes(changes(folder, {"0": b"x", "1": b"y"}), log, collection=tmp_path)
    assert (folder / "0").stat().st_mode & 0o777 == 0o640
    assert (folder / "1").is_symlink()
    assert target.read_bytes() == b"y"
    undo(log)
    assert target.read_text() == "old 1"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("odd.txt", b"\xff\xd8\xff\xe1"),
        ("odd.txt", b"\x89PNG\r\n"),
        ("odd.txt", b"II*\0"),
        ("odd.xmp", b"SQLite format 3\0"),
        ("a.JPG", b""),
        ("a.bmp", b"BM"),
        ("catalog.lrcat", b""),
    ],
)
def test_an_image_or_a_catalog_is_never_written(folder: Path, log: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(DataError, match="which vse never changes"):
        write_changes(changes(folder, {name: b"x"}), log)
    assert (folder / name).read_bytes() == content


def test_text_that_begins_like_an_image_is_written(folder: Path, log: Path) -> None:
    (folder / "a.txt").write_text("BMW, RIFF, GIF8")
    assert write_changes(changes(folder, {"a.txt": b"x"}), log).files == [folder / "a.txt"]


def test_changes_are_taken_a_few_at_a_time(folder: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_BATCH", 2)
    taken = 0

    def stream() -> Iterator[FileChange]:
        nonlocal taken
        for number in range(5):
            taken += 1
            yield FileChange(folder / f"{number}", f"old {number}".encode(), b"x")

    ahead: list[int] = []
    write_changes(stream(), log, progress=lambda done: ahead.append(taken - done))
    assert max(ahead) < 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a journal of vse"),
        (b"pairs\n", "is not a journal of vse"),
        (b"no end of line", "is not a journal of vse"),
        (b'{"format": "vse-ens journal", "version": 3}\n', "is not a journal of vse"),
        (b'{"format": "vse-ens journal", "version": 1}\n{}\n', "is damaged in line 2"),
    ],
)
def test_other_files_are_refused_as_journals(log: Path, content: bytes, message: str) -> None:
    log.write_bytes(content)
    with pytest.raises(DataError, match=message):
        undo(log)


def test_a_write_that_fails_says_how_to_undo_the_others(
    folder: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = journal._replace

    def replace(path: Path, content: bytes) -> None:
        if path.name == "2":
            raise DataError(f"{path} could not be written: No space left on device")
        real(path, content)

    before, wanted = state(folder), changes(folder, NEW)
    monkeypatch.setattr(journal, "_replace", replace)
    with pytest.raises(DataError, match=r"No space left on device; vse undo .*undo.jsonl restores the 2 files written"):
        write_changes(wanted, log)
    monkeypatch.undo()
    undo(log)
    assert state(folder) == before


def test_a_journal_that_exists_is_not_replaced(folder: Path, log: Path) -> None:
    log.write_text("something")
    with pytest.raises(DataError, match=r"undo.jsonl exists; choose another --journal"):
        write_changes(changes(folder, NEW), log)
    assert (folder / "0").read_text() == "old 0"


def test_a_journal_names_its_files_for_people(folder: Path, log: Path) -> None:
    write_changes(changes(folder, {"0": b"x"}), log)
    assert json.loads(log.read_text().splitlines()[1])["file"] == str(folder / "0")
    assert [entry.path for entry in read_journal(log)] == [folder / "0"]


def test_the_default_journal_is_in_the_state_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_journal().parent == tmp_path / "vse-ens" / "undo"


def test_a_diff_shows_a_change() -> None:
    assert diff(FileChange(Path("a.txt"), b"one\ntwo\n", b"one\nthree")) == (
        "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n\\ No newline at end of file\n"
    )
    assert diff(FileChange(Path("a.txt"), None, b"one\n")).startswith("--- /dev/null\n+++ a.txt\n")


def test_full_disk_under_the_journal_is_an_error_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [tmp_path / f"{n}.txt" for n in range(3)]
    real, flushed = os.fsync, []

    def fsync(descriptor: int) -> None:
        flushed.append(descriptor)
        if len(flushed) == failing:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    failing = 2  # after the name of the journal, its header
    with pytest.raises(DataError, match=r"undo\.jsonl could not be written: no space left on device$"):
        write_changes([FileChange(path, None, b"new\n") for path in files], tmp_path / "undo.jsonl")
    assert not any(path.exists() for path in files)


def test_an_error_after_some_files_names_the_undo(tmp_path: Path) -> None:
    def broken() -> Iterator[FileChange]:
        for number in range(300):
            yield FileChange(tmp_path / f"{number}.txt", None, b"new\n")
        raise DataError("the rest cannot be read")

    with pytest.raises(
        DataError, match=r"cannot be read; vse undo .*undo\.jsonl restores the 256 files written before"
    ):
        write_changes(broken(), tmp_path / "undo.jsonl")
    assert len(undo(tmp_path / "undo.jsonl").files) == 256


def test_file_changed_before_the_write_is_not_in_the_journal(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"other\n")
    wanted = [
        FileChange(tmp_path / name, b"old\n" if name == "a.txt" else None, b"new\n") for name in ("a.txt", "b.txt")
    ]
    written = write_changes(wanted, tmp_path / "undo.jsonl")
    assert (written.files, written.skipped) == ([tmp_path / "b.txt"], [tmp_path / "a.txt"])
    assert [entry.path.name for entry in read_journal(tmp_path / "undo.jsonl")] == ["b.txt"]


def test_another_process_that_writes_to_the_folder_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_LOCK_SECONDS", 0.05)
    change = FileChange(tmp_path / "a.txt", None, b"new\n")
    with journal._alone([change.path]), pytest.raises(DataError, match="another process keeps writing to"):
        write_changes([change], tmp_path / "one.jsonl")
    assert not change.path.exists()
    write_changes([change], tmp_path / "two.jsonl")
    with journal._alone([change.path]), pytest.raises(DataError, match="another process keeps writing to"):
        undo(tmp_path / "two.jsonl")
    assert undo(tmp_path / "two.jsonl").files == [change.path]


def test_a_file_that_changes_during_an_undo_is_left_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [tmp_path / name for name in ("a.txt", "b.txt")]
    for path in files:
        path.write_bytes(b"old\n")
    write_changes([FileChange(path, b"old\n", b"new\n") for path in files], tmp_path / "undo.jsonl")
    real = journal._replace

    def replace(path: Path, content: bytes) -> None:
        real(path, content)
        files[1].write_bytes(b"of another program\n")

    monkeypatch.setattr(journal, "_replace", replace)
    with pytest.raises(DataError, match=r"b\.txt was changed while .*undo\.jsonl was undone; 1 files were restored"):
        undo(tmp_path / "undo.jsonl")
    assert [path.read_bytes() for path in files] == [b"old\n", b"of another program\n"]
