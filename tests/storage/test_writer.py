"""Whole or not at all: kills, full disks, two writers, and file systems that cannot exchange two directories."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.support.stored_models import beside, contents, make_model
from vse_ens.errors import DataError, ModelError
from vse_ens.model.checkpoint_store import load_state, save_state
from vse_ens.model.store import load_model, save_model
from vse_ens.storage import atomic
from vse_ens.storage import writer as writer_module
from vse_ens.storage.atomic import partial_name, replace_dir, replaced_name


@pytest.fixture(params=["exchange", "two renames"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Once as the system can, once as on file systems that cannot exchange two directories."""
    if request.param == "two renames":
        monkeypatch.setattr(atomic, "exchange_directories", lambda one, other: False)
    return str(request.param)


def test_directories_are_exchanged_in_one_step(tmp_path: Path) -> None:
    (tmp_path / "one" / "a").mkdir(parents=True)
    (tmp_path / "other" / "b").mkdir(parents=True)
    if not atomic.exchange_directories(tmp_path / "one", tmp_path / "other"):
        pytest.skip("this system cannot exchange two directories")
    assert (tmp_path / "one" / "b").is_dir()
    assert (tmp_path / "other" / "a").is_dir()
    with pytest.raises(FileNotFoundError):
        atomic.exchange_directories(tmp_path / "one", tmp_path / "none")


def test_a_model_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path, ways: str) -> None:
    path = tmp_path / "new" / "parents" / "model"
    for fill in (1.0, 2.0):
        save_model(path, make_model(fill))
        assert load_model(path).arrays["label"][1, 0] == 3 * fill
        assert beside(path) == []


def test_a_loaded_model_outlives_its_directory(tmp_path: Path, ways: str) -> None:
    save_model(tmp_path / "model", make_model(1.0))
    loaded = load_model(tmp_path / "model", verify=False)
    save_model(tmp_path / "model", make_model(2.0))
    assert loaded.arrays["label"][1, 0] == 3.0
    assert list(loaded.known.images) == list(make_model().known.images)


def test_a_link_to_a_model_stays_a_link(tmp_path: Path) -> None:
    save_model(tmp_path / "real", make_model(1.0))
    (tmp_path / "link").symlink_to("real")
    save_model(tmp_path / "link", make_model(2.0))
    assert (tmp_path / "link").is_symlink()
    assert load_model(tmp_path / "real").arrays["label"][1, 0] == 6.0


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (KeyboardInterrupt(), KeyboardInterrupt),
        (OSError(errno.ENOSPC, "No space left on device"), DataError),
        (ZeroDivisionError(), ZeroDivisionError),
    ],
)
def test_a_failed_write_changes_nothing(
    tmp_path: Path, fault: BaseException, error: type[BaseException], ways: str
) -> None:
    save_model(tmp_path / "model", make_model())
    before = contents(tmp_path / "model")

    def write_half() -> None:
        with replace_dir(tmp_path / "model") as folder:
            (folder / "half").write_text("written")
            raise fault

    with pytest.raises(error):
        write_half()
    assert contents(tmp_path / "model") == before
    assert beside(tmp_path / "model") == []


def test_a_rename_that_fails_between_the_two_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_model(tmp_path / "model", make_model())
    before = contents(tmp_path / "model")
    monkeypatch.setattr(atomic, "exchange_directories", lambda one, other: False)
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.name.endswith(".partial"):
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(ModelError, match="could not be written: Input/output error"):
        save_model(tmp_path / "model", make_model(2.0))
    assert contents(tmp_path / "model") == before
    assert beside(tmp_path / "model") == []


