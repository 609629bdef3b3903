"""Calls of Ray actors, and the loss of workers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from vse_ens.errors import ClusterError, VseError

TIMEOUT_FACTOR = 10.0
"""A call may take this many times as long as the longest call before it."""
MIN_TIMEOUT = 60.0
"""The least number of seconds that a call may take."""
MAX_LOSSES = 5
"""How often workers may be lost in one round before it fails: then the work itself is likely to end them."""


@dataclass(eq=False)
class Worker:
    """An actor and the numbers of its shards."""

    name: str
    node: str
    actor: Any
    shards: set[int] = field(default_factory=set)


class WorkerLost(Exception):  # noqa: N818  # an event that is handled, not an error
    """Workers died or did not answer in time; ``workers`` lists them if they are known."""

    def __init__(self, workers: Iterable[Worker] = ()) -> None:
        super().__init__()
        self.workers = list(workers)


def get_result(ray: Any, reference: Any, timeout: float) -> Any:
    """Return the result of a call; raise the worker's own error, or `WorkerLost`."""
    errors = ray.exceptions
    try:
        return ray.get(reference, timeout=timeout)
    except errors.RayTaskError as error:
        cause = error.cause
        # Some losses appear as the error of a call that waited for a lost object.
        if isinstance(cause, errors.RayError):
            raise WorkerLost from error
        if isinstance(cause, VseError):
            raise cause from None
        raise ClusterError(
            f"a worker failed with {type(cause).__name__}: {cause}; this is a bug in vse-ens, please report it"
        ) from error
    except (errors.RayError, errors.GetTimeoutError) as error:
        raise WorkerLost from error
