"""Counters with which the workers of a round share its work, without the GIL and without waking threads.

A worker takes the next piece of work by counting up, and adds to a second counter when the piece is done. Nobody waits
for a worker, only for pieces: one that starts late or is slowed down by another process finds less to do.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from vse_ens.kernels.jit import inline_once

Counters = NDArray[np.int64]

if os.environ.get("NUMBA_DISABLE_JIT", "0") == "1":
    _lock = threading.Lock()

    def count_up(counters: Any, number: int) -> int:
        """Add 1 to a counter and return what it was."""
        with _lock:
            counters[number] += 1
            return int(counters[number]) - 1

    def _current(counters: Any, number: int) -> int:
        return int(counters[number])

else:

    def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.gep(data, [arguments[1]], inbounds=False)

    @intrinsic
    def count_up(_typing: Any, counters: Any, _number: Any) -> Any:
        """Add 1 to a counter and return what it was; what this thread wrote before is seen by those who read it."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address = _address(context, builder, signature, arguments)
            return builder.atomic_rmw("add", address, ir.IntType(64)(1), "seq_cst")

        return types.int64(counters, types.intp), generate

    @intrinsic
    def _current(_typing: Any, counters: Any, _number: Any) -> Any:
        """Return a counter that other threads change."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load_atomic(_address(context, builder, signature, arguments), "seq_cst", align=8)

        return types.int64(counters, types.intp), generate


@inline_once
def wait_for(counters: Counters, number: int, wanted: int, spins: int) -> bool:
    """Spin up to ``spins`` times, a nanosecond each, until a counter has reached ``wanted``; return whether it has."""
    spun = 0
    while _current(counters, number) < wanted and spun < spins:
        spun += 1
    return spun < spins
