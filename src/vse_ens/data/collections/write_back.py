"""Write labels back to a collection with an undo journal, or show what a write would change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vse_ens.data.collections.base import FileChange, LabelEdit, WritableCollection
from vse_ens.data.collections.detect import open_collection
from vse_ens.data.collections.journal import diff
from vse_ens.data.collections.write import WriteReport, writable, write_labels


@dataclass(frozen=True)
class WriteBack:
    """The result of a write, or of a dry run."""

    collection: WritableCollection
    report: WriteReport
    diffs: list[dict[str, str]] | None
    """Of a dry run: the files that would change, each with its diff."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        report, journal = self.report, self.report.written.journal
        return {
            "source": str(self.collection.path),
            "format": self.collection.format,
            "dry_run": self.diffs is not None,
            "images": report.images,
            "labels_added": report.added,
            "labels_removed": report.removed,
            "files": [str(path) for path in report.written.files],
            "skipped": [str(path) for path in report.written.skipped],
            "missing": report.missing,
            "journal": None if journal is None else str(journal),
            "notes": report.notes,
            **({} if self.diffs is None else {"changes": self.diffs}),
        }

    def rows(self) -> list[tuple[str, str]]:
        """Return the result for a table."""
        report = self.report
        done = "written" if self.diffs is None else "would change"
        return [
            ("source", f"{self.collection.path} ({self.collection.format})"),
            ("images", f"{report.images:,}"),
            ("labels", f"{report.added:,} added, {report.removed:,} removed"),
            ("files", f"{len(report.written.files):,} {done}"),
        ]


def open_writable(source: Path, source_format: str | None = None) -> WritableCollection:
    """Return the collection at a path; raise a `DataError` if its format is only read."""
    return writable(open_collection(source, source_format))


def write_back(
    collection: WritableCollection,
    edits: Mapping[str, LabelEdit],
    journal: Path,
    *,
    prefix: str = "",
    on_diff: Callable[[str], None] | None = None,
    progress: Callable[[int], None] | None = None,
) -> WriteBack:
    """Write edits to a collection, or with ``on_diff`` only pass it the diff of every file that would change.

    The other arguments are those of `vse_ens.data.collections.write.write_labels`.
    """
    diffs: list[dict[str, str]] = []

    def show(change: FileChange) -> None:
        text = diff(change)
        diffs.append({"file": str(change.path), "diff": text})
        if on_diff is not None:
            on_diff(text)

    dry_run = None if on_diff is None else show
    report = write_labels(collection, edits, journal, prefix=prefix, dry_run=dry_run, progress=progress)
    return WriteBack(collection, report, None if on_diff is None else diffs)
