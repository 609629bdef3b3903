"""Worker threads for work that would block the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from vse_ens.service.errors import unavailable

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class BoundedExecutor:
    """A thread pool with a bounded queue: work that does not fit is rejected at once."""

    def __init__(self, name: str, threads: int, waiting: int, timeout: float) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._slots = threading.BoundedSemaphore(threads + waiting)
        self._timeout = timeout

    async def run(
        self, work: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Run ``work`` on a thread and return its result."""
        if not self._slots.acquire(blocking=False):
            raise unavailable("the service is overloaded; try again soon")
        future = self._pool.submit(work, *args, **kwargs)
        future.add_done_callback(lambda _: self._slots.release())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._timeout)
        except TimeoutError:
            raise unavailable(
                f"the work did not finish within {self._timeout:g} s; request less, or try again later"
            ) from None

    def close(self) -> None:
        """Wait for running work and cancel queued work."""
        self._pool.shutdown(cancel_futures=True)
