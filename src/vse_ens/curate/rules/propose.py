"""Propose rules from pairs; as a CSV file, proposals have a column for decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, cast

from vse_ens.curate.rules.aliases import Alias, find_aliases
from vse_ens.curate.rules.implications import MIN_CONFIDENCE, MIN_SUPPORT, Implication, find_implications
from vse_ens.data.annotations import Annotations
from vse_ens.data.decisions import decided_rows, is_accepted
from vse_ens.data.io.write import write_csv
from vse_ens.data.rules.rule_set import RuleKind, RuleSet
from vse_ens.data.rules.store import NewRule
from vse_ens.errors import DataError

_COLUMNS = ("kind", "label", "other", "support", "confidence", "exceptions", "evidence", "decision")
_KINDS = ("alias", "rename", "implication")


@dataclass(frozen=True)
class Proposals:
    """Rules for a person to accept, each list with the surest first."""

    implications: list[Implication]
    aliases: list[Alias]

    def open(self, rules: RuleSet) -> Proposals:
        """Return the proposals that rules neither settle nor contradict, and that nobody rejected."""
        return Proposals(
            [one for one in self.implications if rules.is_open("implication", one.label, one.implies)],
            [one for one in self.aliases if rules.is_open("alias", one.label, one.other)],
        )

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        """Return plain lists and dictionaries, for JSON."""
        return {
            "implications": [one._asdict() for one in self.implications],
            "aliases": [one._asdict() for one in self.aliases],
        }


def propose_rules(
    data: Annotations,
    *,
    min_support: int = MIN_SUPPORT,
    min_confidence: float = MIN_CONFIDENCE,
    progress: Callable[[float], None] | None = None,
) -> Proposals:
    """Return the implications and aliases in the pairs; see `find_implications` and `find_aliases`."""
    implications = find_implications(
        data,
        min_support=min_support,
        min_confidence=min_confidence,
        progress=None if progress is None else lambda done: progress(done / 2),
    )
    aliases = find_aliases(data)
    if progress is not None:
        progress(1.0)
    return Proposals(implications, aliases)


def write_proposals(proposals: Proposals, path: Path, *, defuse_formulas: bool = False) -> None:
    """Write one line per proposal, atomically; the column ``decision`` is empty, for a person.

    ``defuse_formulas`` puts an apostrophe before text that a spreadsheet would run as a formula.
    """
    implications = (
        ("implication", one.label, one.implies, one.support, f"{one.confidence:.4f}", one.exceptions, "", "")
        for one in proposals.implications
    )
    aliases = (("alias", one.label, one.other, "", "", "", one.evidence, "") for one in proposals.aliases)
    write_csv(path, _COLUMNS, chain(implications, aliases), defuse_formulas=defuse_formulas)


def read_proposals(path: Path, *, accept_all: bool = False) -> list[NewRule]:
    """Return the rejected proposals, then the accepted ones; with ``accept_all`` also those without a decision.

    A pair of labels with an accepted rule is not rejected: an accepted alias settles an implication, for example.
    """
    accepted: list[NewRule] = []
    rejected: list[NewRule] = []
    for line, row in decided_rows(path, ("kind", "label", "other", "decision"), "vse rules propose --out"):
        kind, where = row["kind"], f"{path}, line {line}"
        if kind not in _KINDS:
            raise DataError(f"{where} has the kind {kind!r}; it must be {' or '.join(_KINDS)}")
        decision = is_accepted(row["decision"], where)
        if decision or (decision is None and accept_all):
            accepted.append(NewRule(cast("RuleKind", kind), row["label"], row["other"]))
        elif decision is False:
            rejected.append(NewRule("rejected", row["label"], row["other"]))
    settled = {(one.label, one.other) for one in accepted}
    settled |= {(one.other, one.label) for one in accepted if one.kind != "implication"}
    return [one for one in rejected if (one.label, one.other) not in settled] + accepted
