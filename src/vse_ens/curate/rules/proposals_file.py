"""Proposals as a CSV file with a column for decisions."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import cast

from vse_ens.curate.rules.propose import Proposals
from vse_ens.data.decisions import decided_rows, is_accepted
from vse_ens.data.io.write import defuse
from vse_ens.data.rules.rule_set import RuleKind
from vse_ens.data.rules.store import NewRule
from vse_ens.errors import DataError
from vse_ens.storage.atomic import replace_file

_COLUMNS = ("kind", "label", "other", "support", "confidence", "exceptions", "evidence", "decision")
_KINDS = ("alias", "rename", "implication")


def write_proposals(proposals: Proposals, path: Path, *, defuse_formulas: bool = False) -> None:
    """Write one line per proposal, atomically; the column ``decision`` is empty, for a person.

    ``defuse_formulas`` puts an apostrophe before text that a spreadsheet would run as a formula.
    """
    safe = defuse if defuse_formulas else str
    with replace_file(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(_COLUMNS)
        for one in proposals.implications:
            numbers = (one.support, f"{one.confidence:.4f}", one.exceptions)
            lines.writerow(("implication", safe(one.label), safe(one.implies), *numbers, "", ""))
        for alias in proposals.aliases:
            lines.writerow(("alias", safe(alias.label), safe(alias.other), "", "", "", alias.evidence, ""))


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
