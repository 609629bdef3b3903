"""The calls that differ between operating systems, and that the package works where they are missing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from vse_ens import system
from vse_ens.system import OpenFolder, available_cores, open_lock, open_regular, try_lock

Python = Callable[..., subprocess.CompletedProcess[str]]

# As on a system that has none of them: modules cannot be imported by this package, and functions are not there.
HIDE = """
import builtins, os, sys
MISSING = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "posix", "syslog"}
real = builtins.__import__
def without(name, globals=None, locals=None, fromlist=(), level=0):
    if name in MISSING and (globals or {}).get("__name__", "").startswith("vse_ens"):
        raise ImportError(f"no module named {name} on this system")
    return real(name, globals, locals, fromlist, level)
builtins.__import__ = without
for name in ("sched_getaffinity", "O_DIRECTORY", "O_NONBLOCK", "O_CLOEXEC", "getloadavg", "pread", "fchmod", "fchown"):
    if hasattr(os, name):
        delattr(os, name)
os.supports_dir_fd = set()
"""

IMPORT_ALL = """
import importlib, pkgutil, vse_ens
names = [module.name for module in pkgutil.walk_packages(vse_ens.__path__, "vse_ens.")]
for name in names:
    if not name.endswith("__main__"):
        try:
            importlib.import_module(name)
        except vse_ens.MissingPartError:  # of a library that is not installed here
            pass
print(len(names))
"""

SAVE_AND_LOAD = """
import sys
import numpy as np
from vse_ens import system
system.exchange_directories = lambda one, other: False
from vse_ens.storage import atomic
atomic.exchange_directories = system.exchange_directories
from tests.support.saved_models import random_annotator
from vse_ens.annotator import Annotator
for kind in ("id", "context"):
    random_annotator(kind).save(sys.argv[1])
assert Annotator.load(sys.argv[1], in_memory=True).annotate("image-00003")
model = Annotator("vse-ens", dimensions=4, epochs=1).fit(Annotator.load(sys.argv[1]).known_, checkpoint=sys.argv[2])
model.save(sys.argv[1])
model.remove_checkpoint(sys.argv[2])
print(system.available_cores() >= 1, len(Annotator.load(sys.argv[1], verify=False).annotate("image-00003")))
"""


@pytest.mark.unhurried
def test_nothing_is_imported_that_some_systems_lack(python: Python) -> None:
    run = python(f"{HIDE}\n{IMPORT_ALL}")
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 100


@pytest.mark.unhurried
def test_models_are_saved_and_loaded_without_system_calls(python: Python, tmp_path: Path) -> None:
    root = str(Path(__file__).parents[1])
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    run = python(f"{HIDE}\n{SAVE_AND_LOAD}", str(tmp_path / "model"), str(tmp_path / "run"), PYTHONPATH=path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["True", "5"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


PHOTOS = """
import sys
from pathlib import Path
from tests.support.photos import jpeg, packet
from vse_ens.data.collections import LabelEdit, open_collection
from vse_ens.data.collections.journal import undo
from vse_ens.data.collections.write import write_labels
root = Path(sys.argv[1])
root.mkdir()
(root / "a.jpg").write_bytes(jpeg(packet(["beach"])))
(root / "a.xmp").write_bytes(packet(["sea"]))
before = (root / "a.xmp").read_bytes()
write_labels(open_collection(root), {"a.jpg": LabelEdit(("sand",))}, Path(sys.argv[2]))
[item] = open_collection(root).items()
undo(Path(sys.argv[2]))
print(*sorted(item.labels), (root / "a.xmp").read_bytes() == before)
"""


def test_photos_are_restored_without_system_calls(python: Python, tmp_path: Path) -> None:
    root = str(Path(__file__).parents[1])
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    run = python(f"{HIDE}\n{PHOTOS}", str(tmp_path / "photos"), str(tmp_path / "journal"), PYTHONPATH=path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["beach", "sand", "sea", "True"]


def test_the_cores_are_those_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 3, 5}, raising=False)
    assert available_cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert available_cores() == 7


def test_a_lock_is_held_until_its_file_is_closed(tmp_path: Path) -> None:
    one, other = open_lock(tmp_path / "lock"), open_lock(tmp_path / "lock")
    assert try_lock(one)
    assert not try_lock(other)
    os.close(one)
    assert try_lock(other)
    os.close(other)


def test_without_any_lock_of_the_system_nothing_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fcntl", "msvcrt"):
        monkeypatch.setitem(sys.modules, name, None)
    descriptor = open_lock(tmp_path / "lock")
    assert try_lock(descriptor)
    assert try_lock(descriptor)
    os.close(descriptor)


def test_directories_are_not_exchanged_where_the_system_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system.sys, "platform", "win32")
    assert not system.exchange_directories(tmp_path, tmp_path)


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").write_text("text")
    os.close(open_regular(tmp_path / "file"))
    for name in ("fifo", "."):
        with pytest.raises(OSError, match="not a regular file"):
            open_regular(tmp_path / name)


@pytest.mark.parametrize("by_path", [False, True])
def test_an_open_folder_gives_its_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_path: bool) -> None:
    if by_path:
        monkeypatch.setattr(os, "supports_dir_fd", set())
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    with OpenFolder(tmp_path / "one") as one, OpenFolder(tmp_path / "other") as other:
        with os.fdopen(one.open("file")) as file:
            assert file.read() == "one"
        assert one.has("file")
        assert not one.has("none")
        assert one.is_same(one)
        assert not one.is_same(other)
    with pytest.raises(FileNotFoundError):
        OpenFolder(tmp_path / "none")
    with pytest.raises(NotADirectoryError):
        OpenFolder(tmp_path / "one" / "file")


def test_an_open_folder_stays_the_same_when_its_path_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "file").write_text("old")
    with OpenFolder(tmp_path / "model") as folder:
        (tmp_path / "model").rename(tmp_path / "old")
        (tmp_path / "model").mkdir()
        (tmp_path / "model" / "file").write_text("new")
        with os.fdopen(folder.open("file")) as file:
            assert file.read() == "old"
