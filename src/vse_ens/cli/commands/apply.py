"""``vse apply``: clean a data set by audit decisions, feedback and rules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vse_ens.cli.console import Console, facts
from vse_ens.cli.formatting import plural
from vse_ens.cli.options import ReadOptions, WriteOptions

if TYPE_CHECKING:
    from vse_ens.data.cleaning import Changes, Cleaned

_SOURCES = {"audit": "the audit", "feedback": "feedback", "rule": "implications"}


def _file_option(help_text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(metavar="FILE", show_default=False, help=help_text)
    return option


def apply(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="PAIRS",
            show_default=False,
            help="A file of pairs or a collection to clean; or, with --to alone, an audit.csv with decisions.",
        ),
    ],
    *,
    feedback: Annotated[
        Path | None,
        _file_option("Feedback file of vse serve: accepted labels are added, rejected ones removed."),
    ] = None,
    audit: Annotated[
        Path | None,
        _file_option("The file of vse audit --out, with accept or reject in the column decision."),
    ] = None,
    accept_from: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            min=0.0,
            max=1.0,
            show_default=False,
            help="With --audit, also accept findings without a decision from this confidence on.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="Write the cleaned pairs: .csv, .jsonl or .parquet."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(metavar="SOURCE", show_default=False, help="Write the changed labels to a collection."),
    ] = None,
    writing: WriteOptions,
    reading: ReadOptions,
    console: Console,
) -> None:
    """Clean a data set by feedback, audit decisions and rules.

    Accepted labels are added, rejected ones removed, duplicates merged, and the rules of --rules applied. The column
    source of --out says where a pair comes from: data, audit, feedback or rule. Image files are never changed; vse undo
    restores everything else that --to changes.
    """
    if accept_from is not None and audit is None:
        raise typer.BadParameter("needs --audit", param_hint="'--accept-from'")
    if feedback is audit is reading.rules is None:
        if to is None:
            raise typer.BadParameter("give --feedback, --audit or --rules", param_hint="'PAIRS'")
        if out is not None:
            raise typer.BadParameter("needs --feedback, --audit or --rules", param_hint="'--out'")
        _apply_audit(file, to, writing, reading, console)
        return
    if out is to is None:
        raise typer.BadParameter("give --out FILE or --to SOURCE", param_hint="'PAIRS'")
    if out is not None and to is not None:
        raise typer.BadParameter("cannot be combined with --to", param_hint="'--out'")
    _clean(file, feedback, audit, accept_from, out, to, writing, reading, console)


def _apply_audit(file: Path, to: Path, writing: WriteOptions, reading: ReadOptions, console: Console) -> None:
    from vse_ens.data.collections.write import audit_edits

    collection = writing.open(to, reading.format)
    with console.status(f"reading {file}"):
        edits = audit_edits(file, collection)
    writing.write(collection, edits, console)


def _clean(
    file: Path,
    feedback: Path | None,
    audit: Path | None,
    accept_from: float | None,
    out: Path | None,
    to: Path | None,
    writing: WriteOptions,
    reading: ReadOptions,
    console: Console,
) -> None:
    from vse_ens.data.cleaning import check_name, clean
    from vse_ens.data.collections.write import difference_edits
    from vse_ens.data.rules.store import read_rules

    if out is not None:
        check_name(out)
    collection = None if to is None else writing.open(to, reading.format)
    rules = None if reading.rules is None else read_rules(reading.rules)
    # The rules are applied after the decisions, so that the report tells them apart.
    data = replace(reading, rules=None).read(file, console)
    with console.status("cleaning"):
        cleaned = clean(data, audit=audit, accept_from=accept_from, feedback=feedback, rules=rules)
    for note in data.notes:
        console.note(note)
    if collection is not None:
        console.text(facts(_rows(cleaned)))
        edits = difference_edits(data, cleaned.data)
        writing.write(collection, edits, console, more={"cleaned": cleaned.to_dict()})
        return
    if out is not None:
        cleaned.write(out)
    console.result(
        {"file": str(out), **cleaned.to_dict()},
        facts([("file", str(out)), *_rows(cleaned)]),
        f"{_summary(cleaned)} Next: vse train {out} --out model",
    )


def _rows(cleaned: Cleaned) -> list[tuple[str, str]]:
    rows = [
        (name, f"{count:,}" + (f" (before {before:,})" if before != count else ""))
        for (name, before), count in zip(cleaned.before.items(), cleaned.to_dict()["after"].values(), strict=True)
    ]
    for source, name in _SOURCES.items():
        rows += _change(f"added by {name}", cleaned.added.get(source))
    for source, name in _SOURCES.items():
        rows += _change(f"removed by {name}", cleaned.removed.get(source))
    if cleaned.renamed:
        first = cleaned.renamed[0]
        total = plural(len(cleaned.renamed), "label")
        rows.append(("replaced", f"{total}, such as {first.label} by {first.other} on {plural(first.images, 'image')}"))
    return rows


def _change(name: str, changes: Changes | None) -> list[tuple[str, str]]:
    if changes is None or not changes.count:
        return []
    image, label = changes.first[0]
    return [(name, f"{plural(changes.count, 'pair')}, such as {label} on {image}")]


def _summary(cleaned: Cleaned) -> str:
    added = sum(one.count for one in cleaned.added.values())
    removed = sum(one.count for one in cleaned.removed.values())
    return f"{plural(added, 'pair')} added and {removed:,} removed."
