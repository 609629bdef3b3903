"""Decisions on the findings of an audit: the column ``decision`` of ``audit.csv``."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from vse_ens.data.collections.files import unreadable
from vse_ens.errors import DataError

_YES = frozenset(["yes", "y", "true", "1", "x", "ok", "accept", "accepted", "apply"])
_NO = frozenset(["no", "n", "false", "0", "reject", "rejected", "keep", "ignore", "skip"])
_OWN_YES = {"wrong": {"remove", "delete"}, "missing": {"add"}, "duplicate": {"merge"}, "alike": {"merge"}}
_COLUMNS = ("kind", "image", "label", "other_label", "decision")


class Merge(NamedTuple):
    """A label to replace by another on every image."""

    label: str
    other: str
    line: int
    """The line of the file."""


@dataclass
class AuditDecisions:
    """The accepted findings of an audit."""

    add: list[tuple[str, str]] = field(default_factory=list)
    """Missing (image, label) pairs."""
    remove: list[tuple[str, str]] = field(default_factory=list)
    """Wrong (image, label) pairs."""
    merge: list[Merge] = field(default_factory=list)


def read_decisions(path: Path, accept_from: float | None = None) -> AuditDecisions:
    """Return the accepted rows of an ``audit.csv``.

    An accepted row of kind ``wrong`` removes its label, ``missing`` adds it, and ``duplicate`` or ``alike`` replaces
    the label by ``other_label``. Rejected rows change nothing, nor do rows without a decision, unless their confidence
    is at least ``accept_from``; duplicates have none.
    """
    decisions = AuditDecisions()
    for line, row in decided_rows(path, _COLUMNS, "vse audit --out"):
        kind, image, label, other = (row[name] for name in _COLUMNS[:-1])
        if kind not in _OWN_YES:
            raise DataError(f"{path}, line {line} has the kind {kind!r}; it must be wrong, missing, duplicate or alike")
        accepted = is_accepted(row["decision"], f"{path}, line {line}", _OWN_YES[kind])
        if accepted is None:
            accepted = accept_from is not None and _confidence(row) >= accept_from
        if not accepted:
            continue
        if kind == "wrong":
            decisions.remove.append((image, label))
        elif kind == "missing":
            decisions.add.append((image, label))
        else:
            decisions.merge.append(Merge(label, other, line))
    return decisions


def decided_rows(path: Path, columns: Sequence[str], written_by: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the lines of a CSV file that a person edited, with their numbers; it must have the given columns.

    Commas, semicolons or tabs separate the columns.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8; save it as CSV in UTF-8") from None
    except OSError as error:
        raise unreadable(path, error) from None
    first = text.split("\n", 1)[0]
    reader = csv.DictReader(text.splitlines(), delimiter=max(",;\t", key=first.count))
    lacking = [name for name in columns if name not in (reader.fieldnames or ())]
    if lacking:
        raise DataError(f"{path} has no column {lacking[0]!r}; name the file that {written_by} wrote")
    for row in reader:
        yield reader.line_num, {name: (row[name] or "").strip() for name in reader.fieldnames or ()}


def is_accepted(decision: str, where: str, own_words: Collection[str] = ()) -> bool | None:
    """Return whether a decision accepts or rejects, None if it is empty; ``own_words`` accept, too."""
    word = decision.lower()
    if not word:
        return None
    if word in _NO:
        return False
    if word not in _YES and word not in own_words:
        allowed = ", ".join(("accept", *sorted(own_words), "reject"))
        raise DataError(f"{where} has the decision {decision!r}; use one of {allowed}")
    return True


def _confidence(row: dict[str, str]) -> float:
    try:
        return float(row.get("confidence") or "nan")
    except ValueError:
        return float("nan")
