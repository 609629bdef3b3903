"""``vse info``: show a summary of a file of pairs or of a collection."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from vse_ens.cli.console import Console, facts
from vse_ens.cli.options import PairsFile, ReadOptions

if TYPE_CHECKING:
    from vse_ens.data.summary import Summary


def info(file: PairsFile, *, reading: ReadOptions, console: Console) -> None:
    """Show a summary of a file of pairs or of a collection."""
    summary = reading.read(file, console).summary()
    console.result({"file": str(file), **summary_json(summary)}, facts(summary.rows()))
    console.finish(
        f"{summary.images:,} images have {summary.pairs:,} labels of {summary.labels:,} kinds.",
        *("train", file, "--out", "model"),
    )


def summary_json(summary: Summary) -> dict[str, Any]:
    """Return a summary for ``--json``."""
    return asdict(summary) | {"most_used": dict(summary.most_used), "least_used": dict(summary.least_used)}
