"""Linear algebra that rounds the same on any number of cores."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_taken = threading.RLock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Products and inverses by one thread: how many share the work changes the last bits, and with them a model.

    A matrix library has one setting for all of our threads, which take turns: OpenBLAS 0.3.31 does not let one thread
    undo what another set. Whoever holds it may give work to others, but these must not ask for it too.
    """
    with _taken, _libraries("scipy.linalg" in sys.modules).limit(limits=1):
        yield


@cache
def _libraries(scipy: bool) -> ThreadpoolController:  # noqa: ARG001  # SciPy brings a library of its own
    return ThreadpoolController().select(user_api="blas")
