"""Numbers as people say them."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, with what matters of each."""
    whole = round(seconds)
    if seconds < 10:
        return f"{seconds:.1f} s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
