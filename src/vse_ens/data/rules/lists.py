"""Lists of aliases and implications that other programs export.

Danbooru and e621: CSV or JSON with ``antecedent_name``, ``consequent_name`` and ``status``. Hydrus: a text with two
lines per pair, the old sibling and the better one, or the child and the parent.
"""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from vse_ens.data.rules.rule_set import Rule, RuleSet
from vse_ens.data.rules.store import NewRule
from vse_ens.errors import ConfigError, DataError

ListKind = Literal["alias", "implication"]
_WORDS: dict[str, ListKind] = {
    "alias": "alias", "sibling": "alias", "implication": "implication", "parent": "implication"
}  # fmt: skip
_FROM, _TO, _STATUS = "antecedent_name", "consequent_name", "status"


def read_list(path: Path, kind: ListKind | None = None, *, spaces: bool = False) -> list[NewRule]:
    """Return the rules of a list; ``kind`` is by default recognized by the name of the file.

    ``spaces`` reads underscores as spaces, as folders of tags often have them.
    """
    kind = kind or next((kind for word, kind in _WORDS.items() if word in path.name.lower()), None)
    if kind is None:
        raise ConfigError(f"{path} does not say by its name whether it lists aliases or implications; give --as")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    try:
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")
        pairs = list(_line_pairs(text) if path.suffix == ".txt" else _pairs(text))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, csv.Error, zlib.error):
        raise DataError(
            f"{path} is not a list of rules: neither CSV or JSON with {_FROM} and {_TO}, nor two lines per pair"
        ) from None
    names = ((one.replace("_", " "), other.replace("_", " ")) if spaces else (one, other) for one, other in pairs)
    return [NewRule(kind, one, other) for one, other in dict.fromkeys(names) if one != other]


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    lines = text.splitlines()
    if text.lstrip().startswith(("[", "{")):
        rows: Iterable[dict[str, Any]] = json.loads(text) if text.lstrip()[0] == "[" else map(json.loads, lines)
    else:
        rows = csv.DictReader(lines)
    for row in rows:
        if (row.get(_STATUS) or "active") == "active":
            yield row[_FROM].strip(), row[_TO].strip()


def _line_pairs(text: str) -> Iterator[tuple[str, str]]:
    tags = [line.strip() for line in text.splitlines() if line.strip()]
    return zip(tags[::2], tags[1::2], strict=True)


def fitting(new: Iterable[NewRule], rules: RuleSet) -> list[NewRule]:
    """Return the rules that can be added together: aliases first, then implications, under the names in force.

    Lists contradict each other, and rules in force, in a few places: what was there first remains. Rejected rules and
    those that are in force are left out.
    """
    joined, found = RuleSet([*rules, *rules.rejected]), []
    first = max((rule.id for rule in [*rules, *rules.rejected]), default=0) + 1
    for number, one in enumerate(sorted(new, key=lambda rule: rule.kind), first):
        label = one.label if one.kind == "alias" else joined.name_of(one.label)
        named = NewRule(one.kind, label, joined.name_of(one.other))
        if joined.is_rejected(*named):
            continue
        with suppress(ConfigError):
            joined.add(Rule(number, *named, "", ""))
            found.append(named)
    return found
