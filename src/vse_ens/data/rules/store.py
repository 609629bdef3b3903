"""The rules file: JSON lines that are only ever appended.

The first line names the format. Every other line is one event: rules that were added together, or rules that were
undone. A line counts from its line break on, and is on disk before its number is returned. So a killed process or a
full disk leaves at most an incomplete last line, which readers ignore and the next writer removes.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from vse_ens.data.rules.rule_set import Rule, RuleKind, RuleSet
from vse_ens.errors import ConfigError, DataError, UnknownIdError
from vse_ens.system import open_regular, sync, try_lock

_HEADER = {"format": "vse-ens rules", "version": 1}
# The longest wait for another process that writes; a write takes milliseconds.
_LOCK_SECONDS = 10.0


class NewRule(NamedTuple):
    """A rule to add."""

    kind: RuleKind
    label: str
    other: str


class _Content(NamedTuple):
    """A rules file as it was read."""

    rules: RuleSet
    added: list[Rule]
    """All rules in their order, including undone ones; the rule with number n is at n - 1."""
    events: list[list[int]]
    """The numbers of the rules that each event added; empty for an undo."""
    undone: set[int]
    length: int
    """The bytes up to the end of the last complete line."""


class RulesFile:
    """A rules file, safe to use from several threads and processes; it is created by the first rule."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = Lock()
        self._state: object = None
        self._content: _Content | None = None

    @property
    def rules(self) -> RuleSet:
        """The rules in force; do not change it. The file is read again only if it changed."""
        return self._current().rules

    @property
    def version(self) -> int:
        """The number of events so far."""
        return len(self._current().events)

    def rule(self, number: int) -> Rule:
        """Return a rule, in force or undone; an `UnknownIdError` if there is none."""
        added = self._current().added
        if not 0 < number <= len(added):
            raise UnknownIdError(str(number), "rule")
        return added[number - 1]

    def add(self, new: Iterable[NewRule], *, by: str) -> list[int]:
        """Add rules together or not at all, and return their numbers; they are on disk when this returns.

        A rule that is in force already is not added again: its number is returned, so a request may be sent twice.
        """
        _check_person(by)
        wanted = list(new)
        with self._appending() as (content, append):
            numbers, event = [], []
            now = _now()
            for one in wanted:
                same = content.rules.find(*one)
                if same is None:
                    same = Rule(len(content.added) + 1, *one, by, now)
                    content.rules.add(same)
                    content.added.append(same)
                    event.append({"rule": same.id, **one._asdict()})
                numbers.append(same.id)
            if event:
                append({"by": by, "at": now, "add": event})
        return numbers

    def undo(self, rules: Sequence[int] | None = None, *, by: str) -> list[Rule]:
        """Undo rules, by default those that were added last and are in force; return the rules undone.

        Undoing a rule twice changes nothing.
        """
        _check_person(by)
        if not self.path.exists():
            raise DataError(f"{self.path} does not exist; name a rules file that vse rules apply wrote")
        with self._appending() as (content, append):
            if rules is None:
                last = next((event for event in reversed(content.events) if set(event) - content.undone), None)
                if last is None:
                    raise ConfigError(f"{self.path} has no rule in force; there is nothing to undo")
                rules = last
            for number in rules:
                if not 0 < number <= len(content.added):
                    raise UnknownIdError(str(number), "rule")
            undone = [number for number in dict.fromkeys(rules) if number not in content.undone]
            if undone:
                append({"by": by, "at": _now(), "undo": undone})
        return [content.added[number - 1] for number in undone]

    def _current(self) -> _Content:
        with self._lock:
            state = _state(self.path)
            if self._content is None or state != self._state:
                self._content = _parse(_read(self.path), self.path)
                self._state = state
            return self._content

    @contextmanager
    def _appending(self) -> Iterator[tuple[_Content, Any]]:
        """Lock the file, and yield its content and a function that appends an event."""
        descriptor = _open_locked(self.path)
        try:
            content = _parse(_read_all(descriptor, self.path), self.path)

            def append(event: dict[str, Any]) -> None:
                lines = [event] if content.length else [_HEADER, event]
                text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
                _append(descriptor, self.path, content.length, text.encode())

            yield content, append
        finally:
            os.close(descriptor)