def test_a_death_between_two_renames_loses_nothing(tmp_path: Path) -> None:
    save_model(tmp_path / "model", make_model(1.0))
    (tmp_path / "model").rename(replaced_name(tmp_path / "model"))
    shutil.copytree(replaced_name(tmp_path / "model"), partial_name(tmp_path / "model"))
    assert load_model(tmp_path / "model").arrays["label"][1, 0] == 3.0
    with pytest.raises(ZeroDivisionError), replace_dir(tmp_path / "model"):
        raise ZeroDivisionError
    assert load_model(tmp_path / "model").arrays["label"][1, 0] == 3.0
    assert beside(tmp_path / "model") == []


def test_a_damaged_model_left_by_a_death_is_told(tmp_path: Path) -> None:
    save_model(tmp_path / "model", make_model())
    (tmp_path / "model").rename(replaced_name(tmp_path / "model"))
    (replaced_name(tmp_path / "model") / "README.md").write_text("other")
    with pytest.raises(ModelError, match=r"README\.md is damaged"):
        load_model(tmp_path / "model")


# --- what must not be overwritten -----------------------------------------------------------------------------------


def test_a_directory_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "README.md").write_text("mine")
    with pytest.raises(ModelError, match="photos is not a model directory; choose another --out"):
        save_model(tmp_path / "photos", make_model())
    assert contents(tmp_path / "photos") == {"README.md": b"mine"}
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ModelError, match="is a file, not a model directory; choose another --out"):
        save_model(tmp_path / "file", make_model())
    save_state(tmp_path / "checkpoint", {}, {})
    with pytest.raises(ModelError, match=r"contains 'state\.json', which is not part of a model"):
        save_model(tmp_path / "checkpoint", make_model())
    with pytest.raises(ModelError, match="is not a model directory"):
        save_model("/", make_model())
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["checkpoint", "file", "photos"]


def test_a_file_that_is_no_part_of_the_model_is_not_lost(tmp_path: Path) -> None:
    save_model(tmp_path / "model", make_model())
    (tmp_path / "model" / "notes.txt").write_text("mine")
    with pytest.raises(ModelError, match=r"contains 'notes\.txt', which is not part of a model and would be lost"):
        save_model(tmp_path / "model", make_model())
    assert (tmp_path / "model" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "foreign",
    [
        {"model.json": '{"format": "tfjs", "modelTopology": {}}'},
        {"model.json": "not JSON"},
        {"model.json": "[1, 2]"},
        {"model.json": "{}", "README.md": "mine"},
        {"manifest.json": '{"name": "a web app"}'},
        {"manifest.json": '{"files": {}, "sha256": ""}', "README.md": "mine"},
        {"model.json": '{"format": "vse-ens checkpoint"}'},
    ],
)
def test_files_of_another_program_under_our_names_are_not_lost(tmp_path: Path, foreign: dict[str, str]) -> None:
    (tmp_path / "model").mkdir()
    for name, text in foreign.items():
        (tmp_path / "model" / name).write_text(text)
    before = contents(tmp_path / "model")
    with pytest.raises(
        ModelError, match=r"is not a model directory: its model\.json was not written by vse-ens; choose another --out"
    ):
        save_model(tmp_path / "model", make_model())
    assert contents(tmp_path / "model") == before
    assert beside(tmp_path / "model") == []


def test_a_folder_under_one_of_our_names_is_not_lost(tmp_path: Path) -> None:
    save_model(tmp_path / "model", make_model())
    (tmp_path / "model" / "README.md").unlink()
    (tmp_path / "model" / "README.md").mkdir()
    (tmp_path / "model" / "README.md" / "thesis.tex").write_text("mine")
    with pytest.raises(ModelError, match=r"contains 'README\.md', which is not part of a model and would be lost"):
        save_model(tmp_path / "model", make_model())
    assert (tmp_path / "model" / "README.md" / "thesis.tex").read_text() == "mine"


def test_a_fifo_under_one_of_our_names_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    os.mkfifo(tmp_path / "model" / "model.json")
    with pytest.raises(ModelError, match=r"its model\.json was not written by vse-ens"):
        save_model(tmp_path / "model", make_model())


