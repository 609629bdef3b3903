"""Settings are checked where they enter."""

from __future__ import annotations

import math
from typing import Any

from vse_ens.errors import ConfigError


def check_whole(baseline: str, name: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{name} of {baseline} must be a whole number of at least {least}, got {value!r}")


def check_number(baseline: str, name: str, value: Any, *, zero: bool) -> None:
    """Refuse what is not a finite number above 0, or from 0 on where ``zero`` is allowed."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or value < 0 or (value == 0 and not zero):
        raise ConfigError(
            f"{name} of {baseline} must be a number {'of at least' if zero else 'above'} 0, got {value!r}"
        )
