"""Format durations, counts, labels, confidences and reasons for tables and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vse_ens.curate.explain import Reason


def duration(seconds: float) -> str:
    """Return a duration in seconds, minutes or hours."""
    whole = round(seconds)
    if seconds < 10:
        return f"{seconds:.1f} s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun, such as ``1 pair`` or ``2 pairs``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def confidence_text(confidence: float | None) -> str:
    """Return a confidence for a table; ``-`` if the model has none."""
    return "-" if confidence is None else f"{confidence:.3f}"


def label_list(labels: Sequence[str], *, first: Sequence[str] = (), limit: int = 6) -> str:
    """Return the labels of an image for a table: at most ``limit`` of them, those in ``first`` in front."""
    ordered = sorted(labels, key=lambda label: label not in first)
    more = f" and {len(ordered) - limit} more" if len(ordered) > limit else ""
    return ", ".join(ordered[:limit]) + more


def reasons_json(reasons: Sequence[Reason]) -> list[dict[str, Any]]:
    """Return reasons for ``--json``."""
    return [{"labels": list(reason.labels), "share": reason.share, "source": reason.source} for reason in reasons]
