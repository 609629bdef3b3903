from __future__ import annotations

import resource
from pathlib import Path

import pytest

from vse_ens.run.ram import available_memory


@pytest.fixture
def process(tmp_path: Path) -> Path:
    folder = tmp_path / "proc"
    (folder / "self").mkdir(parents=True)
    (folder / "meminfo").write_text("MemTotal:  2000 kB\nMemAvailable:  1000 kB\n")
    return folder


def group(folder: Path, limit: str, usage: str, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    version_1 = "memory" in folder.parts
    names = ("limit_in_bytes", "usage_in_bytes") if version_1 else ("max", "current")
    for name, text in zip(names, (limit, usage), strict=True):
        (folder / f"memory.{name}").write_text(text + "\n")
    for name, text in files.items():
        (folder / f"memory.{name}").write_text(text)


def test_nothing_told_is_none(tmp_path: Path) -> None:
    assert available_memory(tmp_path, tmp_path) is None


def test_memory_left_by_the_system(process: Path, tmp_path: Path) -> None:
    assert available_memory(process, tmp_path) == 1_024_000


def test_memory_left_by_a_container(process: Path, tmp_path: Path) -> None:
    (process / "self" / "cgroup").write_text("0::/\n")
    group(tmp_path, "max", "400000")
    assert available_memory(process, tmp_path) == 1_024_000
    group(tmp_path, "500000", "400000")
    assert available_memory(process, tmp_path) == 100_000
    group(tmp_path, "500000", "600000")
    assert available_memory(process, tmp_path) == 0


def test_files_that_were_only_read_can_be_had_back(process: Path, tmp_path: Path) -> None:
    (process / "self" / "cgroup").write_text("0::/\n")
    group(tmp_path, "500000", "400000", stat="anon 100\ninactive_file 50000\n")
    assert available_memory(process, tmp_path) == 150_000


def test_every_group_around_counts(process: Path, tmp_path: Path) -> None:
    (process / "self" / "cgroup").write_text("0::/user.slice/session\n")
    group(tmp_path / "user.slice" / "session", "500000", "400000")
    group(tmp_path / "user.slice", "450000", "400000")
    assert available_memory(process, tmp_path) == 50_000


def test_groups_of_the_first_version(process: Path, tmp_path: Path) -> None:
    (process / "self" / "cgroup").write_text("5:cpu:/elsewhere\n4:hugetlb,memory:/docker/one\n0::/\n")
    # The name is seen from the outside, the folder from the inside.
    group(tmp_path / "memory", "500000", "400000", stat="inactive_file 1\ntotal_inactive_file 50000\n")
    assert available_memory(process, tmp_path) == 150_000


def test_memory_left_by_the_limit_of_the_process(
    process: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (process / "self" / "statm").write_text("10 5 1 1 0 1 0\n")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (200_000, resource.RLIM_INFINITY))
    assert available_memory(process, tmp_path) == 200_000 - 10 * resource.getpagesize()


def test_this_machine_tells() -> None:
    left = available_memory()
    assert left is None or left > 0
