"""Labels with a structure: hierarchies such as ``place|beach``, namespaces such as ``character:alice``, and spellings.

The *facet* of a label is its part before the first ``|`` or ``:``; most labels have none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError

# A word before a colon; "16:9" and ":d" have no namespace.
_NAMESPACE = re.compile(r"[^\W\d][\w .-]*(?=:\S)")


def facet(label: str) -> str:
    """Return the facet of a label with its separator, such as ``place|`` or ``character:``; empty if it has none."""
    top, bar, rest = label.partition("|")
    if bar and top and rest:
        return f"{top}|"
    match = _NAMESPACE.match(label)
    return f"{match[0]}:" if match else ""


def ancestors(label: str) -> list[str]:
    """Return the labels above a label of a hierarchy, the nearest last: ``place`` of ``place|beach``."""
    parts = label.split("|")
    return [above for count in range(1, len(parts)) if (above := "|".join(parts[:count])).strip("| ")]


def matching(patterns: Sequence[str], labels: Vocabulary) -> list[str]:
    """Return the labels that match one of the patterns; ``*`` is any text and ``?`` any character."""
    found = _matches(patterns, labels)
    if not found:
        raise ConfigError(f"no label matches {' or '.join(map(repr, patterns))}; see the facets of vse info")
    return found


def _matches(patterns: Sequence[str], labels: Vocabulary) -> list[str]:
    form = "|".join(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".") for pattern in patterns)
    expression = re.compile(form, re.DOTALL)
    return [label for label in labels if expression.fullmatch(label)]


def without_matching(data: Annotations, patterns: Sequence[str]) -> Annotations:
    """Return the pairs without the labels that match one of the patterns; a note counts them."""
    ignored = _matches(patterns, data.labels)
    if not ignored:
        return data
    numbers = data.labels.numbers(ignored)
    keep = np.ones(len(data.labels), np.bool_)
    keep[numbers] = False
    labels = Vocabulary.from_ids(data.labels.ids(np.flatnonzero(keep)), "label")
    kept = keep[data.indices]
    note = f"ignored {len(ignored):,} label{'s' * (len(ignored) > 1)} in {int((~kept).sum()):,} pairs"
    own = labels.translate(data.labels)[data.indices]
    return _renumbered(data, labels, data.image_numbers()[kept], own[kept], note)


def with_ancestors(data: Annotations) -> Annotations:
    """Return the pairs with the ancestors of all labels added; a note counts the new labels."""
    above = {label: ancestors(label) for label in data.labels if "|" in label}
    if not any(above.values()):
        return data
    labels = data.labels.joined(Vocabulary.from_ids((one for found in above.values() for one in found), "label"))
    own = labels.translate(data.labels)[data.indices]
    images = data.image_numbers()
    rows, numbers = [images], [own]
    # One pass per level of the hierarchy: the n-th ancestor of every label that has one.
    for level in range(max(map(len, above.values()))):
        targets = np.full(len(data.labels), -1, np.int64)
        for label, found in above.items():
            if level < len(found):
                targets[data.labels.number(label)] = labels.number(found[level])
        wanted = targets[data.indices]
        rows.append(images[wanted >= 0])
        numbers.append(wanted[wanted >= 0])
    new = len(labels) - len(data.labels)
    note = f"added the ancestors of labels, {new:,} of them new labels"
    return _renumbered(data, labels, np.concatenate(rows), np.concatenate(numbers), note)


def spelling_key(label: str) -> str:
    """Return a label without case and accents."""
    if label.isascii():
        return label.lower()
    decomposed = unicodedata.normalize("NFKD", label.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def spelling_groups(labels: Iterable[str]) -> list[list[str]]:
    """Return the groups of labels that differ only in case or accents."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(spelling_key(label), []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def spelling_note(data: Annotations, merged: bool) -> list[str]:
    """Return a note on labels that differ only in case or accents, unless they are merged."""
    groups = [] if merged else spelling_groups(data.labels)
    if not groups:
        return []
    count = sum(map(len, groups))
    example = " and ".join(groups[0][:2])
    return [f"{count:,} labels differ only in case or accents, such as {example}; --merge-spelling merges them"]


def merge_spelling(data: Annotations) -> Annotations:
    """Return the pairs with labels that differ only in case or accents merged into the most used one."""
    groups = spelling_groups(data.labels)
    if not groups:
        return data
    counts = data.images_per_label
    target = np.arange(len(data.labels))
    for group in groups:
        same = [data.labels.number(label) for label in group]
        target[same] = max(same, key=lambda number: (counts[number], -number))
    kept = Vocabulary.from_ids(data.labels.ids(np.unique(target)), "label")
    numbers = kept.translate(data.labels)[target[data.indices]]
    merged = len(data.labels) - len(kept)
    note = f"merged {merged:,} label{'s' * (merged > 1)} into others that differ only in case or accents"
    return _renumbered(data, kept, data.image_numbers(), numbers, note)


def _renumbered(
    data: Annotations, labels: Vocabulary, images: np.ndarray, numbers: np.ndarray, note: str
) -> Annotations:
    renumbered = Annotations.from_numbers(data.images, labels, images, numbers, (*data.notes, note))
    return replace(renumbered, features=data.features, pictures=data.pictures)
