"""What the operators compute, from the labels of samples; needs vse-ens, but not FiftyOne."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from vse_ens import Annotations, Annotator
from vse_ens.errors import VseError

Labels = Mapping[str, Sequence[str]]
"""The labels of each sample, by its ID."""
Found = dict[str, list[tuple[str, float | None]]]
"""Labels with their confidence, surest first, by the ID of a sample."""


class Findings(NamedTuple):
    """What an audit finds: labels that may be wrong or missing, and pairs of labels that may be the same."""

    wrong: Found
    missing: Found
    duplicates: list[tuple[str, str]]


def _learn(labels: Labels) -> Annotator:
    pairs = [(sample, label) for sample, own in labels.items() for label in own]
    if not pairs:
        raise VseError("no sample has a label in this field; choose another field or view")
    return Annotator(seed=0).fit(Annotations.from_pairs(pairs))


def suggest(labels: Labels, top: int, min_confidence: float) -> Found:
    """Return labels that samples probably lack. Samples without a label get none: there is nothing to go by."""
    samples = [sample for sample, own in labels.items() if own]
    lists = _learn(labels).annotate(samples, top=top, min_confidence=min_confidence)
    return {
        sample: [(one.label, one.confidence) for one in found]
        for sample, found in zip(samples, lists, strict=True)
        if found
    }


def audit(labels: Labels, top: int) -> Findings:
    """Return at most ``top`` labels that are probably wrong, as many that are missing, and duplicates."""
    found = _learn(labels).audit(top)
    wrong, missing = (
        {
            sample: [(one.label, one.confidence) for one in group]
            for sample, group in groupby(sorted(kind, key=lambda one: (one.image, -one.confidence)), lambda x: x.image)
        }
        for kind in (found.wrong, found.missing)
    )
    return Findings(wrong, missing, [(one.label, one.other) for one in found.duplicates if one.kind == "same"])
