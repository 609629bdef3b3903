"""Drop rare labels and images, rewrite labels by their text, and compare two sets of pairs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations, pair_keys
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError, DataError

# A word before a colon; "16:9" and ":d" have no namespace.
_NAMESPACE = re.compile(r"[^\W\d][\w .-]*(?=:\S)")
# (tag), ((tag)), (tag:1.2) and the ends of (tag, other tag:1.2), not :) or alice \(wonderland\).
_WEIGHTED = re.compile(r"\(+(?=\w)((?:\\.|[^()\\])+?)(?::\d*\.?\d+)?\)*|(\w(?:\\.|[^()\\])*?):\d*\.?\d+\)+")


def keep_frequent(data: Annotations, min_images_per_label: int = 1, min_labels_per_image: int = 1) -> Annotations:
    """Drop labels with few images and images with few labels, repeatedly until none is left.

    The notes of the result say how many were dropped.
    """
    for name, least in (
        ("min_images_per_label", min_images_per_label),
        ("min_labels_per_image", min_labels_per_image),
    ):
        if least < 1:
            raise ConfigError(f"{name} must be at least 1, got {least}")
    kept, passes = data, 0
    while True:
        label_ok = kept.images_per_label >= min_images_per_label
        image_ok = kept.labels_per_image >= min_labels_per_image
        if label_ok.all() and image_ok.all():
            break
        passes += 1
        kept = subset(kept, image_ok, label_ok)
    if not kept.pairs:
        raise DataError(
            f"no pair is left with at least {min_images_per_label} images per label and "
            f"{min_labels_per_image} labels per image; lower these limits"
        )
    if not passes:
        return data
    note = (
        f"dropped {len(data.labels) - len(kept.labels):,} labels with fewer than {min_images_per_label} images and "
        f"{len(data.images) - len(kept.images):,} images with fewer than {min_labels_per_image} labels, "
        f"{data.pairs - kept.pairs:,} pairs in all, in {passes} pass{'es' if passes > 1 else ''}"
    )
    return replace(kept, notes=(*data.notes, note))


def subset(data: Annotations, image_ok: NDArray[np.bool_], label_ok: NDArray[np.bool_]) -> Annotations:
    """Return the pairs of the given images and labels, renumbered."""
    pair_image = data.image_numbers()
    keep = image_ok[pair_image] & label_ok[data.indices]
    counts = np.bincount(pair_image[keep], minlength=len(data.images))[image_ok]
    new_label = (np.cumsum(label_ok) - 1).astype(np.int32)
    return Annotations(
        Vocabulary(data.images.arrow.filter(pa.array(image_ok)), data.images.kind),
        Vocabulary(data.labels.arrow.filter(pa.array(label_ok)), data.labels.kind),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        new_label[data.indices[keep]],
        features=None if data.features is None else data.features[np.flatnonzero(image_ok)],
        feature_names=data.feature_names,
        pictures=data.pictures,
    )


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
    keep = np.ones(len(data.labels), np.bool_)
    keep[data.labels.numbers(ignored)] = False
    kept = subset(data, np.ones(len(data.images), np.bool_), keep)
    note = f"ignored {len(ignored):,} label{'s' * (len(ignored) > 1)} in {data.pairs - kept.pairs:,} pairs"
    return replace(kept, notes=(*data.notes, note))


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


def fold(text: str) -> str:
    """Return a text without case and accents, for comparison."""
    if text.isascii():
        return text.casefold()
    folded = unicodedata.normalize("NFKD", text).casefold()
    return "".join(letter for letter in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(letter))


def spelling_groups(labels: Iterable[str]) -> list[list[str]]:
    """Return the groups of labels that differ only in case or accents."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(fold(label), []).append(label)
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
    merged = len(data.labels) - len(np.unique(target))
    note = f"merged {merged:,} label{'s' * (merged > 1)} into others that differ only in case or accents"
    return _renamed(data, data.labels.ids(target), note)


def strip_weights(data: Annotations) -> Annotations:
    """Return the pairs with labels such as ``(masterpiece:1.2)`` without their weights; a note counts them."""
    names = [_without_weight(label) for label in data.labels]
    count = sum(name != label for name, label in zip(names, data.labels, strict=True))
    return _renamed(data, names, f"stripped the weights of {count:,} label{'s' * (count > 1)}") if count else data


def _without_weight(label: str) -> str:
    found = _WEIGHTED.fullmatch(label)
    return (found[1] or found[2]).strip() if found else label


def _renamed(data: Annotations, names: Sequence[str], note: str) -> Annotations:
    """Return the pairs with a new name for each label; labels with one name become one."""
    labels = Vocabulary.from_ids(names, "label")
    return _renumbered(data, labels, data.image_numbers(), labels.numbers(names)[data.indices], note)


def _renumbered(
    data: Annotations, labels: Vocabulary, images: np.ndarray, numbers: np.ndarray, note: str
) -> Annotations:
    renumbered = Annotations.from_numbers(data.images, labels, images, numbers, (*data.notes, note))
    return replace(renumbered, features=data.features, feature_names=data.feature_names, pictures=data.pictures)


def contained(data: Annotations, other: Annotations) -> NDArray[np.bool_]:
    """Return for every pair of ``data`` whether ``other`` has it."""
    images = data.images.translate(other.images)[other.image_numbers()]
    labels = data.labels.translate(other.labels)[other.indices]
    known = (images >= 0) & (labels >= 0)
    return np.isin(pair_keys(data.image_numbers(), data.indices), pair_keys(images[known], labels[known]))


def pairs_without(data: Annotations, other: Annotations) -> list[tuple[str, str]]:
    """Return the (image, label) pairs of ``data`` that ``other`` does not have, by image and label."""
    lacking = ~contained(data, other)
    images, labels = data.image_numbers()[lacking], data.indices[lacking]
    return list(zip(data.images.ids(images), data.labels.ids(labels), strict=True))
