"""The history of files that are written with undo journals: random writes and undos of several processes at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from vse_ens.data.collections.base import FileChange
from vse_ens.data.collections.journal import undo, write_changes
from vse_ens.errors import DataError

if TYPE_CHECKING:
    from benchmarks.service.history import Operation

# Few enough that processes often write the same file. The last ones do not exist at first.
_OLD = [f"tags {number}.txt" for number in range(6)]
_NEW = [f"new {number}.txt" for number in range(2)]
_START = b"start\n"
_DISK_ERRORS = ("no space left on device", "file too large")
_CHANGED = ("changed after", "was changed while")


class WriteBackSession:
    """Random writes, each of which adds a line with its name to some files, and undos of earlier ones."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._done: list[str] = []

    def draw(self, random: Random) -> Any:
        """Return a ``write`` to some files, or an ``undo`` of an earlier write of this process."""
        if self._done and random.random() < 0.4:
            return ["undo", random.choice(self._done[-5:])]
        names = [*_OLD, *_NEW]
        return ["write", random.sample(names, random.randrange(1, len(names)))]

    def run(self, name: str, what: Any) -> Any:
        """Return the names of the files that were written or restored."""
        if what[0] == "undo":
            restored = undo(_journal(self._folder, what[1]))
            # Journals would fill the small disk.
            _journal(self._folder, what[1]).unlink()
            self._done.remove(what[1])
            return sorted(path.name for path in restored.files)
        written = write_changes(self._changes(name, what[1]), _journal(self._folder, name))
        self._done.append(name)
        return sorted(path.name for path in written.files)

    def _changes(self, name: str, files: Iterable[str]) -> Iterator[FileChange]:
        for file in files:
            path = self._folder / "files" / file
            try:
                before = path.read_bytes()
            except FileNotFoundError:
                before = None
            yield FileChange(path, before, (before or b"") + f"{name}\n".encode())

    def close(self) -> None:
        """Nothing is open between operations."""


def _journal(folder: Path, name: str) -> Path:
    return folder / "journals" / f"{name}.jsonl"


class WriteBackSubject:
    """A folder of text files, and the journals of what was written to them."""

    def open(self, folder: Path) -> WriteBackSession:
        """Create the files that are there from the start, unless another process did."""
        (folder / "files").mkdir(exist_ok=True)
        for name in _OLD:
            path = folder / "files" / name
            try:
                with path.open("xb") as file:
                    file.write(_START)
            except FileExistsError:
                pass
            except OSError as error:
                path.unlink(missing_ok=True)
                raise DataError(str(error)) from error
        return WriteBackSession(folder)

    def check(self, folder: Path, operations: list[Operation]) -> tuple[list[str], dict[str, int]]:
        """Compare the files with the log, then undo everything and compare them with the start."""
        files = _contents(folder)
        faults = check_log(operations, files)
        undone = {one.what[1] for one in operations if one.what[0] == "undo" and one.result is not None}
        more, by_hand = restore_all(folder, undone, interrupted_writes(operations))
        faults += more
        counts = {
            "operations acknowledged": sum(one.result is not None for one in operations),
            "refused, files changed since": sum(_is_changed(one.error) for one in operations),
            "failed on a full disk": sum(one.error is not None and not _is_changed(one.error) for one in operations),
            "killed in progress": sum(one.ended is None for one in operations),
            "interrupted writes that undo refused": by_hand,
            "files written or restored": sum(len(one.result) for one in operations if one.result is not None),
        }
        return faults, counts


def _contents(folder: Path) -> dict[str, bytes]:
    names = [*_OLD, *_NEW]
    found = {name: folder / "files" / name for name in names}
    return {name: path.read_bytes() for name, path in found.items() if path.exists()}


def _is_changed(error: str | None) -> bool:
    return error is not None and any(reason in error for reason in _CHANGED)


