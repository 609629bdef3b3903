"""``vse info``: what a file of pairs holds."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from vse_ens.cli.console import Console, facts
from vse_ens.cli.options import PairsFile, Reading

if TYPE_CHECKING:
    from vse_ens.data.annotations import Summary


def info(file: PairsFile, *, reading: Reading, screen: Console) -> None:
    """Show what a file of pairs holds."""
    summary = reading.read(file, screen).summary()
    screen.result({"file": str(file), **as_document(summary)}, facts(summary.rows()))


def as_document(summary: Summary) -> dict[str, Any]:
    """A summary as JSON shows it."""
    return asdict(summary) | {"most_used": dict(summary.most_used), "least_used": dict(summary.least_used)}
