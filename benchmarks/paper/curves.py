"""When a training converges: time and iterations to a share of its own best accuracy, and to the best of another model.

A learning curve is a list of points (iteration, CPU seconds, recall@10). Between two points it is a straight line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

SHARE = 0.99
"""A training has converged where it first reaches this share of its best accuracy."""

Points = Sequence[Sequence[float]]


class Reached(NamedTuple):
    """Where a curve first reaches an accuracy."""

    iterations: float
    seconds: float


def best(points: Points) -> float:
    """Return the best accuracy of a curve; 0 if a training ended before its first point."""
    return max((point[2] for point in points), default=0.0)


def reach(points: Points, level: float) -> Reached | None:
    """Return where a curve first reaches an accuracy; None if it never does."""
    before: Sequence[float] = (0.0, 0.0, 0.0)
    for point in points:
        if point[2] >= level:
            gained = point[2] - before[2]
            part = (level - before[2]) / gained if gained > 0 else 1.0
            return Reached(*(before[axis] + part * (point[axis] - before[axis]) for axis in (0, 1)))
        before = point
    return None


def converged(points: Points) -> Reached:
    """Return where a curve reaches `SHARE` of its own best."""
    found = reach(points, SHARE * best(points))
    if found is None:
        raise ValueError("a curve without points does not converge")
    return found


def change_at_end(points: Points, window: float = 0.25) -> float:
    """Return the relative change of the accuracy over the last part of the iterations."""
    last = points[-1]
    earlier = [point for point in points if point[0] <= (1.0 - window) * last[0]] or points[:1]
    return last[2] / max(earlier[-1][2], 1e-12) - 1.0
