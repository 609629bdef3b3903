"""Background jobs: work too long for a request, run once on its own thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from vse_ens.errors import VseError
from vse_ens.service.errors import INTERNAL_ERROR, ApiError

Result = TypeVar("Result")
Progress = Callable[[float], None]
"""Reports the fraction of the work that is done, from 0 to 1."""

_log = logging.getLogger(__name__)


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
        self._outcome: Result | _Failed | InProgress = InProgress(0.0)

    def poll(self) -> Result | InProgress:
        """Return the result, or the progress so far; the first poll starts the job."""
        if self._started.acquire(blocking=False):
            threading.Thread(target=self._run, name=self._name, daemon=True).start()
        outcome = self._outcome
        if isinstance(outcome, _Failed):
            raise ApiError(*outcome)
        return outcome

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

    def _progress(self, done: float) -> None:
        if self._stopped.is_set():
            raise _Stopped
        self._outcome = InProgress(min(1.0, done))
