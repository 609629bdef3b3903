"""System calls, and that models are saved where some of them are missing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from vse_ens import system
from vse_ens.system import OpenFolder, available_cores, open_lock, open_regular, try_lock

Python = Callable[..., subprocess.CompletedProcess[str]]

# As on macOS.
HIDE = """
import os
del os.sched_getaffinity
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
def test_models_are_saved_and_loaded_without_system_calls(python: Python, tmp_path: Path) -> None:
    root = str(Path(__file__).parents[1])
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    run = python(f"{HIDE}\n{SAVE_AND_LOAD}", str(tmp_path / "model"), str(tmp_path / "run"), PYTHONPATH=path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["True", "5"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


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


def test_directories_are_not_exchanged_where_the_system_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system.ctypes, "CDLL", lambda *_, **__: object())
    assert not system.exchange_directories(tmp_path, tmp_path)


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").write_text("text")
    os.close(open_regular(tmp_path / "file"))
    for name in ("fifo", "."):
        with pytest.raises(OSError, match="not a regular file"):
            open_regular(tmp_path / name)


def test_an_open_folder_gives_its_own_files(tmp_path: Path) -> None:
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
