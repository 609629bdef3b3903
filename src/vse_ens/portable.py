"""Arithmetic with the same bits on every x86-64-v3 machine.

The last bits of a sum depend on how many numbers a vector register holds and on whether products are fused into sums.
LLVM, NumPy and OpenBLAS choose both by the CPU they find. Variables of the environment, which they read when they are
loaded, tell them what to choose instead: 256-bit vectors and fused products, as every x86-64-v3 machine has them.
"""

from __future__ import annotations

import os
import platform
import sys

from vse_ens.errors import ConfigError

VARIABLE = "VSE_ENS_PORTABLE"
"""The variable of the environment that asks for portable arithmetic, if it is 1."""
PORTABLE_CPU = "x86-64-v3"
"""LLVM's name of the instructions that are used: those of Intel since Haswell (2013) and of AMD since Zen (2017)."""
PORTABLE_BLAS = "Haswell"
"""OpenBLAS's name of its kernels for them."""

# Modules that choose their instructions while they are imported.
_CHOOSING = ("numpy", "numba")


def use_portable_cpu() -> None:
    """Make this process compute as any x86-64-v3 machine does; call it before NumPy is imported.

    Processes that are started from this one compute so too. With ``VSE_ENS_PORTABLE=1`` in the environment, importing
    this package does the same.
    """
    if platform.machine().lower() not in ("x86_64", "amd64"):
        raise ConfigError(f"portable arithmetic needs an x86-64 CPU, and this one is {platform.machine()}")
    wanted = portable_environment()
    unset = {name for name, value in wanted.items() if os.environ.get(name) != value} - {VARIABLE}
    loaded = [name for name in _CHOOSING if name in sys.modules]
    if unset and loaded:
        raise ConfigError(
            f"portable arithmetic has no effect once {loaded[0]} is imported: import vse_ens first, with {VARIABLE}=1, "
            "or call vse_ens.use_portable_cpu() before any other import"
        )
    os.environ.update(wanted)
    os.environ.pop("NPY_DISABLE_CPU_FEATURES", None)  # NumPy takes one list only


def portable_requested() -> bool:
    """Whether this process was asked to compute portably."""
    return os.environ.get(VARIABLE) == "1"


def portable_environment() -> dict[str, str]:
    """Return the variables that fix the instructions of LLVM, NumPy and OpenBLAS."""
    from importlib.metadata import version  # only here: importing it takes time

    major, minor = (int(part) for part in version("numpy").split(".")[:2])
    return {
        VARIABLE: "1",
        "NUMBA_CPU_NAME": PORTABLE_CPU,
        "NUMBA_CPU_FEATURES": "",  # by the name, not by the host
        "NUMBA_DISABLE_INTEL_SVML": "1",  # a library that not every machine has
        "NPY_ENABLE_CPU_FEATURES": "X86_V3" if (major, minor) >= (2, 4) else "AVX F16C FMA3 AVX2",
        "OPENBLAS_CORETYPE": PORTABLE_BLAS,
    }
