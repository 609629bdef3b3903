"""The kind of CPU, which decides the last bits of all numbers that are computed."""

from __future__ import annotations

from functools import cache

import numpy as np
from threadpoolctl import threadpool_info

from vse_ens.errors import ConfigError
from vse_ens.kernels.target import compilation_target, host_level
from vse_ens.portable import PORTABLE_BLAS, PORTABLE_CPU, portable_requested


@cache
def cpu_kind() -> str:
    """Return the kind of CPU as LLVM, NumPy and OpenBLAS see it, such as "znver4 (x86-64-v4), NumPy ..., OpenBLAS ...".

    Equal kinds give equal bytes, with the same versions of these libraries. Raises a `ConfigError` if portable
    arithmetic was asked for and is not in effect.
    """
    target, blas = compilation_target(), _blas()
    if portable_requested():
        if host_level() not in ("x86-64-v3", "x86-64-v4"):
            raise ConfigError("portable arithmetic needs an x86-64-v3 CPU, one with AVX2 and FMA; leave --portable out")
        if (target, blas) != (PORTABLE_CPU, f"OpenBLAS {PORTABLE_BLAS}"):
            raise ConfigError(
                f"portable arithmetic is not in effect: kernels are compiled for {target}, and NumPy uses {blas}; it "
                "needs NumPy with OpenBLAS, and variables such as NUMBA_CPU_NAME unchanged"
            )
    instructions = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    return f"{target}, NumPy {' '.join(instructions) or 'baseline'}, {blas}"


def _blas() -> str:
    """Return the matrix library of NumPy and the CPU that its kernels are for."""
    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    # SciPy and others may bring one of their own, which chooses by the same CPU.
    own = [library for library in found if "numpy" in library["filepath"]] or found
    if not own:
        return "another BLAS"
    name = {"openblas": "OpenBLAS"}.get(own[0]["internal_api"], own[0]["internal_api"])
    return f"{name} {own[0].get('architecture') or ''}".strip()
