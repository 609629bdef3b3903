"""From values to places on a line, and the round numbers to write beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from vse_ens.errors import ConfigError

_LOGARITHMIC_STEPS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0))


@dataclass(frozen=True)
class Axis:
    """A range of values, spread evenly or by their logarithm."""

    low: float
    high: float
    log: bool
    ticks: tuple[float, ...]

    @classmethod
    def around(cls, values: Iterable[float], *, log: bool = False, zero: bool = False, most_ticks: int = 7) -> Axis:
        """An axis with room for all values, and for 0 where ``zero`` is asked."""
        found = list(values)
        for value in found:
            if not math.isfinite(value) or (log and value <= 0):
                raise ConfigError(f"a chart cannot show {value} on {'a logarithmic' if log else 'an'} axis")
        low, high = (min(found), max(found)) if found else (1.0 if log else 0.0, 1.0)
        if log:
            return cls._logarithmic(low, high, most_ticks)
        if zero:
            low, high = min(low, 0.0), max(high, 0.0)
        return cls._even(low, high, most_ticks)

    @classmethod
    def _even(cls, low: float, high: float, most_ticks: int) -> Axis:
        if low == high:
            low, high = low - abs(low or 1.0) / 2, high + abs(high or 1.0) / 2
        size = (high - low) / (most_ticks - 1)
        power = 10.0 ** math.floor(math.log10(size))
        step = next(step * power for step in (1.0, 2.0, 2.5, 5.0, 10.0) if step * power >= size * 0.999)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        ticks = tuple(round(step * place, 12) for place in range(first, last + 1))
        return cls(ticks[0], ticks[-1], False, ticks)

    @classmethod
    def _logarithmic(cls, low: float, high: float, most_ticks: int) -> Axis:
        low, high = (low / 2, high * 2) if low == high else (low, high)
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks: tuple[float, ...] = ()
        for steps in _LOGARITHMIC_STEPS:
            more = tuple(
                step * 10.0**power
                for power in powers
                for step in steps
                if low * 0.999 <= step * 10.0**power <= high * 1.001
            )
            if ticks and len(more) > most_ticks:
                break
            ticks = more
        return cls(low, high, True, ticks)

    def place(self, value: float) -> float:
        """Where a value lies: 0 at the low end, 1 at the high end."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def tick_text(value: float) -> str:
    """A round number in few characters."""
    if value and (abs(value) >= 1e6 or abs(value) < 1e-4):
        return f"{value:.3g}".replace("e+0", "e").replace("e-0", "e-")
    return f"{value:,.6f}".rstrip("0").rstrip(".")
