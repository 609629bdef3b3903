"""Calls of Ray's actors, and what becomes of them where an actor is lost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from vse_ens.errors import ClusterError, VseError

TIMES_LONGEST = 10.0
"""A call may take so many times as long as the longest before it ..."""
LEAST_SECONDS = 60.0
"""... and never has less than so many seconds."""
MOST_LOSSES = 5
"""How often workers may be lost in one piece of work before it is given up: then it is the work that ends them."""


@dataclass(eq=False)
class Worker:
    """An actor, and the parts it has."""

    name: str
    node: str
    actor: Any
    parts: set[int] = field(default_factory=set)


class WorkerLost(Exception):  # noqa: N818  # a thing that happens, not a fault
    """Workers are gone, or did not answer in time; which ones, where that is known."""

    def __init__(self, workers: Iterable[Worker] = ()) -> None:
        super().__init__()
        self.workers = list(workers)


def answer(ray: Any, reference: Any, timeout: float) -> Any:
    """What a call gave; a worker's own error is raised here, a lost worker is `Lost`."""
    errors = ray.exceptions
    try:
        return ray.get(reference, timeout=timeout)
    except errors.RayTaskError as error:
        cause = error.cause
        # Some losses come as the error of a call that waited for what was lost.
        if isinstance(cause, errors.RayError):
            raise WorkerLost from error
        if isinstance(cause, VseError):
            raise cause from None
        raise ClusterError(f"a worker failed with {type(cause).__name__}: {cause}; this is a fault of ours") from error
    except (errors.RayError, errors.GetTimeoutError) as error:
        raise WorkerLost from error
