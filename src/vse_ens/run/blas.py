"""Linear algebra that rounds the same on any machine of a kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Products and inverses by one thread: how many share the work changes the last bits, and with them a model."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield
