"""``vse apply``, ``vse undo`` and ``vse feedback``: bring verdicts, decisions and rules into the data."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from vse_ens.cli.console import Console, columns, facts, plural
from vse_ens.cli.options import (
    CollectionFormat,
    CollectionPath,
    DefuseFormulas,
    Person,
    Reading,
    WriteOptions,
    user_name,
)
from vse_ens.cli.parameters import Argument, Option, misuse
from vse_ens.errors import DataError

if TYPE_CHECKING:
    from rich.table import Table

    from vse_ens.data.cleaning import Cleaned
    from vse_ens.data.feedback.pairs import VerdictCounts

_SOURCES = {"audit": "the audit", "feedback": "feedback", "rule": "implications"}


def apply(
    file: Annotated[
        Path,
        Argument(
            "A file of pairs or a collection to clean; or, with --to alone, an audit.csv with decisions.", "PAIRS"
        ),
    ],
    *,
    feedback: Annotated[
        Path | None, Option("Feedback file of vse serve: accepted labels are added, rejected ones removed.", "FILE")
    ] = None,
    audit: Annotated[
        Path | None, Option("The file of vse audit --out, with accept or reject in the column decision.", "FILE")
    ] = None,
    accept_from: Annotated[
        float | None,
        Option("With --audit, also accept findings without a decision from this confidence on.", "X", min=0.0, max=1.0),
    ] = None,
    consolidate: Annotated[
        bool, Option("Remove labels that another label of the image implies by --rules, instead of adding them.")
    ] = False,
    out: Annotated[
        Path | None,
        Option("Write the cleaned pairs: .csv, .jsonl or .parquet; or a file in the format of PAIRS.", "FILE"),
    ] = None,
    to: Annotated[Path | None, Option("Write the changed labels to a collection.", "SOURCE")] = None,
    writing: WriteOptions,
    reading: Reading,
    console: Console,
) -> None:
    """Clean a data set by feedback, audit decisions and rules.

    Accepted labels are added, rejected ones removed, duplicates merged, and the rules of --rules applied. The column
    source of --out says where a pair comes from: data, audit, feedback or rule. Image files are never changed; vse undo
    restores everything else that --to changes.

    Example: vse apply pairs.csv --feedback model.feedback.sqlite --out clean.csv
    """
    if accept_from is not None and audit is None:
        raise misuse("--accept-from", "needs --audit")
    if consolidate and reading.rules is None:
        raise misuse("--consolidate", "needs --rules")
    if feedback is audit is reading.rules is None:
        if to is None:
            raise misuse("PAIRS", "give --feedback, --audit or --rules")
        if out is not None:
            raise misuse("--out", "needs --feedback, --audit or --rules")
        from vse_ens.data.collections.write import audit_edits

        target = writing.open(to, reading.format)
        with console.status(f"reading {file}"):
            decided = audit_edits(file, target)
        writing.write(target, decided, console)
        return
    if out is to is None:
        raise misuse("PAIRS", "give --out FILE or --to SOURCE")
    if out is not None and to is not None:
        raise misuse("--out", "cannot be combined with --to")
    from vse_ens.data.cleaning import SUFFIXES, clean
    from vse_ens.data.collections.write import difference_edits, write_copy
    from vse_ens.data.io.write import check_suffix
    from vse_ens.data.rules.store import read_rules

    collection = None if to is None else writing.open(to, reading.format)
    if out is not None and out.suffix not in SUFFIXES and out.suffix == file.suffix and file.is_file():
        if out.exists() and out.samefile(file):
            raise misuse("--out", f"{out} is PAIRS itself; use --to, which vse undo can restore")
        collection = writing.open(file, reading.format)
    elif out is not None:
        check_suffix(out, *SUFFIXES)
    rules = None if reading.rules is None else read_rules(reading.rules)
    # The rules are applied after the decisions, so that the report tells them apart.
    data = reading.read(file, console, rules=False)
    with console.status("cleaning"):
        cleaned = clean(
            data, audit=audit, accept_from=accept_from, feedback=feedback, rules=rules, consolidate=consolidate
        )
    console.notes(data.notes)
    if collection is not None and out is None:
        console.text(facts(_rows(cleaned)))
        edits = difference_edits(data, cleaned.data)
        writing.write(collection, edits, console, more={"cleaned": cleaned.to_dict()})
        return
    if out is not None and collection is not None:
        write_copy(collection, difference_edits(data, cleaned.data), out)
    elif out is not None:
        cleaned.write(out)
    added, removed = (sum(one.count for one in part.values()) for part in (cleaned.added, cleaned.removed))
    console.result(
        {"file": out, **cleaned.to_dict()},
        facts([("file", out), *_rows(cleaned)]),
        f"{plural(added, 'pair')} added and {removed:,} removed. Next: vse train {out} --out model",
    )


def _rows(cleaned: Cleaned) -> list[tuple[str, str]]:
    rows = [
        (name, f"{count:,}" + (f" (before {before:,})" if before != count else ""))
        for (name, before), count in zip(cleaned.before.items(), cleaned.to_dict()["after"].values(), strict=True)
    ]
    for verb, changes in (("added", cleaned.added), ("removed", cleaned.removed)):
        for source, name in _SOURCES.items():
            if (change := changes.get(source)) is not None and change.count:
                image, label = change.first[0]
                rows.append((f"{verb} by {name}", f"{plural(change.count, 'pair')}, such as {label} on {image}"))
    if cleaned.renamed:
        first = cleaned.renamed[0]
        total = plural(len(cleaned.renamed), "label")
        rows.append(("replaced", f"{total}, such as {first.label} by {first.other} on {plural(first.images, 'image')}"))
    return rows


def undo(
    journal: Annotated[
        Path | None,
        Argument("The journal that the write reported; without it, the latest are listed.", "[JOURNAL]"),
    ] = None,
    *,
    force: Annotated[bool, Option("Also restore files that were changed after the write.")] = False,
    console: Console,
) -> None:
    """Restore the files that a write changed, byte for byte.

    New files are removed. Nothing is restored if a file was changed after the write, unless --force is given.

    Example: vse undo undo.jsonl
    """
    from vse_ens.data.collections.journal import default_journal
    from vse_ens.data.collections.journal import undo as undo_journal

    if journal is None:
        _list_journals(default_journal().parent, console)
        return
    with console.status(f"restoring the files of {journal}"):
        undone = undo_journal(journal, force=force)
    document = {"journal": journal, "files": undone.files}
    rows = [("journal", str(journal)), ("restored", plural(len(undone.files), "file"))]
    message = f"Every file is as it was before the write of {journal}."
    if undone.left:
        document["left"] = undone.left
        rows.append(("left as they are", f"{plural(len(undone.left), 'file')}, such as {undone.left[0]}"))
        message = "The write was stopped at or before the files that were left, which were changed since."
    console.result(document, facts(rows))
    console.finish(message)


def _list_journals(folder: Path, console: Console) -> None:
    """Print the latest journals of a folder that are not undone, the newest first."""
    from vse_ens.data.collections.journal import read_journal

    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.jsonl"), reverse=True)[:5]:
        first = next(read_journal(path), None)
        if first is not None and first.state() != "old":
            found[str(path)] = str(first.path)
    if not found:
        raise DataError(f"{folder} has no journal of a write to undo; name the one that the write reported")
    if console.json:
        console.result({"journals": found})
    for journal, changed in found.items():
        console.line(f"vse undo {shlex.quote(journal)}  # {changed} and so on")


_ROWS_SHOWN = 10  # people, and latest days; --json has all


FeedbackFile = Annotated[Path, Argument("A feedback file of vse serve (.sqlite).", "FILE")]


def apply_feedback(
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

    Example: vse feedback apply model.feedback.sqlite --to Pictures
    """
    from vse_ens.data.collections.write import feedback_edits

    collection = writing.open(to, source_format)
    with console.status(f"reading {file}"):
        edits = feedback_edits(file)
    writing.write(collection, edits, console)


def collect(
    journal: Annotated[Path, Argument("The journal that vse annotate --write reported.", "JOURNAL")],
    to: Annotated[Path, Option("The feedback file to add to; it is created if there is none.", "FILE")],
    *,
    only_decided: Annotated[bool, Option("Leave out suggestions that are still as they were written.")] = False,
    by: Person = None,
    console: Console,
) -> None:
    """Read back what you did with written suggestions in your own program.

    A suggestion that was kept, or moved out of its prefix, was accepted; one that was deleted, rejected. The last
    verdict on a pair counts, so that the command can be repeated.

    Example: vse feedback collect undo.jsonl --to model.feedback.sqlite
    """
    from vse_ens.data.collections.review import collect as collect_decisions
    from vse_ens.data.feedback.verdicts import Feedback

    with console.status(f"reading {journal}"):
        found = collect_decisions(journal, only_decided=only_decided)
    console.notes(found.notes)
    if found.counts["deleted"] == found.counts.total():
        console.note(f"no suggestion is left in {found.suggested.collection}; all count as rejected")
    elif found.counts["kept"] and not only_decided:
        prefix = found.suggested.prefix
        still = f"{plural(found.counts['kept'], 'suggestion')} still {f'below {prefix!r}' if prefix else 'as written'}"
        console.note(f"{still} count as accepted; --only-decided leaves them out")
    feedback = Feedback(to)
    try:
        stored = feedback.add_batch(found.verdicts, by=by or user_name(), source="files", model=found.suggested.model)
    finally:
        feedback.close()
    accepted = sum(one.verdict == "accept" for one in found.verdicts)
    counts = {name: found.counts[name] for name in ("moved", "kept", "deleted", "unclear")}
    document = {"file": to, "accepted": accepted, "rejected": len(found.verdicts) - accepted, "new": stored.stored}
    rows = [(name, f"{count:,}" if isinstance(count, int) else count) for name, count in (document | counts).items()]
    console.result({**document, "suggestions": counts}, facts(rows))
    console.finish(f"{plural(stored.stored, 'new verdict')} in {to}; an update teaches them to the model.")


