"""Calibration: from scores to held-out probabilities and confidences of suggested labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.model.completeness import Completeness
from vse_ens.model.embeddings import Floats

Counts = NDArray[np.integer]
"""What is known of images: the number of labels, and above `KIND_SHIFT` bits the kind."""

LABELS, BOTH, FEATURES, NOTHING = range(4)
"""Kinds of images: known by labels, by labels and features, by features alone, or by nothing."""
KIND_SHIFT = 32
_COUNT = (1 << KIND_SHIFT) - 1
_NAMES = {LABELS: "confidence", BOTH: "confidence_both", FEATURES: "confidence_features"}


class Temperature(NamedTuple):
    """The softmax temperature as a function of the number of known labels.

    Scores spread as more labels are known, more than accuracy justifies.
    """

    base: float
    exponent: float

    def of(self, counts: Counts) -> Floats:
        """Return base x count^exponent for each number of known labels, with 0 counted as 1."""
        return (self.base * np.maximum(counts, 1) ** self.exponent).astype(np.float32)


def log_totals(scores: Floats, temperatures: Floats | float) -> Floats:
    """Return log sum_a e^(score / temperature) of each row; -inf if all scores of the row are.

    ``temperatures`` is one number, or one per row.
    """
    divisors = np.asarray(temperatures, np.float32).reshape(-1, 1)
    highest: Floats = scores.max(axis=1, keepdims=True)
    # In a row without candidates, -inf - -inf would be NaN.
    np.maximum(highest, np.finfo(np.float32).min, out=highest)
    powers = scores - highest
    powers /= divisors
    np.exp(powers, out=powers)
    # In such a row, the logarithm of 0 and the quotient of the smallest number are both -inf, as they should be.
    with np.errstate(divide="ignore", over="ignore"):
        totals: Floats = np.log(powers.sum(axis=1)) + (highest / divisors)[:, 0]
    return totals


def softmax_shares(scores: Floats, totals: Floats, temperatures: Floats) -> Floats:
    """Return e^(score / temperature - log total), given the log totals; 0 for a score of -inf."""
    powers = scores / temperatures
    powers -= np.where(np.isneginf(totals), np.float32(0), totals)
    shares: Floats = np.exp(np.minimum(powers, 0, out=powers), out=powers)
    return shares


class Curve(NamedTuple):
    """The temperature of images of one kind, and the map from shares to probabilities, through knots."""

    temperature: Temperature
    shares: Floats
    """Of the knots, ascending from 0."""
    values: Floats
    """The held-out probability at each knot, non-decreasing from 0."""

    def interpolated(self, shares: Floats) -> NDArray[np.float64]:
        """Return the probabilities of shares."""
        return np.asarray(np.interp(shares, self.shares, self.values))

    @classmethod
    def of_frequencies(cls, known: Annotations) -> Curve:
        """Return the curve of images of which nothing is known: a label is as likely as it is frequent."""
        mean = max(1.0, known.pairs / max(1, int(np.count_nonzero(known.labels_per_image))))
        knots = np.array([[0.0, 1 / mean, 1.0 + (mean == 1)], [0.0, 1.0, 1.0]], np.float32)
        return cls(Temperature(1.0, 0.0), *knots)


@dataclass(frozen=True, eq=False)
class Calibration:
    """Maps scores to held-out probabilities, as learned on labels held out of training, and these to confidences.

    The share of a suggestion is its softmax probability: e^(score / temperature) divided by the sum over all labels
    that the image is not known to have. The held-out probability is an increasing, piecewise linear function of the
    share: the probability that the suggestion is the missing label of an image, provided that exactly one is missing.
    The confidence is the probability that the suggestion is right, however many are missing; see `Completeness`.

    Images with features have temperatures and knots of their own. For an image without labels, the probability is that
    the data record the label: all its labels were held out.
    """

    curves: Mapping[int, Curve]
    """By kind of image; a kind that is missing is treated as `LABELS`, which is always there."""
    completeness: Completeness | None = None
    """How many labels the data lack; None just after training, when a confidence is the held-out probability."""

    def log_totals(self, scores: Floats, counts: Counts) -> Floats:
        """Return log sum_a e^(score / temperature) of each row of ``scores``.

        A row has the scores of all labels, with -inf for the ``counts`` labels that the image is known to have. Labels
        that are excluded for another reason, such as a list of allowed labels, must keep their scores.
        """
        return log_totals(scores, self.temperatures(counts))

    def temperatures(self, counts: Counts) -> Floats:
        """Return the softmax temperature of each image, from what is known of it."""
        found, kinds = self.curves[LABELS].temperature.of(counts & _COUNT), counts >> KIND_SHIFT
        for kind, curve in self.curves.items() if kinds.any() else ():
            found = np.where(kinds == kind, curve.temperature.of(counts & _COUNT), found)
        return found

    def held_out_probabilities(self, scores: Floats, log_totals: Floats, counts: Counts) -> Floats:
        """Return the probability that each label is the one held out; 0 for a score of -inf.

        ``log_totals`` and the ``counts`` of known labels belong to the images and must broadcast with ``scores``.
        """
        return self.probabilities_of_shares(softmax_shares(scores, log_totals, self.temperatures(counts)), counts)

    def probabilities_of_shares(self, shares: Floats, counts: Counts) -> Floats:
        """Return held-out probabilities from softmax shares."""
        found, kinds = self.curves[LABELS].interpolated(shares), counts >> KIND_SHIFT
        for kind, curve in self.curves.items() if kinds.any() else ():
            if (kinds == kind).any():
                found = np.where(kinds == kind, curve.interpolated(shares), found)
        return found.astype(np.float32)

    def expected_counts(self, probabilities: Floats, counts: Counts, labels: NDArray[np.integer]) -> Floats:
        """Return what `confidences` grow with: how many such labels an image lacks on average; see `Completeness`."""
        if self.completeness is None:
            return probabilities
        return self.completeness.counts(probabilities, counts & _COUNT, labels, counts >> KIND_SHIFT >= FEATURES)

    def confidences(self, probabilities: Floats, counts: Counts, labels: NDArray[np.integer]) -> Floats:
        """Return the probability that each label is right, from its held-out probability.

        The ``counts`` of known labels and the numbers of the ``labels`` must broadcast with ``probabilities``.
        """
        return self.confidences_of(self.expected_counts(probabilities, counts, labels))

    def confidences_of(self, expected_counts: Floats) -> Floats:
        """Return confidences from what `expected_counts` returned."""
        return expected_counts if self.completeness is None else self.completeness.confidences(expected_counts)

    def with_completeness(self, completeness: Completeness) -> Calibration:
        """Return the same calibration with another completeness."""
        return replace(self, completeness=completeness)

    def for_pairs(self, known: Annotations) -> Calibration:
        """Return this calibration with what follows from the pairs, unless it has a completeness already."""
        whole = replace(self, curves={**self.curves, NOTHING: Curve.of_frequencies(known)})
        return whole if self.completeness else whole.with_completeness(Completeness.estimated(known))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save, by name."""
        found = self.completeness.arrays() if self.completeness else {}
        for kind, name in _NAMES.items():
            parts = self.curves[kind]._asdict() if kind in self.curves else {}
            found |= {f"{name}_{part}": np.asarray(array, np.float32) for part, array in parts.items()}
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Calibration | None:
        """Return the calibration with the arrays that `arrays` returned, or None if there are none."""
        curves = {
            kind: Curve(
                Temperature(*arrays[f"{name}_temperature"].tolist()), arrays[f"{name}_shares"], arrays[f"{name}_values"]
            )
            for kind, name in _NAMES.items()
            if f"{name}_shares" in arrays
        }
        return cls(curves, Completeness.from_arrays(arrays)) if curves else None
