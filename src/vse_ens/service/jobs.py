"""Work outside the event loop: on worker threads while a request waits, or once on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, NamedTuple, ParamSpec, TypeVar

from starlette.responses import StreamingResponse

from vse_ens.errors import VseError
from vse_ens.service.errors import INTERNAL_ERROR, ApiError, unavailable

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Progress = Callable[[float], None]
"""Reports the fraction of the work that is done, from 0 to 1."""

_MEDIA = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8", "zip": "application/zip"}
_log = logging.getLogger(__name__)


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

    def download(self, name: str, pieces: Iterator[str | bytes]) -> StreamingResponse:
        """Return a file whose pieces are made one after another on a thread."""

        async def chunks() -> AsyncIterator[str | bytes]:
            while piece := await self.run(lambda: next(pieces, "")):
                yield piece

        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return StreamingResponse(chunks(), media_type=_MEDIA[name.rpartition(".")[2]], headers=headers)

    def close(self) -> None:
        """Wait for running work and cancel queued work."""
        self._pool.shutdown(cancel_futures=True)


class InProgress(NamedTuple):
    """State of a job that has not finished."""

    done: float


class _Failed(NamedTuple):
    status: int
    message: str


class _Stopped(Exception):  # noqa: N818  # not an error
    pass


class BackgroundJob(Generic[Result]):
    """A job that starts with the first poll and keeps its result."""

    def __init__(self, name: str, work: Callable[[Progress], Result]) -> None:
        self._name = name
        self._work = work
        self._started = threading.Lock()
        self._stopped = threading.Event()
        self._progressed = threading.Event()
        self._finished = threading.Event()
        self._outcome: Result | _Failed | InProgress = InProgress(0.0)

    def poll(self) -> Result | InProgress:
        """Return the result, or the progress so far; the first poll starts the job."""
        if self._started.acquire(blocking=False):
            threading.Thread(target=self._run, name=self._name, daemon=True).start()
        outcome = self._outcome
        if isinstance(outcome, _Failed):
            raise ApiError(*outcome)
        return outcome

    def wait(self, seconds: float) -> None:
        """Wait until the job that was started has done something, and then up to some seconds for its end."""
        self._progressed.wait()
        self._finished.wait(max(0.0, seconds))

    def stop(self) -> None:
        """Abandon the job the next time it reports progress."""
        self._stopped.set()

    def _run(self) -> None:
        try:
            self._outcome = self._work(self._progress)
        except _Stopped:
            pass
        except VseError as error:
            self._outcome = _Failed(503, f"the {self._name} failed: {error}")
        except Exception:  # noqa: BLE001  # no one else would report it
            _log.exception("the %s failed", self._name)
            self._outcome = _Failed(500, INTERNAL_ERROR)
        finally:
            self._progressed.set()
            self._finished.set()

    def _progress(self, done: float) -> None:
        if self._stopped.is_set():
            raise _Stopped
        self._outcome = InProgress(min(1.0, done))
        self._progressed.set()