def check_log(operations: Iterable[Operation], files: dict[str, bytes]) -> list[str]:
    """Check that every acknowledged write is there once unless an undo of it was asked for, and no undone write is."""
    by_name = {operation.name: operation for operation in operations}
    faults, lines = [], dict[str, list[str]]()
    for name, content in files.items():
        start = _START if name in _OLD else b""
        if not content.startswith(start) or (len(content) > len(start) and not content.endswith(b"\n")):
            faults.append(f"{name} is damaged: {content[:60]!r}")
            continue
        lines[name] = content[len(start) :].decode().split("\n")[:-1]
        faults += [f"{name} has {line!r} {n} times" for line, n in Counter(lines[name]).items() if n > 1]
        faults += [
            f"{name} has {line!r}, which was not written to it"
            for line in lines[name]
            if line not in by_name or by_name[line].what[0] != "write" or name not in by_name[line].what[1]
        ]
    undos: dict[str, list[Operation]] = {}
    for operation in by_name.values():
        if operation.what[0] == "undo":
            undos.setdefault(operation.what[1], []).append(operation)
        if operation.error is not None and not any(
            reason in operation.error.lower() for reason in (*_DISK_ERRORS, *_CHANGED)
        ):
            faults.append(f"{operation.name} was refused: {operation.error}")
    for operation in by_name.values():
        if operation.what[0] != "write" or operation.result is None:
            continue
        has = [name for name, found in lines.items() if operation.name in found]
        tried = undos.get(operation.name, [])
        if not tried and set(has) != set(operation.result):
            faults.append(f"{operation.name} was answered {operation.result}, but is in {has}")
        if any(one.result is not None for one in tried) and has:
            faults.append(f"{operation.name} was undone, but is in {has}")
    return faults


def restore_all(folder: Path, undone: Collection[str], interrupted: Collection[str]) -> tuple[list[str], int]:
    """Undo every journal that was not ``undone`` already, the last writes first; all files must be as at the start.

    Of an undo that was killed, and of a write that was killed between a file and the line that says so, nobody knows
    whether it reached a file. If that was changed since, `undo` refuses or leaves it. Such an ``interrupted`` write is
    taken back by hand; returns the faults and the number of these.
    """
    left = sorted((folder / "journals").glob("*.jsonl"), key=lambda journal: -journal.stat().st_mtime_ns)
    # A process that was killed before it wrote anything leaves no header.
    for journal in left:
        if journal.stem in undone or b"\n" not in journal.read_bytes():
            journal.unlink()
    left = [journal for journal in left if journal.exists()]
    by_hand = 0
    while left:
        refused, errors = [], []
        for journal in left:
            try:
                undo(journal)
            except DataError as error:
                refused.append(journal)
                errors.append(str(error))
                continue
            if _has(folder, journal.stem):  # it left a file with a write of others above
                refused.append(journal)
                errors.append("it left a file that has its line")
            else:
                journal.unlink()  # the disk may be full of them
        if len(refused) == len(left):
            taken = [journal for journal in refused if journal.stem in interrupted and _take_back(folder, journal.stem)]
            if not taken:
                names = ", ".join(journal.stem for journal in left[:9])
                return [f"{len(left)} journals cannot be undone ({names}): {errors[0]}"], by_hand
            by_hand += len(taken)
            refused = [journal for journal in refused if journal not in taken]
        left = refused
    expected = {name: _START for name in _OLD if (folder / "files" / name).exists()}
    restored = _contents(folder)
    return ([] if restored == expected else [f"after undoing everything the files are {restored}"]), by_hand


def _has(folder: Path, name: str) -> dict[str, bytes]:
    """Return the contents of the files that have the line of a write."""
    line = f"{name}\n".encode()
    return {file: content for file, content in _contents(folder).items() if line in content.splitlines(keepends=True)}


def _take_back(folder: Path, name: str) -> bool:
    """Remove the line of a write where it is the last one; return False if another write is above it."""
    line, has = f"{name}\n".encode(), _has(folder, name)
    if not all(content.endswith(line) for content in has.values()):
        return False
    for file, content in has.items():
        path = folder / "files" / file
        if content == line and file in _NEW:
            path.unlink()
        else:
            path.write_bytes(content.removesuffix(line))
    return True


def interrupted_writes(operations: Iterable[Operation]) -> set[str]:
    """Return the writes that were killed or failed, or of which an undo was."""
    return {
        operation.name if operation.what[0] == "write" else operation.what[1]
        for operation in operations
        if operation.result is None
    }
