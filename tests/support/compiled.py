"""Calls of functions that are inlined into kernels, which Python cannot call itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(inlined: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that Python can call, with nothing but a call of the inlined one in it."""

    @numba.njit
    def call(*arguments):
        return inlined(*arguments)

    return call
