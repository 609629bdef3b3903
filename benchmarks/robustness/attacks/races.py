"""Files exchanged while a collection is written, and a user who may not read or write all of it."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from tests.support.photos import packet

from benchmarks.robustness.attacks.attack import Attack, Child, Outcome
from vse_ens.data.collections import FileChange, LabelEdit, journal
from vse_ens.data.collections.detect import open_collection
from vse_ens.data.collections.journal import undo
from vse_ens.data.collections.write import write_labels
from vse_ens.errors import VseError

_EDITS = {f"{name}.jpg": LabelEdit(add=("sea",)) for name in "abc"}
_NOBODY = 65534
_THEIRS = b"written by another program"


def _folder(place: Path, kind: str) -> Path:
    """Make three images with files of labels."""
    folder = place / "photos"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.jpg").write_bytes(b"\xff\xd8\xff\xe0")
        (folder / _file(name, kind)).write_bytes(packet(["sand"]) if kind == "photos" else b"sand")
    return folder


def _file(name: str, kind: str) -> str:
    return f"{name}.jpg.xmp" if kind == "photos" else f"{name}.txt"


def _exchanges(outside: Path) -> dict[str, Callable[[Path], object]]:
    """Return what happens to a file: by name, what does it."""

    def replaced(by: Callable[[Path], object]) -> Callable[[Path], None]:
        def replace(path: Path) -> None:
            path.unlink(missing_ok=True)
            by(path)

        return replace

    return {
        "written": lambda path: path.write_bytes(_THEIRS),
        "replaced": replaced(lambda path: path.write_bytes(_THEIRS)),
        "removed": lambda path: path.unlink(missing_ok=True),
        "a link out": replaced(lambda path: path.symlink_to(outside)),
        "a dangling link": replaced(lambda path: path.symlink_to(outside.with_name("nothing.txt"))),
        "a link to an image": replaced(lambda path: path.symlink_to("c.jpg")),
        "a pipe": replaced(os.mkfifo),
        "a folder": replaced(Path.mkdir),
        "a device": replaced(lambda path: path.symlink_to("/dev/zero")),
        "without permission": lambda path: path.chmod(0),
        "its folder is a link": lambda path: (
            path.parent.rename(path.parent.with_name("moved")),
            path.parent.symlink_to("moved"),
        ),
    }


# When it happens: after the change is computed, when the lock is held, and when the journal has its entry.
_MOMENTS = ("allowed", "_is_unchanged", "_replace", "undo")


def _race(kind: str, name: str, moment: str) -> str:
    """Exchange a file while it is written or undone; return a fault, or nothing if no harm was done."""
    with tempfile.TemporaryDirectory() as place:
        folder, outside = _folder(Path(place), kind), Path(place) / "outside.txt"
        outside.write_bytes(b"mine")
        path = folder / _file("b", kind)
        exchange = _exchanges(outside)[name]

        def work(_: Callable[[], None]) -> None:
            seen = False

            def once() -> None:
                nonlocal seen
                if not seen:
                    seen = True
                    exchange(path)

            if moment != "undo":
                original = getattr(journal, moment)

                def late(*given: object) -> object:
                    change = next((one for one in given if isinstance(one, FileChange | Path)), path)
                    if moment == "allowed" or getattr(change, "path", change) in (path, path.resolve()):
                        once()
                    return original(*given)

                setattr(journal, moment, late)
            with suppress(VseError):
                write_labels(open_collection(folder, kind), _EDITS, Path(place) / "log")  # type: ignore[arg-type]
            if moment == "undo":
                exchange(path)
            with suppress(VseError):
                undo(Path(place) / "log")

        ended = Child(work)
        if ended.end():
            return ended.said.strip().rpartition("\n")[2][:200]
        images = {one.read_bytes() for one in folder.glob("*.jpg")}
        if images != {b"\xff\xd8\xff\xe0"}:
            return "an image was changed"
        if outside.read_bytes() != b"mine" or outside.with_name("nothing.txt").exists():
            return "a file outside was changed"
        if name in ("written", "replaced") and moment in ("allowed", "_is_unchanged", "undo"):
            return "" if path.read_bytes() == _THEIRS else "the text of another program was lost"
        if any(one.name.endswith(".partial") for one in folder.iterdir()):
            return "a temporary file was left"
        return ""


def exchanged(times: int) -> Outcome:
    """Exchange a file for everything, at every moment, in both kinds of collections."""
    outcome = Outcome()
    names = list(_exchanges(Path("x")))
    cases = [(kind, name, moment) for kind in ("txt-tags", "photos") for name in names for moment in _MOMENTS]
    for case in cases[:: max(1, len(cases) // times)]:
        fault = _race(*case)
        outcome.check(not fault, f"{', '.join(case)}: {fault}")
    outcome.seen = "left as the other program made it; images and files outside unchanged, no temporary file left"
    return outcome


# --- permissions ----------------------------------------------------------------------------------------------------


def _modes(chance: random.Random, folder: Path, kind: str) -> Iterator[Path]:
    """Take some permissions away, and yield what must not change."""
    for path in [folder, *sorted(folder.iterdir())]:
        mode = chance.choice((0o000, 0o400, 0o444, 0o555, 0o600, 0o700, 0o755))
        if path != folder or chance.random() < 0.5:
            path.chmod(mode if path != folder else chance.choice((0o555, 0o700, 0o400, 0o300)))
    yield from (folder / _file(name, kind) for name in "abc")


def permissions(times: int) -> Outcome:
    """Write to and undo collections of files without permissions, as a user who is not root."""
    if os.getuid() != 0:
        return Outcome(skipped="only root can become another user")
    outcome, chance = Outcome(), random.Random(4)
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        for number in range(times):
            kind = chance.choice(("txt-tags", "photos"))
            home = Path(place) / str(number)
            home.mkdir()
            folder = _folder(home, kind)
            before = {one.name: one.read_bytes() for one in folder.iterdir()}
            for one in (home, folder, *folder.iterdir()):
                os.chown(one, _NOBODY, _NOBODY)
            list(_modes(chance, folder, kind))
            modes = {one.name: one.stat().st_mode for one in (folder, *folder.iterdir())}

            def work(_: Callable[[], None], folder: Path = folder, kind: str = kind) -> None:
                os.setgroups([])
                os.setgid(_NOBODY)
                os.setuid(_NOBODY)
                log = folder.parent / "log"
                with suppress(VseError):
                    write_labels(open_collection(folder, kind), _EDITS, log)  # type: ignore[arg-type]
                with suppress(VseError):
                    undo(log)

            child = Child(work)
            fault = child.said.strip().rpartition("\n")[2][:200] if child.end() else ""
            after = {one.name: one.read_bytes() for one in folder.iterdir()}
            if not fault and after != before:
                fault = "other bytes after the undo"
            if not fault and modes != {one.name: one.stat().st_mode for one in (folder, *folder.iterdir())}:
                fault = "other permissions after the undo"
            outcome.check(not fault, f"case {number}, {kind}: {fault}")
            shutil.rmtree(home)
    outcome.seen = "refused in one sentence, or written and undone: the same bytes and permissions"
    return outcome


RACES = {
    "races": Attack("sidecars and files of tags exchanged between plan, journal, write and undo", exchanged, 1_000, 8),
    "permissions": Attack(
        "permission bits of folders, images and sidecars, as a user who is not root", permissions, 200, 4
    ),
}
