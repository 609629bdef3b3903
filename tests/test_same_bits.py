"""The tests of equal bits pass with the kernels that libraries choose on other CPUs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vse_ens.experiments.self_test import different_bits
from vse_ens.kernels.target import host_level

ROOT = Path(__file__).parents[1]
# OpenBLAS has Haswell kernels for CPUs with AVX2 and without AVX-512, and Sandybridge kernels for those with AVX alone.
MACHINES = {
    "Sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge"},
    "Haswell, compiled for it": {"OPENBLAS_CORETYPE": "Haswell", "NUMBA_CPU_NAME": "haswell"},
}
PROMISES = (
    "tests/model/test_products.py",
    "tests/model/test_topk.py",
    "tests/test_same_bits.py::test_holds_on_this_machine",
)


def test_holds_on_this_machine() -> None:
    assert different_bits() == []


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
def test_holds_with_the_kernels_of(machine: str) -> None:
    if host_level() not in ("x86-64-v3", "x86-64-v4"):
        pytest.skip("stands in for other x86-64 CPUs, on one that has AVX2")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", *PROMISES],
        cwd=ROOT,
        env=os.environ | MACHINES[machine],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=1500,  # for hangs only
    )
    assert ran.returncode == 0, ran.stdout
