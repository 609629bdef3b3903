"""The interface of a benchmark: one function measures, another scores the raw numbers afterwards."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

Raw = dict[str, Any]
"""Raw measurements as JSON values. ``skipped`` lists one sentence for each part that could not be measured."""

Sizes = TypeVar("Sizes")


@dataclass(frozen=True)
class Check:
    """A measured value and the limit that was promised for it."""

    name: str
    value: float
    bound: Literal["at least", "at most"]
    limit: float
    goal: float | None = None
    unit: str = ""
    digits: int = 2
    required: bool = False
    """Whether a missed limit fails the run, which otherwise only shows it."""

    @property
    def missed(self) -> bool:
        """Return whether the limit does not hold."""
        return not self._holds(self.limit)

    @property
    def verdict(self) -> str:
        """Return whether the limit and the goal hold, in words; a missed limit is bold."""
        if self.missed:
            return "**below floor**" if self.bound == "at least" else "**over limit**"
        if self.goal is None:
            return "met"
        return "goal met" if self._holds(self.goal) else "met, goal not yet"

    def _holds(self, limit: float) -> bool:
        return self.value >= limit if self.bound == "at least" else self.value <= limit


@dataclass(frozen=True)
class Table:
    """A table of formatted values."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Score:
    """The checks, tables and notes computed from raw measurements."""

    checks: list[Check] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Parts(Generic[Sizes]):
    """The parts of a benchmark, each of which is stored when it is done and can be measured again alone."""

    names: Callable[[Sizes], Sequence[str]]
    measure: Callable[[Sizes, str], Raw]
    """Measures one part; ``skipped`` is a sentence if it could not."""
    measures: Callable[[str], Sequence[str]]
    """The folders and modules of vse_ens that a part depends on."""


@dataclass(frozen=True)
class Benchmark(Generic[Sizes]):
    """A claim with the functions that measure and score it, so that stored results can be scored again."""

    name: str
    claim: str
    full: Sizes
    quick: Sizes
    measure: Callable[[Sizes], Raw]
    score: Callable[[Raw], Score]
    measures: tuple[str, ...]
    """The folders and modules of vse_ens that the result depends on; a change in one makes it stale."""
    repetitions: Callable[[Sizes], int] = lambda _: 1
    """How often each figure was measured: turns, processes or seeds."""
    timed: bool = True
    """Whether the result shows times. If so, it is refused on a busy machine."""
    parts: Parts[Sizes] | None = None
    """If given, a run continues with the parts that are not stored; ``measure`` serves small sizes only."""


def log(text: str) -> None:
    """Print progress to standard error."""
    print(f"   {text}", file=sys.stderr, flush=True)
