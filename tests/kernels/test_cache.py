"""The folder of compiled kernels: an index of older sources never breaks a run."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import pytest

from vse_ens.kernels import jit
from vse_ens.system import try_lock

KERNEL = """
from vse_ens.kernels.jit import kernel
from {module} import Pair

@kernel
def total(pair):
    return pair.first + pair.second
"""
PAIR = "from typing import NamedTuple\n\nclass Pair(NamedTuple):\n    first: int\n    second: int\n"

# Children call a kernel at once. Each leaves a mark while it compiles, and gives the others time to arrive.
RACE = """
import os, signal, sys, time
from pathlib import Path

import numba
from vse_ens.kernels.jit import kernel

folder, how = Path(sys.argv[1]), sys.argv[2]

def number(): ...

@numba.extending.overload(number)
def typed():
    (folder / f"compiled-{os.getpid()}").touch()
    if how == "killed" and len(list(folder.glob("compiled-*"))) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.3)
    return lambda: 3

@kernel
def total(given):
    return given + number()

def start(given):
    child = os.fork()
    if not child:
        os._exit(total(given) != given + 3)
    return child

def run(givens):
    print(sorted(os.waitpid(child, 0)[1] for child in [start(given) for given in givens]))

run([1, 1, 1] if how != "differ" else [1, 1.0, 2])
run([1, 1.0] if how == "differ" else [1])
print(len(list(folder.glob("compiled-*"))))
"""

Sources = Callable[[int], None]


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sources]:
    """Pretend that the sources of the kernels have a version."""

    def set_version(version: int) -> None:
        monkeypatch.setattr(jit, "source_version", lambda: version)
        jit.cache_folder.cache_clear()

    yield set_version
    jit.cache_folder.cache_clear()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Write a kernel on a NamedTuple of a module, and import both."""
    folder = tmp_path / "package"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)

    def forget() -> None:
        for name, module in list(sys.modules.items()):
            if isinstance(module, ModuleType) and Path(getattr(module, "__file__", None) or "/").parent == folder:
                del sys.modules[name]

    def write(module: str) -> Any:
        forget()
        for old in folder.iterdir():
            old.unlink()
        (folder / f"{module}.py").write_text(PAIR)
        (folder / "totals.py").write_text(KERNEL.format(module=module))
        importlib.invalidate_caches()
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        return importlib.import_module("totals")

    yield write
    forget()


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_the_index_of_older_sources_is_never_read(
    sources: Sources, package: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    sources(1)
    module = package("tables")
    assert module.total(module.Pair(1, 2)) == 3
    assert list(tmp_path.glob("cache/vse-ens-000000000001/*/*.nbi"))
    moved = package("arrays")
    with pytest.raises(ModuleNotFoundError, match="tables"):  # what happens to an index in the same folder
        moved.total(moved.Pair(1, 2))
    sources(2)
    moved = package("arrays")
    assert moved.total(moved.Pair(1, 2)) == 3


def test_other_kernels_of_the_process_keep_their_folder(sources: Sources) -> None:
    before = numba.config.CACHE_DIR
    sources(1)
    jit.kernel(lambda number: number + 1)
    assert before == numba.config.CACHE_DIR


def test_no_writable_folder_means_no_cache(
    sources: Sources, package: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "cache"))
    sources(1)
    assert jit.cache_folder() is None
    module = package("tables")
    assert module.total(module.Pair(1, 2)) == 3


def test_only_unused_folders_of_older_versions_are_removed(
    sources: Sources, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(jit, "__file__", str(tmp_path / "jit.py"))
    made = []
    for version in (1, 2, 3):
        sources(version)
        made.append(jit.cache_folder())
    assert [folder for folder in made if folder] == sorted((tmp_path / "__pycache__").iterdir())
    for folder in (made[0], made[2]):
        assert folder
        os.utime(folder, (0, 0))
    sources(3)
    assert jit.cache_folder() == made[2]
    assert sorted((tmp_path / "__pycache__").iterdir()) == made[1:]


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize(
    ("how", "statuses", "compiled"),
    [("equal", [0, 0, 0], 1), ("killed", [0, 0, 9], 2), ("differ", [0, 0, 0], 2)],
)
def test_of_several_processes_one_compiles_a_kernel(
    python: Callable[..., Any], tmp_path: Path, how: str, statuses: list[int], compiled: int
) -> None:
    (tmp_path / "race.py").write_text(RACE)
    code = f"import runpy; runpy.run_path({str(tmp_path / 'race.py')!r})"
    ran = python(code, str(tmp_path), how, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert ran.stdout.splitlines() == [str(statuses), str([0] * (2 if how == "differ" else 1)), str(compiled)], (
        ran.stderr
    )


def test_a_lock_is_waited_for_but_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "_LOCK_SECONDS", 0.05)
    file = tmp_path / "kernel.lock"
    with jit._locked(file):
        start = time.monotonic()
        with jit._locked(file):
            assert time.monotonic() - start >= 0.05


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_nothing_is_locked_after_an_error_of_the_compiler(
    sources: Sources, package: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    sources(1)
    with pytest.raises(numba.core.errors.TypingError):
        package("tables").total(1)
    [file] = tmp_path.glob("cache/**/*.lock")
    with file.open("r+") as lock:
        assert try_lock(lock.fileno())