def test_a_model_of_another_version_is_replaced(tmp_path: Path) -> None:
    save_model(tmp_path / "model", make_model())
    (tmp_path / "model" / "model.json").write_text('{"format": "vse-ens model", "version": 1}')
    save_model(tmp_path / "model", make_model(2.0))
    (tmp_path / "model" / "model.json").unlink()  # the manifest still says that it is ours
    save_model(tmp_path / "model", make_model(3.0))
    assert load_model(tmp_path / "model").arrays["label"][1, 0] == 9.0


def test_an_empty_directory_and_a_damaged_model_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    save_model(tmp_path / "model", make_model())
    (tmp_path / "model" / "manifest.json").unlink()
    save_model(tmp_path / "model", make_model(2.0))
    assert load_model(tmp_path / "model").arrays["label"][1, 0] == 6.0


# --- a disk that fails ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("calls", [0, 1, 3, 5, 8, 20, 30])
def test_a_full_disk_at_any_write_leaves_the_old_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    save_model(tmp_path / "model", make_model())
    before = contents(tmp_path / "model")
    write, left = writer_module.HashedFile.write, [calls]

    def fill(self: writer_module.HashedFile, content: bytes) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(self, content)

    monkeypatch.setattr(writer_module.HashedFile, "write", fill)
    with pytest.raises(ModelError, match="model could not be written: No space left on device"):
        save_model(tmp_path / "model", make_model(2.0))
    assert contents(tmp_path / "model") == before
    assert beside(tmp_path / "model") == []


LIMITED = """
import resource, signal, sys
import numpy as np
from vse_ens.errors import DataError, ModelError
from vse_ens.model.checkpoint_store import save_state
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    save_state(sys.argv[1], {"a": np.ones(100_000)}, {"epoch": 2})
except ModelError as error:
    print(error)
"""


def test_a_write_cut_short_leaves_the_old_checkpoint(tmp_path: Path) -> None:
    save_state(tmp_path / "checkpoint", {"a": np.ones(10)}, {"epoch": 1})
    run = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "checkpoint")], capture_output=True, text=True, check=True
    )
    assert "could not be written: File too large" in run.stdout
    assert load_state(tmp_path / "checkpoint").state == {"epoch": 1}
    assert beside(tmp_path / "checkpoint") == []


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the names of open files")
def test_files_are_on_disk_before_they_are_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    fsync, put = os.fsync, atomic._put_in_place
    monkeypatch.setattr(
        os, "fsync", lambda opened: (done.append(Path(f"/proc/self/fd/{opened}").readlink().name), fsync(opened))
    )
    monkeypatch.setattr(atomic, "_put_in_place", lambda *names: (done.append("in place"), put(*names)))
    save_model(tmp_path / "model", make_model())
    assert set(done[:7]) == set(contents(tmp_path / "model"))
    assert done[7:] == [partial_name(tmp_path / "model").name, "in place", tmp_path.name]


# --- two at once ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("another", [False, True])
def test_a_lock_on_a_removed_file_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, another: bool) -> None:
    """The last holder removes the lock file between our opening and our locking it; a third may have made a new one."""
    open_lock = atomic.open_lock

    def open_late(lock: Path) -> int:
        descriptor = open_lock(lock)
        lock.unlink()
        if another:
            lock.touch()
        return descriptor

    descriptor = atomic._try_lock(tmp_path / "lock")
    assert descriptor is not None
    os.close(descriptor)
    monkeypatch.setattr(atomic, "open_lock", open_late)
    assert atomic._try_lock(tmp_path / "lock") is None


