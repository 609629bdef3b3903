"""The rules file: appended only, on disk before a number is returned, readable after a crash."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
from pathlib import Path

import pytest

from vse_ens.data.rules import store
from vse_ens.data.rules.store import NewRule, RulesFile, read_rules
from vse_ens.errors import ConfigError, DataError, UnknownIdError

ALIAS, OTHER, IMPLIES = (
    NewRule("alias", "cars", "car"),
    NewRule("rename", "sea", "ocean"),
    NewRule("implication", "a", "b"),
)
HEADER = b'{"format": "vse-ens rules", "version": 1}\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rules.jsonl"


def test_the_name_of_a_new_file_is_flushed_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(store, "sync", synced.append)
    RulesFile(path).add([ALIAS], by="anna")
    RulesFile(path).add([IMPLIES], by="anna")
    assert synced == [path.parent]


def test_rules_are_numbered_and_read_back(path: Path) -> None:
    file = RulesFile(path)
    assert file.add([ALIAS, IMPLIES], by="anna") == [1, 2]
    assert file.add([OTHER], by="ben") == [3]
    read = {rule.id: rule for rule in read_rules(path)}
    assert [(rule.kind, rule.label, rule.other, rule.by) for rule in read.values()] == [
        (*ALIAS, "anna"),
        (*IMPLIES, "anna"),
        (*OTHER, "ben"),
    ]
    assert read[1].at.endswith("Z")
    assert RulesFile(path).version == 2
    assert file.rule(3).label == "sea"


def test_the_file_is_lines_of_json_that_are_never_changed(path: Path) -> None:
    file = RulesFile(path)
    file.add([ALIAS], by="änna")
    before = path.read_bytes()
    file.undo([1], by="ben")
    assert path.read_bytes().startswith(before)
    header, added, undone = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert header == {"format": "vse-ens rules", "version": 1}
    assert added["add"] == [{"rule": 1, "kind": "alias", "label": "cars", "other": "car"}]
    assert added["by"] == "änna"
    assert undone["undo"] == [1]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_same_rule_again_is_no_event(path: Path) -> None:
    file = RulesFile(path)
    assert file.add([ALIAS, IMPLIES], by="anna") == [1, 2]
    size = path.stat().st_size
    assert file.add([IMPLIES, ALIAS], by="ben") == [2, 1]
    assert path.stat().st_size == size


def test_rules_are_added_together_or_not_at_all(path: Path) -> None:
    file = RulesFile(path)
    file.add([ALIAS], by="anna")
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="'cars' is replaced by 'car'"):
        file.add([IMPLIES, NewRule("implication", "car", "cars")], by="anna")
    assert path.read_bytes() == before
    assert [rule.id for rule in file.rules] == [1]


def test_an_undone_rule_is_not_in_force_and_may_be_added_again(path: Path) -> None:
    file = RulesFile(path)
    file.add([ALIAS, IMPLIES], by="anna")
    assert [rule.id for rule in file.undo([2], by="ben")] == [2]
    assert [rule.id for rule in file.rules] == [1]
    size = path.stat().st_size
    assert file.undo([2], by="ben") == []
    assert path.stat().st_size == size
    assert file.add([IMPLIES], by="anna") == [3]
    assert file.rule(2).other == "b"


def test_undo_without_a_number_undoes_what_was_added_last(path: Path) -> None:
    file = RulesFile(path)
    file.add([OTHER], by="anna")
    file.add([ALIAS, IMPLIES], by="anna")
    assert [rule.id for rule in file.undo(by="anna")] == [2, 3]
    assert [rule.id for rule in file.undo(by="anna")] == [1]
    with pytest.raises(ConfigError, match="no rule in force"):
        file.undo(by="anna")


@pytest.mark.parametrize("number", [0, -1, 2, 10**30])
def test_an_unknown_rule_is_refused(path: Path, number: int) -> None:
    file = RulesFile(path)
    file.add([ALIAS], by="anna")
    for call in (lambda: file.undo([1, number], by="anna"), lambda: file.rule(number)):
        with pytest.raises(UnknownIdError, match=f"unknown rule '{number}'"):
            call()
    assert [rule.id for rule in file.rules] == [1]


def test_a_missing_file_has_no_rules_and_cannot_be_undone(path: Path) -> None:
    assert len(RulesFile(path).rules) == 0
    assert RulesFile(path).version == 0
    with pytest.raises(DataError, match="does not exist"):
        read_rules(path)
    with pytest.raises(DataError, match="does not exist"):
        RulesFile(path).undo(by="anna")
    assert not path.exists()


def test_another_process_is_seen_at_once(path: Path) -> None:
    one, other = RulesFile(path), RulesFile(path)
    assert len(one.rules) == 0
    other.add([ALIAS], by="anna")
    assert [rule.id for rule in one.rules] == [1]
    assert one.rules is one.rules  # not read again


@pytest.mark.parametrize("kept", range(1, 40, 6))
def test_incomplete_line_is_removed_by_the_next_writer(path: Path, kept: int) -> None:
    file = RulesFile(path)
    file.add([ALIAS], by="anna")
    whole = path.read_bytes()
    file.add([IMPLIES], by="anna")
    path.write_bytes(path.read_bytes()[: len(whole) + kept])
    assert [rule.id for rule in read_rules(path)] == [1]
    assert RulesFile(path).add([OTHER], by="anna") == [2]
    assert path.read_bytes().startswith(whole)
    assert [rule.label for rule in read_rules(path)] == ["cars", "sea"]


def test_an_incomplete_line_may_be_longer_than_the_next_one(path: Path) -> None:
    file = RulesFile(path)
    file.add([ALIAS], by="anna")
    file.add([NewRule("alias", f"label {n}", "one") for n in range(50)], by="anna")
    path.write_bytes(path.read_bytes()[:-1])
    assert RulesFile(path).add([OTHER], by="anna") == [2]
    assert [rule.label for rule in read_rules(path)] == ["cars", "sea"]


@pytest.mark.parametrize("kept", [0, 1, 20])
def test_a_first_line_that_was_cut_is_begun_again(path: Path, kept: int) -> None:
    file = RulesFile(path)
    file.add([ALIAS], by="anna")
    path.write_bytes(path.read_bytes()[:kept])
    assert RulesFile(path).add([OTHER], by="anna") == [1]
    assert [rule.label for rule in read_rules(path)] == ["sea"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"image,label\na,b\n", "is not a rules file"),
        (b"no line break", "is not a rules file"),
        (b'{"format": "vse-ens rules", "version": 2}\n', "is not a rules file"),
        (HEADER + b"nonsense\n", "damaged in line 2; restore"),
        (HEADER + b'{"by": "a", "at": "b"}\n', "damaged in line 2"),
        (HEADER + b"[]\n", "damaged in line 2"),
        (HEADER + b'{"by": "a", "at": "b", "undo": [1]}\n', "damaged in line 2"),
        (
            HEADER + b'{"by": "a", "at": "b", "add": [{"rule": 2, "kind": "alias", "label": "a", "other": "b"}]}\n',
            "damaged in line 2",
        ),
        (
            HEADER + b'{"by": "a", "at": "b", "add": [{"rule": 1, "kind": "alias", "label": "a", "other": "a"}]}\n',
            "damaged in line 2: a rule needs two labels, got 'a' twice; restore",
        ),
        (b"\xff\xfe\n", "is not a rules file"),
    ],
)
def test_a_damaged_file_is_refused_and_not_written_to(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)
    for call in (lambda: read_rules(path), lambda: RulesFile(path).add([ALIAS], by="anna")):
        with pytest.raises(DataError, match=message):
            call()
    assert path.read_bytes() == content


def test_a_full_disk_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = RulesFile(path)
    file.add([ALIAS], by="anna")
    before = path.read_bytes()
    real = os.write
    calls = []

    def write(descriptor: int, content: bytes) -> int:
        calls.append(content)
        if len(calls) == 1:
            return real(descriptor, content[:10])  # the rest does not fit
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(DataError, match="could not be written: no space left on device"):
        file.add([IMPLIES], by="anna")
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert file.add([IMPLIES], by="anna") == [2]


def test_a_line_is_flushed_before_its_number_is_returned(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = RulesFile(path)
    flushed: list[bytes] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        real(descriptor)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            flushed.append(path.read_bytes())

    monkeypatch.setattr(os, "fsync", fsync)
    file.add([ALIAS], by="anna")
    file.undo([1], by="anna")
    assert flushed[-1] == path.read_bytes()
    assert len(flushed) == 2
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.EIO, "Input/output error")))
    with pytest.raises(DataError, match="input/output error"):
        file.add([ALIAS], by="anna")
    monkeypatch.undo()
    assert flushed[-1] == path.read_bytes()


def test_threads_lose_nothing(path: Path) -> None:
    file = RulesFile(path)
    numbers: list[int] = []

    def add(thread: int) -> None:
        for n in range(20):
            numbers.extend(file.add([NewRule("alias", f"{thread} {n}", "one")], by="anna"))

    threads = [threading.Thread(target=add, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 81))
    assert len(read_rules(path)) == 80


def test_a_locked_file_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_LOCK_SECONDS", 0.05)
    file = RulesFile(path)
    file.add([ALIAS], by="anna")
    with file._appending(), pytest.raises(DataError, match="locked by another process"):
        file.add([IMPLIES], by="anna")
    assert file.add([IMPLIES], by="anna") == [2]


def test_places_that_cannot_hold_rules(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no folder .*nowhere; create it first"):
        RulesFile(tmp_path / "nowhere" / "rules.jsonl").add([ALIAS], by="anna")
    with pytest.raises(DataError, match="not a regular file"):
        RulesFile(tmp_path).add([ALIAS], by="anna")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="not a regular file"):
        read_rules(tmp_path / "pipe")


@pytest.mark.parametrize("by", ["", " ", "two\nlines"])
def test_a_name_is_one_line(path: Path, by: str) -> None:
    with pytest.raises(ConfigError, match="must be one line"):
        RulesFile(path).add([ALIAS], by=by)
    assert not path.exists()


def test_a_write_that_failed_is_taken_back_on_disk_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = RulesFile(path)
    file.add([ALIAS], by="anna")
    before, flushed = path.read_bytes(), []
    fsync, write = os.fsync, os.write

    def half(descriptor: int, content: bytes) -> int:
        write(descriptor, content[:5])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", half)
    monkeypatch.setattr(os, "fsync", lambda descriptor: (fsync(descriptor), flushed.append(path.read_bytes())))
    with pytest.raises(DataError, match="no space left on device"):
        file.add([IMPLIES], by="anna")
    assert flushed == [before]


def test_a_file_that_cannot_be_opened_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(DataError, match=r"rules\.jsonl could not be opened: permission denied"):
        RulesFile(path).add([ALIAS], by="anna")
