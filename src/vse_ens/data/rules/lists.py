"""Lists of aliases and implications that other programs export.

Danbooru and e621: CSV or JSON with ``antecedent_name``, ``consequent_name`` and ``status``. Hydrus: a text with two
lines per pair, the old sibling and the better one, or the child and the parent.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterable, Iterator
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
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")
        pairs = list(_pairs(text))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, csv.Error):
        raise DataError(
            f"{path} is not a list of rules: neither CSV or JSON with {_FROM} and {_TO}, nor two lines per pair"
        ) from None
    names = ((one.replace("_", " "), other.replace("_", " ")) if spaces else (one, other) for one, other in pairs)
    return [NewRule(kind, one, other) for one, other in dict.fromkeys(names) if one != other]


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    lines = text.splitlines()
    if text.lstrip().startswith(("[", "{")):
        rows: Iterable[dict[str, Any]] = json.loads(text) if text.lstrip()[0] == "[" else map(json.loads, lines)
    elif _FROM in lines[0] if lines else False:
        rows = csv.DictReader(lines)
    else:
        tags = [line.strip() for line in lines if line.strip()]
        yield from zip(tags[::2], tags[1::2], strict=True)
        return
    for row in rows:
        if (row.get(_STATUS) or "active") == "active":
            yield row[_FROM].strip(), row[_TO].strip()


def fitting(new: Iterable[NewRule], rules: RuleSet) -> list[NewRule]:
    """Return the rules that can be added together; aliases come first, and implications get the names in force.

    Lists contradict each other, and rules in force, in a few places: what was there first remains.
    """
    joined, fitting = RuleSet([*rules, *rules.rejected]), []
    number = max((rule.id for rule in [*rules, *rules.rejected]), default=0)
    for one in sorted(new, key=lambda rule: rule.kind):
        named = NewRule(one.kind, *map(joined.name_of, one[1:])) if one.kind == "implication" else one
        if named.kind == "alias":
            named = named._replace(other=joined.name_of(named.other))
        number += 1
        try:
            joined.add(Rule(number, *named, "", ""))
        except ConfigError:
            continue
        fitting.append(named)
    return fitting
