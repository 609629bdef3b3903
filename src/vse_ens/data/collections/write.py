"""Write labels to a collection: suggestions, audit decisions and feedback, with a dry run and an undo journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vse_ens.data.annotations import Annotations
from vse_ens.data.collections.base import Collection, Editable, Edits, FileChange, Item, LabelEdit, WritableCollection
from vse_ens.data.collections.files import count_of
from vse_ens.data.collections.journal import Written, allowed, write_changes
from vse_ens.data.collections.photos import PhotoFolder
from vse_ens.data.decisions import read_decisions
from vse_ens.data.feedback.pairs import read_feedback
from vse_ens.data.filters import pairs_without
from vse_ens.errors import DataError
from vse_ens.storage.atomic import open_atomic


@dataclass
class WriteReport:
    """The result of writing labels to a collection."""

    added: int = 0
    """Labels added to images."""
    removed: int = 0
    """Labels removed from images."""
    images: int = 0
    """Images whose labels changed."""
    edits: dict[str, LabelEdit] = field(default_factory=dict)
    """What changed of each image: the labels added, with the prefix, and those removed."""
    missing: list[str] = field(default_factory=list)
    """Images of the edits that the collection does not have."""
    written: Written = field(default_factory=lambda: Written([], None))
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        journal = self.written.journal
        return {
            "images": self.images,
            "labels_added": self.added,
            "labels_removed": self.removed,
            "files": [str(path) for path in self.written.files],
            "skipped": [str(path) for path in self.written.skipped],
            "missing": self.missing,
            "journal": None if journal is None else str(journal),
            "notes": self.notes,
        }


def writable(collection: Collection) -> WritableCollection:
    """Return the collection, or raise a `DataError` if its format is only read."""
    if not isinstance(collection, WritableCollection):
        raise DataError(
            f"{collection.path} is {collection.format}, which vse only reads; write to a file with --out instead"
        )
    return collection


def write_labels(
    collection: WritableCollection,
    edits: Mapping[str, LabelEdit],
    journal: Path,
    *,
    prefix: str = "",
    dry_run: Callable[[FileChange], None] | None = None,
    progress: Callable[[int], None] | None = None,
) -> WriteReport:
    """Write edits to a collection, and an undo journal at a new path if a file changes.

    ``prefix`` is put before every added label, such as ``suggested|``. ``dry_run`` is called with every change instead
    of writing it, ``progress`` with the number of files written.
    """
    report, present = WriteReport(), set[str]()

    def needed(item: Item, edit: LabelEdit) -> LabelEdit | None:
        present.add(item.image)
        return _needed(item, edit, prefix, report)

    if isinstance(collection, Editable):
        changes = collection.write(Edits(collection.path, edits, needed))
    else:
        asked = ((item, edits[item.image]) for item in collection.items() if item.image in edits)
        changes = collection.changes({item.image: left for item, edit in asked if (left := needed(item, edit))})
    if dry_run is None:
        report.written = write_changes(changes, journal, collection=collection.path, progress=progress)
    else:
        report.written = Written([], None)
        for change in allowed(changes, collection.path, report.written.refused):
            dry_run(change)
            report.written.files.append(change.path)
    report.missing = sorted(edits.keys() - present)
    if edits and not present:
        raise DataError(
            f"{collection.path} has none of the {len(edits):,} images, such as {report.missing[0]!r}; "
            f"name the collection that the model was trained on"
        )
    if isinstance(collection, PhotoFolder):
        report.removed -= collection.kept_inside
    if report.missing:
        count = len(report.missing)
        report.notes.append(
            f"{count:,} image{'s' * (count > 1)} not in {collection.path}, such as {report.missing[0]!r}"
        )
    report.notes += [note for note in collection.notes if note not in report.notes]
    if refused := report.written.refused:
        report.notes.append(
            f"{count_of(len(refused), 'file')} not changed, such as {refused[0]}: "
            f"a link that leads out of {collection.path}, or not a regular file"
        )
    for path in report.written.skipped:
        report.notes.append(f"{path} was changed by another program in the meantime and is left as it is")
    return report


def write_copy(collection: WritableCollection, edits: Mapping[str, LabelEdit], out: Path) -> None:
    """Write a collection that is one file, with its labels changed, to another path."""
    content = [collection.path.read_bytes()]
    if edits:
        write_labels(collection, edits, out, dry_run=lambda change: content.append(change.after))
    with open_atomic(out) as file:
        file.write(content[-1])


def _needed(item: Item, edit: LabelEdit, prefix: str, report: WriteReport) -> LabelEdit | None:
    """Return an edit without the labels that its image already has or lacks, and count the rest."""
    # A flat keyword that is part of a hierarchical one is not a label of its own.
    has = {*item.labels, *(part for label in item.labels if "|" in label for part in label.split("|"))}
    add = tuple(dict.fromkeys(prefix + label for label in edit.add if label not in has and prefix + label not in has))
    remove = tuple(label for label in edit.remove if label in item.labels)
    if not add and not remove:
        return None
    report.images += 1
    report.added += len(add)
    report.removed += len(remove)
    report.edits[item.image] = LabelEdit(add, remove)
    return report.edits[item.image]


def pair_edits(add: Iterable[tuple[str, str]], remove: Iterable[tuple[str, str]] = ()) -> dict[str, LabelEdit]:
    """Return edits from (image, label) pairs to add and to remove."""
    lists: dict[str, tuple[list[str], list[str]]] = {}
    for position, pairs in enumerate((add, remove)):
        for image, label in pairs:
            lists.setdefault(image, ([], []))[position].append(label)
    return {image: LabelEdit(tuple(added), tuple(removed)) for image, (added, removed) in lists.items()}


def feedback_edits(path: Path) -> dict[str, LabelEdit]:
    """Return the verdicts in force of a feedback file: accepted labels are added, rejected ones removed."""
    accepted, rejected = (
        zip(pairs.images.ids(pairs.image_numbers()), pairs.labels.ids(pairs.indices), strict=True)
        for pairs in read_feedback(path)
    )
    return pair_edits(accepted, rejected)


def audit_edits(path: Path, collection: Collection) -> dict[str, LabelEdit]:
    """Return the edits of the accepted rows of an ``audit.csv``; see `vse_ens.data.decisions.read_decisions`."""
    decisions = read_decisions(path)
    merged = {merge.label: merge.other for merge in decisions.merge}
    if merged:
        for item in collection.items():
            for label in item.labels:
                if label in merged:
                    decisions.add.append((item.image, merged[label]))
                    decisions.remove.append((item.image, label))
    return pair_edits(decisions.add, decisions.remove)


def difference_edits(before: Annotations, after: Annotations) -> dict[str, LabelEdit]:
    """Return the edits that turn the labels of ``before`` into those of ``after``, for the images that change."""
    return pair_edits(pairs_without(after, before), pairs_without(before, after))
