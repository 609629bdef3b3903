"""Apply rules to pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations, pair_keys
from vse_ens.data.csr import take_rows
from vse_ens.data.rules.rule_set import RuleSet
from vse_ens.data.vocabulary import Vocabulary


def apply_rules(data: Annotations, rules: RuleSet, rejected: Annotations | None = None) -> Annotations:
    """Replace labels by the names in force, then add the labels that they imply.

    A pair that a person ``rejected`` is not added by an implication. Labels that were replaced leave the vocabulary.
    """
    if not len(rules):
        return data
    names = [rules.name_of(label) for label in data.labels]
    closure = rules.closure()
    kept = Vocabulary.from_ids(names, "label")
    implied = [other for label, others in closure.items() if label in kept for other in others]
    labels = kept.joined(Vocabulary.from_ids(implied, "label"))
    target = labels.numbers(names)
    images = data.image_numbers()
    given = np.unique(pair_keys(images, target[data.indices]))
    added = _implied_keys(given, labels, closure)
    if rejected is not None and len(added):
        added = np.setdiff1d(added, _rejected_keys(rejected, data.images, labels, rules), assume_unique=True)
    added = np.setdiff1d(added, given, assume_unique=True)
    renamed = np.array([name != label for name, label in zip(names, data.labels, strict=True)], np.bool_)
    count = int(renamed[data.indices].sum())
    note = f"rules replaced the label of {count:,} pairs and added {len(added):,} implied pairs"
    result = Annotations.from_keys(data.images, labels, np.concatenate([given, added]), (*data.notes, note))
    return replace(result, features=data.features, feature_names=data.feature_names, pictures=data.pictures)


def unimplied(data: Annotations, rules: RuleSet) -> NDArray[np.bool_]:
    """Return for every pair whether no other label of its image implies its label."""
    keys = pair_keys(data.image_numbers(), data.indices)
    closure = {label: [one for one in implied if one in data.labels] for label, implied in rules.closure().items()}
    return ~np.isin(keys, _implied_keys(keys, data.labels, closure))


def _implied_keys(given: NDArray[np.uint64], labels: Vocabulary, closure: dict[str, list[str]]) -> NDArray[np.uint64]:
    """Return the keys of all implied pairs, sorted and distinct."""
    sources = sorted(label for label in closure if label in labels)
    if not sources:
        return np.empty(0, np.uint64)
    counts = np.zeros(len(labels), np.int64)
    counts[labels.numbers(sources)] = [len(closure[label]) for label in sources]
    flat = labels.numbers([other for label in sources for other in closure[label]])
    label = (given & np.uint64(0xFFFFFFFF)).astype(np.int64)
    implied = take_rows(np.concatenate([[0], np.cumsum(counts)]), flat.astype(np.int32), label).indices
    return np.unique(pair_keys(np.repeat(given >> np.uint64(32), counts[label]), implied))


def _rejected_keys(rejected: Annotations, images: Vocabulary, labels: Vocabulary, rules: RuleSet) -> NDArray[np.uint64]:
    """Return the rejected pairs as keys, under the names in force."""
    names = [rules.name_of(label) for label in rejected.labels]
    own_labels = labels.numbers(names, missing="minus-one")[rejected.indices]
    own_images = images.translate(rejected.images)[rejected.image_numbers()]
    known = (own_labels >= 0) & (own_images >= 0)
    return np.unique(pair_keys(own_images[known], own_labels[known]))
