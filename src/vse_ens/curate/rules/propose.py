"""Propose rules from pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vse_ens.curate.rules.aliases import Alias, find_aliases
from vse_ens.curate.rules.implications import MIN_CONFIDENCE, MIN_SUPPORT, Implication, find_implications
from vse_ens.data.annotations import Annotations
from vse_ens.data.rules.rule_set import RuleSet


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
