"""A cleaned data set: pairs plus accepted labels minus rejected ones, with rules applied.

The order is fixed. First, labels get the names of the rules, in the data as in decisions and verdicts. Then come the
decisions on an audit, then feedback, then implications. A label that a person rejected or removed is not added again by
an implication.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.decisions import AuditDecisions, read_decisions
from vse_ens.data.feedback.pairs import Verdicts, read_feedback, without_pairs
from vse_ens.data.filters import contained, subset
from vse_ens.data.io.write import check_suffix, text_lines
from vse_ens.data.rules.apply import apply_rules, unimplied
from vse_ens.data.rules.rule_set import Rule, RuleSet
from vse_ens.errors import ConfigError
from vse_ens.storage.atomic import replace_file

SOURCES = ("data", "audit", "feedback", "rule")
"""Where a pair of a cleaned data set comes from."""
SUFFIXES = (".csv", ".jsonl", ".parquet")
_COLUMNS = ("image", "label", "source")
_BLOCK = 1 << 16  # pairs converted to text at a time
_EXAMPLES = 5


@dataclass(frozen=True)
class Changes:
    """Pairs that were added or removed, and the first few of them."""

    count: int
    first: list[tuple[str, str]]

    def to_dict(self) -> dict[str, Any]:
        """Return the changes for JSON."""
        return {"count": self.count, "first": [list(pair) for pair in self.first]}


@dataclass(frozen=True)
class Renamed:
    """A label that was replaced by another."""

    label: str
    other: str
    images: int


@dataclass(frozen=True)
class Cleaned:
    """A cleaned data set and what was changed."""

    data: Annotations
    source: NDArray[np.uint8]
    """The index in `SOURCES` of every pair."""
    before: dict[str, int]
    """The numbers of images, labels and pairs before."""
    added: dict[str, Changes]
    """Added pairs by source; those of a rule are implied labels."""
    removed: dict[str, Changes]
    """Removed pairs by source."""
    renamed: list[Renamed]
    """Labels that were replaced, most images first."""

    def to_dict(self) -> dict[str, Any]:
        """Return the changes as plain lists and dictionaries, for JSON."""
        return {
            "before": self.before,
            "after": _size(self.data),
            "added": {name: found.to_dict() for name, found in self.added.items()},
            "removed": {name: found.to_dict() for name, found in self.removed.items()},
            "renamed": {
                "count": sum(one.images for one in self.renamed),
                "first": [[one.label, one.other, one.images] for one in self.renamed[:_EXAMPLES]],
            },
        }

    def lines(self, form: str, *, defuse_formulas: bool = False) -> Iterator[str]:
        """Yield the data set as ``csv`` or ``jsonl``, in blocks of lines; see `text_lines`."""
        rows = (row for block in self._blocks() for row in zip(*block, strict=True))
        return text_lines(form, _COLUMNS, rows, defuse_formulas=defuse_formulas)

    def write(self, path: Path) -> None:
        """Write image, label and source of every pair to a .csv, .jsonl or .parquet file, atomically."""
        check_suffix(path, *SUFFIXES)
        with replace_file(path) as partial:
            if path.suffix == ".parquet":
                schema = pa.schema([(name, pa.large_string()) for name in _COLUMNS])
                with pq.ParquetWriter(partial, schema) as writer:
                    for block in self._blocks():
                        writer.write_table(pa.table([pa.array(one, pa.large_string()) for one in block], schema))
                return
            with partial.open("w", encoding="utf-8", newline="") as file:
                file.writelines(self.lines(path.suffix[1:]))

    def _blocks(self) -> Iterator[tuple[list[str], list[str], list[str]]]:
        images = self.data.image_numbers()
        for first in range(0, self.data.pairs, _BLOCK):
            part = slice(first, first + _BLOCK)
            yield (
                self.data.images.ids(images[part]),
                self.data.labels.ids(self.data.indices[part]),
                [SOURCES[number] for number in self.source[part].tolist()],
            )


def clean(
    data: Annotations,
    *,
    audit: Path | None = None,
    accept_from: float | None = None,
    feedback: Path | None = None,
    rules: RuleSet | None = None,
    consolidate: bool = False,
) -> Cleaned:
    """Apply the decisions in an ``audit.csv``, the verdicts in a feedback file, and rules.

    Findings of the audit without a decision are accepted if their confidence is at least ``accept_from``. With
    ``consolidate``, labels that another label of the image implies are removed, and none are added by implications.
    """
    nothing = Annotations.from_pairs(())
    decisions = AuditDecisions() if audit is None else read_decisions(audit, accept_from)
    verdicts = Verdicts(nothing, nothing) if feedback is None else read_feedback(feedback)
    all_rules = with_merges(rules or RuleSet(), decisions, audit)
    names = RuleSet(rule for rule in all_rules if rule.kind != "implication")
    steps = [("audit", Annotations.from_pairs(decisions.add), Annotations.from_pairs(decisions.remove))]
    steps.append(("feedback", verdicts.accepted, verdicts.rejected))
    current, denied = apply_rules(data, names), nothing
    added, removed = {}, {}
    stages = [current]
    for name, *pairs in steps:
        more, less = (apply_rules(one, names) for one in pairs)
        kept = without_pairs(current, less)
        joined = kept.joined(more) if more.pairs else kept
        added[name], removed[name] = _difference(joined, kept), _difference(current, kept)
        denied = denied.joined(less)
        current = joined
        stages.append(joined)
    if consolidate:
        kept_pairs = unimplied(current, all_rules)
        result = current.with_pairs(kept_pairs)
        result = subset(result, np.ones(len(result.images), np.bool_), result.images_per_label > 0)
        removed["rule"] = _chosen(current, ~kept_pairs)
    else:
        result = apply_rules(current, all_rules, denied)
    source = np.full(result.pairs, SOURCES.index("rule"), np.uint8)
    for name, stage in reversed(list(zip(SOURCES, stages, strict=False))):
        source[contained(result, stage)] = SOURCES.index(name)
    added["rule"] = _chosen(result, source == SOURCES.index("rule"))
    return Cleaned(result, source, _size(data), added, removed, _renamed(data, names))


def with_merges(rules: RuleSet, decisions: AuditDecisions, path: Path | None) -> RuleSet:
    """Return the rules with the accepted duplicates of an audit as aliases."""
    joined = RuleSet(rules)
    number = max((rule.id for rule in rules), default=0)
    for merge in decisions.merge:
        if joined.find("alias", merge.label, merge.other) is None:
            number += 1
            try:
                joined.add(Rule(number, "alias", merge.label, merge.other, "audit", ""))
            except ConfigError as error:
                raise ConfigError(f"{path}, line {merge.line}: {error}") from None
    return joined


def _difference(data: Annotations, other: Annotations) -> Changes:
    return _chosen(data, ~contained(data, other))


def _chosen(data: Annotations, chosen: NDArray[np.bool_]) -> Changes:
    positions = np.flatnonzero(chosen)
    first = positions[:_EXAMPLES]
    images = np.searchsorted(data.indptr, first, side="right") - 1
    pairs = zip(data.images.ids(images), data.labels.ids(data.indices[first]), strict=True)
    return Changes(len(positions), list(pairs))


def _renamed(data: Annotations, rules: RuleSet) -> list[Renamed]:
    counts = data.images_per_label.tolist()
    found = [
        Renamed(label, rules.name_of(label), images)
        for label, images in zip(data.labels, counts, strict=True)
        if images and rules.name_of(label) != label
    ]
    return sorted(found, key=lambda one: (-one.images, one.label))


def _size(data: Annotations) -> dict[str, int]:
    return {"images": len(data.images), "labels": len(data.labels), "pairs": data.pairs}
