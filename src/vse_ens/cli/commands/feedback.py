"""``vse feedback``: show feedback counts, export accepted pairs, and write verdicts to a collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vse_ens.cli.console import Console, columns, facts
from vse_ens.cli.conversion import PlainGroup
from vse_ens.cli.formatting import plural
from vse_ens.cli.options import CollectionFormat, CollectionPath, DefuseFormulas, WriteOptions

if TYPE_CHECKING:
    from rich.table import Table

    from vse_ens.data.feedback.pairs import VerdictCounts

_ROWS_SHOWN = 10  # people, and latest days; --json has all


FeedbackFile = Annotated[
    Path, typer.Argument(metavar="FILE", show_default=False, help="A feedback file of vse serve (.sqlite).")
]


class FeedbackGroup(PlainGroup):
    """``vse feedback FILE`` means ``vse feedback show FILE``, as it did before there was another command."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Add the name of the default command."""
        if args and args[0] not in (*self.commands, "--help", "-h"):
            args = ["show", *args]
        return super().parse_args(ctx, args)


def apply(
    file: FeedbackFile,
    to: CollectionPath,
    *,
    source_format: CollectionFormat = None,
    writing: WriteOptions,
    console: Console,
) -> None:
    """Write accepted and rejected labels to a collection.

    Accepted labels are added and rejected ones removed; the last verdict on a pair counts. Image files are never
    changed; vse undo restores everything else.
    """
    from vse_ens.data.collections.write import feedback_edits

    collection = writing.open(to, source_format)
    with console.status(f"reading {file}"):
        edits = feedback_edits(file)
    writing.write(collection, edits, console)


def show(
    file: FeedbackFile,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PAIRS",
            show_default=False,
            help="Write the accepted pairs with person, time and model: a .csv, .parquet or .jsonl file.",
        ),
    ] = None,
    defuse_formulas: DefuseFormulas = False,
    console: Console,
) -> None:
    """Show feedback counts and export accepted pairs.

    The last verdict on a pair counts, unless it was undone. The service may be running.
    """
    from vse_ens.data.feedback.pairs import check_name, count_feedback, export_accepted

    if defuse_formulas and (out is None or out.suffix != ".csv"):
        raise typer.BadParameter("needs --out FILE.csv", param_hint="'--defuse-formulas'")
    if out is not None:
        check_name(out)
    with console.status(f"reading {file}"):
        counts = count_feedback(file)
        written = None if out is None else export_accepted(file, out, defuse_formulas=defuse_formulas)
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
        ("events", f"{counts.events:,} in total"),
    ]
    if written is not None:
        rows.append(("written", f"{plural(written, 'accepted pair')} to {out}"))
    people = dict(islice(counts.by_person.items(), _ROWS_SHOWN))
    days = dict(islice(reversed(counts.by_day.items()), _ROWS_SHOWN))
    tables = [table for table in (_table("person", people), _table("day", days)) if table.row_count]
    console.result(document, facts(rows), *(part for table in tables for part in ("", table)))
    decided = counts.in_force.accepted + counts.in_force.rejected
    console.finish(f"{plural(decided, 'verdict')} in force; an update teaches them to the model.", "update", "--help")


def _table(name: str, rows: Mapping[str, VerdictCounts]) -> Table:
    numbers = ("accepted", "rejected")
    return columns(
        (name, *numbers),
        [(key, f"{counted.accepted:,}", f"{counted.rejected:,}") for key, counted in rows.items()],
        numbers=numbers,
    )