def test_a_second_writer_waits_for_the_first(tmp_path: Path) -> None:
    started, order = threading.Event(), []

    def second() -> None:
        started.set()
        save_model(tmp_path / "model", make_model(2.0))
        order.append("second")

    other = threading.Thread(target=second)
    with replace_dir(tmp_path / "model") as folder:
        other.start()
        started.wait()
        time.sleep(0.2)
        assert folder.is_dir()  # the second writer has not taken it for what a dead one left
        order.append("first")
        (folder / "model.json").write_text('{"format": "vse-ens model"}')
    other.join()
    assert order == ["first", "second"]
    assert load_model(tmp_path / "model").arrays["label"][1, 0] == 6.0
    assert beside(tmp_path / "model") == []


def test_a_writer_that_waits_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_model(tmp_path / "model", make_model())
    monkeypatch.setattr(atomic, "LOCK_SECONDS", 0.1)
    with replace_dir(tmp_path / "model") as folder:
        with pytest.raises(ModelError, match=r"another process has been writing .*model for 0\.1 seconds; wait for it"):
            save_model(tmp_path / "model", make_model(2.0))
        assert folder.is_dir()
        (folder / "model.json").write_text('{"format": "vse-ens model"}')
    assert beside(tmp_path / "model") == []


WRITER = """
import sys
import numpy as np
from vse_ens.storage import atomic
from vse_ens.model.checkpoint_store import save_state
path, number, times, way = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
if way == "two renames":
    atomic.exchange_directories = lambda one, other: False
for n in range(times):
    version = number + n
    save_state(path, {"a": np.full(50_000 + version, float(version)), "b": np.full(7, version)}, {"version": version})
    if n == 0:
        print("begun", flush=True)
"""


@contextmanager
def writer(path: Path, number: int, times: int, way: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has begun to save ``times`` versions from ``number`` on; killed when the block ends."""
    command = [sys.executable, "-c", WRITER, str(path), str(number), str(times), way]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "begun\n"
        try:
            yield started
        finally:
            started.kill()


def load_version(path: Path) -> int:
    """The version at ``path``, which must be one version throughout."""
    arrays, state = load_state(path)
    version = int(state["version"])
    assert len(arrays["a"]) == 50_000 + version
    assert (arrays["a"] == version).all()
    assert (arrays["b"] == version).all()
    return version


@pytest.mark.unhurried
@pytest.mark.parametrize("way", ["exchange", "two renames"])
def test_readers_and_two_writers_see_whole_versions_only(tmp_path: Path, way: str) -> None:
    path = tmp_path / "checkpoint"
    save_state(path, {"a": np.full(50_000, 0.0), "b": np.full(7, 0)}, {"version": 0})
    seen = set()
    with writer(path, 1_000, 60, way) as one, writer(path, 2_000, 60, way) as other:
        while one.poll() is None or other.poll() is None:
            seen.add(load_version(path))
        assert (one.wait(), other.wait()) == (0, 0)
    assert len(seen) > 1
    assert load_version(path) in {1_059, 2_059}
    assert beside(path) == []


@pytest.mark.unhurried
@pytest.mark.parametrize("way", ["exchange", "two renames"])
def test_a_killed_writer_leaves_a_whole_version(tmp_path: Path, way: str) -> None:
    path = tmp_path / "checkpoint"
    version = 1
    save_state(path, {"a": np.full(50_001, 1.0), "b": np.full(7, 1)}, {"version": 1})
    chance = random.Random(5)
    for _ in range(8):
        with writer(path, version + 1, 1_000_000, way):
            time.sleep(chance.uniform(0.0, 0.1))
        found = load_version(path)
        assert found > version
        version = found
    save_state(path, {}, {})
    assert beside(path) == []


def test_a_hashed_file_says_how_much_it_wrote() -> None:
    """Arrow and others write through it."""
    sink = io.BytesIO()
    file = writer_module.HashedFile(sink)
    assert (file.writable(), file.write(b"abc"), file.write(b"defg"), file.tell()) == (True, 3, 4, 7)
    assert file.entry() == (7, hashlib.sha256(b"abcdefg").hexdigest())
    assert sink.getvalue() == b"abcdefg"
