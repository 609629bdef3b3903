"""Decisions that people take in their own program: what became of suggestions since they were written to files.

The journal of the write says which labels were suggested. A label that is there without the prefix, or below another
keyword, was accepted; one that is gone was rejected.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from vse_ens.data.collections.detect import open_collection
from vse_ens.data.collections.files import stem
from vse_ens.data.collections.journal import Suggested, read_journal, read_suggested
from vse_ens.data.feedback.verdicts import NewVerdict
from vse_ens.errors import DataError


@dataclass(frozen=True)
class Reviewed:
    """The verdicts on suggestions, and how many there are of each kind."""

    suggested: Suggested
    verdicts: list[NewVerdict]
    counts: Counter[str]
    """Suggestions that were ``moved``, ``kept`` or ``deleted``, and those that are ``unclear``, without a verdict: the
    image is gone or damaged, or only the last part of a hierarchy is left."""
    notes: list[str]


def collect(journal: Path, *, only_decided: bool = False) -> Reviewed:
    """Compare the suggestions in a journal with the labels that their images have now.

    ``only_decided`` leaves out suggestions that are still as they were written.
    """
    suggested = read_suggested(journal)
    if all(entry.state() == "old" for entry in read_journal(journal)):
        raise DataError(f"{journal} was undone; there is nothing to collect")
    collection = open_collection(suggested.collection, suggested.format)
    now = {item.image: item.labels for item in collection.items() if item.image in suggested.labels}
    damaged = tuple(getattr(collection, "faults", ()))
    counts, verdicts = Counter[str](), list[NewVerdict]()
    for image, labels in suggested.labels.items():
        if image not in now or any(name.startswith(stem(image)) for name in damaged):
            counts["unclear"] += len(labels)
            continue
        for label, confidence in labels.items():
            kind = _kind(label, now[image], suggested.prefix)
            counts[kind] += 1
            if kind != "unclear" and not (kind == "kept" and only_decided):
                verdicts.append(NewVerdict(image, label, "reject" if kind == "deleted" else "accept", confidence))
    return Reviewed(suggested, verdicts, counts, list(collection.notes))


def _kind(label: str, labels: tuple[str, ...], prefix: str) -> str:
    """Return what became of a suggestion among the labels of its image."""
    others = [one for one in labels if one != prefix + label]
    if len(others) < len(labels):
        return "kept"
    if any(one == label or one.endswith(f"|{label}") for one in others):
        return "moved"
    return "unclear" if label.rpartition("|")[2] in others else "deleted"