def read_rules(path: str | Path) -> RuleSet:
    """Return the rules in force of a rules file; another process may write to it at the same time."""
    if not Path(path).exists():
        raise DataError(f"{path} does not exist; vse rules apply creates a rules file")
    return _parse(_read(Path(path)), Path(path)).rules


def _read(path: Path) -> bytes:
    try:
        descriptor = open_regular(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise _unusable(path, "read", error) from None
    try:
        return _read_all(descriptor, path)
    finally:
        os.close(descriptor)


def _read_all(descriptor: int, path: Path) -> bytes:
    pieces = []
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        while piece := os.read(descriptor, 1 << 20):
            pieces.append(piece)
    except OSError as error:
        raise _unusable(path, "read", error) from None
    return b"".join(pieces)


def _parse(content: bytes, path: Path) -> _Content:
    end = content.rfind(b"\n") + 1
    parsed = _Content(RuleSet(), [], [], set(), end)
    for number, line in enumerate(content[:end].split(b"\n")[:-1], 1):
        try:
            event = json.loads(line)
            if number == 1:
                if event != _HEADER:
                    raise ValueError("another format")
            else:
                _replay(event, parsed)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if number == 1:
                raise DataError(f"{path} is not a rules file; name one that vse rules apply wrote") from None
            reason = f": {error}" if isinstance(error, ConfigError) else ""
            raise DataError(f"{path} is damaged in line {number}{reason}; restore a copy") from None
    # A process that was killed may have left the first line incomplete.
    if not end and content and not (json.dumps(_HEADER) + "\n").encode().startswith(content):
        raise DataError(f"{path} is not a rules file; name one that vse rules apply wrote")
    return parsed


def _replay(event: dict[str, Any], content: _Content) -> None:
    """Repeat an event."""
    by, at = str(event["by"]), str(event["at"])
    if "undo" in event:
        for number in event["undo"]:
            content.rules.remove(number)
            content.undone.add(number)
        content.events.append([])
        return
    numbers = []
    for one in event["add"]:
        rule = Rule(len(content.added) + 1, one["kind"], one["label"], one["other"], by, at)
        if one["rule"] != rule.id:
            raise ValueError("rules must be numbered in order")
        content.rules.add(rule)
        content.added.append(rule)
        numbers.append(rule.id)
    content.events.append(numbers)


def _open_locked(path: Path) -> int:
    """Open a file for writing and lock it, creating it for its owner only, because it names people."""
    deadline = time.monotonic() + _LOCK_SECONDS
    if path.exists() and not path.is_file():
        raise DataError(f"{path} is not a regular file; name a rules file")
    if not path.parent.is_dir():
        raise DataError(f"{path} cannot be created: there is no folder {path.parent}; create it first")
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise _unusable(path, "opened", error) from None
        # Another program may have replaced the file meanwhile.
        with suppress(FileNotFoundError):
            if try_lock(descriptor) and os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)
        if time.monotonic() > deadline:
            raise DataError(f"{path} is locked by another process; try again when it has finished")
        time.sleep(0.005)


def _append(descriptor: int, path: Path, length: int, text: bytes) -> None:
    """Write bytes after the last complete line and wait until they are on disk; on failure the file stays as it was."""
    try:
        os.ftruncate(descriptor, length)  # a killed process may have left a part of a line
        os.lseek(descriptor, length, os.SEEK_SET)
        rest = text
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
        if not length:
            sync(path.parent)  # a new file survives a power failure only with its name
    except OSError as error:
        with suppress(OSError):
            os.ftruncate(descriptor, length)
            os.fsync(descriptor)
        raise _unusable(path, "written", error) from None


def _state(path: Path) -> object:
    """Return what changes with every write to a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _unusable(path: Path, verb: str, error: OSError) -> DataError:
    reason = (error.strerror or str(error)).lower()
    return DataError(f"{path} could not be {verb}: {reason}; correct this or name another rules file")


def _check_person(by: str) -> None:
    if not by.strip() or not by.isprintable():
        raise ConfigError(f"by {by!r} must be one line of text that is not blank")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
