"""The CPU that kernels are compiled for."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import numba

# The instructions of the levels of x86-64 that change how sums are computed, by LLVM's names; highest level first.
_LEVELS = {
    "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "x86-64-v3": {"avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"},
    "x86-64-v2": {"sse4.2", "popcnt"},
}
_config: Any = numba.config


def compilation_target() -> str:
    """Return LLVM's name of the CPU that kernels are compiled for, with the level of its instructions.

    Both count: the name chooses the width of vectors, and a virtual machine may hide instructions of its CPU.
    """
    name = _config.CPU_NAME or llvm.get_host_cpu_name()
    if _config.CPU_FEATURES is not None:  # set by the user; empty for those of the name
        return f"{name} {_config.CPU_FEATURES}".strip()
    level = host_level()
    return f"{name} ({level})" if level else name


def host_level() -> str:
    """Return the highest level of x86-64 that this machine has; empty on other machines."""
    features = {name for name, present in llvm.get_host_cpu_features().items() if present}
    return next((level for level, needed in _LEVELS.items() if needed <= features), "")
