"""``vse feedback``: what people judged, as counts and as pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vse_ens.cli.console import Console, columns, facts

if TYPE_CHECKING:
    from rich.table import Table

    from vse_ens.data.feedback.pairs import Counted

# Of people, and of the latest days; --json has all of them.
_SHOWN = 10


def feedback(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", show_default=False, help="A feedback file that vse serve wrote: .sqlite."),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PAIRS",
            show_default=False,
            help="Write the accepted pairs, with who, when and which model: a .csv, .parquet or .jsonl file.",
        ),
    ] = None,
    screen: Console,
) -> None:
    """Show what people judged, and write the accepted pairs.

    What counts is the last verdict on a pair that was not undone. The service may be running.
    """
    from vse_ens.data.feedback.export import check_name, export_accepted
    from vse_ens.data.feedback.pairs import count_feedback

    if out is not None:
        check_name(out)
    with screen.busy(f"reading {file}"):
        counts = count_feedback(file)
        written = None if out is None else export_accepted(file, out)
    document = {
        "file": str(file),
        **asdict(counts),
        "out": None if out is None else str(out),
        "written": written,
    }
    rows = [
        ("file", str(file)),
        ("accepted", f"{counts.in_force.accepted:,}"),
        ("rejected", f"{counts.in_force.rejected:,}"),
        ("undone", f"{counts.undone:,}"),
        ("events", f"{counts.events:,} in all"),
    ]
    if out is not None:
        rows.append(("written", f"{written:,} accepted to {out}"))
    people = dict(islice(counts.by_person.items(), _SHOWN))
    days = dict(islice(reversed(counts.by_day.items()), _SHOWN))
    tables = [table for table in (_table("person", people), _table("day", days)) if table.row_count]
    screen.result(document, facts(rows), *(part for table in tables for part in ("", table)))


def _table(name: str, rows: Mapping[str, Counted]) -> Table:
    numbers = ("accepted", "rejected")
    return columns(
        (name, *numbers),
        [(key, f"{counted.accepted:,}", f"{counted.rejected:,}") for key, counted in rows.items()],
        numbers=numbers,
    )
