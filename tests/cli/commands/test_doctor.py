from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vse_ens.cli.commands import doctor as doctor_checks

Vse = Callable[..., Any]


def checks(answer: Any) -> dict[str, dict[str, str]]:
    return {check["topic"]: check for check in answer.document["checks"]}


def test_a_machine_that_runs_the_tests_is_healthy(vse: Vse) -> None:
    answer = vse("doctor", "--json")
    assert (answer.status, answer.err, answer.document["healthy"]) == (0, "", True)
    found = checks(answer)
    required = {"vse-ens", "python", "numpy", "numba", "narwhals", "pyarrow", "rich", "click", "scipy"}
    assert required <= found.keys()
    assert {
        "frames",
        "als",
        "index",
        "service",
        "cluster",
        "cores",
        "threads",
        "kernel cache",
        "memory",
        "disk",
        "terminal",
    } <= found.keys()
    assert {found[topic]["state"] for topic in required} == {"ok"}


def test_table_fits_the_terminal(vse: Vse) -> None:
    answer = vse("doctor")
    assert answer.out.rstrip().endswith("vse is ready to use")
    assert max(map(len, answer.out.splitlines())) <= 80


def test_a_required_part_that_does_not_work_is_a_failure(vse: Vse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_checks, "required_packages", lambda: iter(["numpy", "no_such_package"]))
    answer = vse("doctor")
    assert answer.status == 1
    assert answer.out.rstrip().endswith("broken: no_such_package")
    assert "No module named 'no_such_package'" in " ".join(answer.out.split())
    assert vse("doctor", "--json").document["healthy"] is False


def test_absent_optional_part_says_how_to_get_it(vse: Vse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_checks, "OPTIONAL_PARTS", {"more": "to do more"})
    monkeypatch.setattr(doctor_checks, "packages_of", {"more": ["numpy", "no_such_package"]}.__getitem__)
    answer = vse("doctor", "--json")
    assert answer.status == 0
    assert checks(answer)["more"] == {
        "topic": "more",
        "state": "absent",
        "found": "without no_such_package (optional, to do more)",
        "advice": "pip install 'vse-ens[more]'",
    }


def test_every_optional_part_is_checked(vse: Vse) -> None:
    extras = set(importlib.metadata.metadata("vse-ens").get_all("Provides-Extra"))
    assert set(doctor_checks.OPTIONAL_PARTS) == extras - {"docs", "test", "dev", "peers", "rivals"}
    assert doctor_checks.packages_of("service")[-1] == "uvicorn"
    assert doctor_checks.packages_of("frames") == ["pandas", "polars"]


def test_thread_variables_are_shown(vse: Vse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    assert "NUMBA_NUM_THREADS=3" in checks(vse("doctor", "--json"))["threads"]["found"]


def test_a_kernel_cache_that_cannot_be_written_is_a_warning(
    vse: Vse, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "cache"))
    found = checks(vse("doctor", "--json"))["kernel cache"]
    assert found["state"] == "warning"
    assert "NUMBA_CACHE_DIR" in found["advice"]
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "not yet there"))
    assert checks(vse("doctor", "--json"))["kernel cache"]["state"] == "ok"
    assert not (tmp_path / "not yet there").exists()


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2.0),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({}, None),
    ],
)
def test_the_limit_of_a_container_is_read(files: dict[str, str], limit: float | None, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert doctor_checks.cpu_limit(tmp_path) == limit


def test_a_container_limit_below_the_cores_is_a_warning(vse: Vse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_checks, "cpu_limit", lambda: 0.5)
    found = checks(vse("doctor", "--json"))["cores"]
    assert (found["state"], found["advice"]) == ("warning", "use --workers 1")
    assert found["found"].endswith("and a container limit of 0.5")
    monkeypatch.setattr(doctor_checks, "cpu_limit", lambda: (os.cpu_count() or 1) + 1.0)
    assert checks(vse("doctor", "--json"))["cores"]["state"] == "ok"
