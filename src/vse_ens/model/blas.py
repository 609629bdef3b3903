"""Linear algebra with the same rounding on any number of cores."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_lock = threading.RLock()
# Packages that bring a matrix library of their own, beside NumPy's.
_OWN_LIBRARY = ("scipy.linalg", "faiss")


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit matrix libraries to one thread, because the number of threads changes the last bits of a result.

    The limit is one setting per process, and OpenBLAS 0.3.31 does not let one thread undo the setting of another.
    Therefore a lock guards it. The holder may start work in other threads, but these must not enter this context too.
    """
    loaded = frozenset(name for name in _OWN_LIBRARY if name in sys.modules)
    with _lock, _libraries(loaded).limit(limits=1):
        yield


@cache
def _libraries(loaded: frozenset[str]) -> ThreadpoolController:  # noqa: ARG001  # finding them takes milliseconds
    return ThreadpoolController().select(user_api="blas")
