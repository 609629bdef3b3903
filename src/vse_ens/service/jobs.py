"""Work that takes too long for a request: done once, in a thread of its own, begun by the first who asks."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from vse_ens.errors import VseError
from vse_ens.service.errors import OURS, ApiError

Result = TypeVar("Result")
Tell = Callable[[float], None]
"""Says how much is done, from 0 to 1."""

_log = logging.getLogger(__name__)


class Working(NamedTuple):
    """Not there yet."""

    done: float


class _Failed(NamedTuple):
    status: int
    sentence: str


class _Stopped(Exception):  # noqa: N818  # nothing went wrong
    pass


class Background(Generic[Result]):
    """A result that is made while others look how far it is."""

    def __init__(self, name: str, make: Callable[[Tell], Result]) -> None:
        self._name = name
        self._make = make
        self._begun = threading.Lock()
        self._stopped = threading.Event()
        self._outcome: Result | _Failed | Working = Working(0.0)

    def look(self) -> Result | Working:
        """The result, or how far it is; the first look begins the work."""
        if self._begun.acquire(blocking=False):
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        outcome = self._outcome
        if isinstance(outcome, _Failed):
            raise ApiError(*outcome)
        return outcome

    def stop(self) -> None:
        """Nobody will look any more: give up at the next word of progress."""
        self._stopped.set()

    def _work(self) -> None:
        try:
            self._outcome = self._make(self._tell)
        except _Stopped:
            pass
        except VseError as error:
            self._outcome = _Failed(503, f"the {self._name} could not be made: {error}")
        except Exception:  # noqa: BLE001  # whatever it was, those who look must hear of it
            _log.exception("the %s failed", self._name)
            self._outcome = _Failed(500, OURS)

    def _tell(self, done: float) -> None:
        if self._stopped.is_set():
            raise _Stopped
        self._outcome = Working(min(1.0, done))