def show(
    file: FeedbackFile,
    *,
    out: Annotated[
        Path | None,
        Option("Write the accepted pairs with person, time and model: a .csv, .parquet or .jsonl file.", "PAIRS"),
    ] = None,
    defuse_formulas: DefuseFormulas = False,
    console: Console,
) -> None:
    """Show feedback counts and export accepted pairs.

    The last verdict on a pair counts, unless it was undone. The service may be running.

    Example: vse feedback show model.feedback.sqlite --out accepted.csv
    """
    from vse_ens.data.feedback.pairs import SUFFIXES, count_feedback, export_accepted
    from vse_ens.data.io.write import check_suffix

    if defuse_formulas and (out is None or out.suffix != ".csv"):
        raise misuse("--defuse-formulas", "needs --out FILE.csv")
    if out is not None:
        check_suffix(out, *SUFFIXES)
    with console.status(f"reading {file}"):
        counts = count_feedback(file)
        written = None if out is None else export_accepted(file, out, defuse_formulas=defuse_formulas)
    document = {"file": file, **asdict(counts), "out": out, "written": written}
    rows = [
        ("file", file),
        ("accepted", counts.in_force.accepted),
        ("rejected", counts.in_force.rejected),
        ("undone", counts.undone),
        ("events", f"{counts.events:,} in total"),
        ("written", None if written is None else f"{plural(written, 'accepted pair')} to {out}"),
    ]
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
        [(key, counted.accepted, counted.rejected) for key, counted in rows.items()],
        numbers=numbers,
    )
