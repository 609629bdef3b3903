"""Work that would hold up the event loop: on a few threads, with an end to how much may wait for them."""

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
    """A bounded pool: what does not fit is refused at once instead of piling up."""

    def __init__(self, name: str, threads: int, waiting: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._places = threading.BoundedSemaphore(threads + waiting)
        self._seconds = seconds

    async def run(
        self, work: Callable[Arguments, Result], /, *given: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        """What ``work`` returns, made on one of the threads."""
        if not self._places.acquire(blocking=False):
            raise unavailable("too much is being worked on at once; try again soon")
        future = self._pool.submit(work, *given, **named)
        future.add_done_callback(lambda _: self._places.release())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)
        except TimeoutError:
            raise unavailable(
                f"no answer was found within {self._seconds:g} s; ask for less, or try again later"
            ) from None

    def close(self) -> None:
        """Wait for what is being done; what waits is given up."""
        self._pool.shutdown(cancel_futures=True)
