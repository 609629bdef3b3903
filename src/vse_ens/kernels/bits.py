"""The bits of floats as integers, one number at a time: a view of an array takes the compiler longer."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

if os.environ.get("NUMBA_DISABLE_JIT", "0") == "1":

    def float_bits(value: np.float32) -> np.int32:
        """Return the bits of a float32."""
        return np.float32(value).view(np.int32)

    def float_of_bits(bits: np.int32) -> np.float32:
        """Return the float32 with the given bits."""
        return np.int32(bits).view(np.float32)

else:

    @intrinsic
    def float_bits(_typing: Any, _value: Any) -> Any:
        """Return the bits of a float32."""

        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], ir.IntType(32))

        return types.int32(types.float32), generate

    @intrinsic
    def float_of_bits(_typing: Any, _bits: Any) -> Any:
        """Return the float32 with the given bits."""

        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], ir.FloatType())

        return types.float32(types.int32), generate
