"""What a benchmark is: how it measures, and how its raw numbers are judged afterwards."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

Raw = dict[str, Any]
"""What was measured, as JSON can hold it; ``skipped`` lists, in sentences, what could not be."""

Sizes = TypeVar("Sizes")


@dataclass(frozen=True)
class Check:
    """One number that was promised, beside what was measured."""

    name: str
    value: float
    bound: Literal["at least", "at most"]
    limit: float
    goal: float | None = None
    unit: str = ""
    digits: int = 2

    @property
    def verdict(self) -> str:
        """In words: a missed promise is named as such."""
        if not self._holds(self.limit):
            return "**below floor**" if self.bound == "at least" else "**over limit**"
        if self.goal is None:
            return "met"
        return "goal met" if self._holds(self.goal) else "met, goal not yet"

    def _holds(self, mark: float) -> bool:
        return self.value >= mark if self.bound == "at least" else self.value <= mark


@dataclass(frozen=True)
class Table:
    """Numbers for information, as text."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Score:
    """What the raw numbers of one benchmark come to."""

    checks: list[Check] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Benchmark(Generic[Sizes]):
    """Measuring and judging are apart: stored raw numbers can be judged again without a new run."""

    name: str
    claim: str
    full: Sizes
    quick: Sizes
    measure: Callable[[Sizes], Raw]
    score: Callable[[Raw], Score]


def say(text: str) -> None:
    """Tell what is going on, beside the result."""
    print(f"   {text}", file=sys.stderr, flush=True)
