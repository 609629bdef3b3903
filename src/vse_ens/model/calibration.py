"""Calibration: from scores to held-out probabilities and confidences of suggested labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.errors import ModelError
from vse_ens.model.completeness import Completeness
from vse_ens.model.embeddings import Floats

Counts = NDArray[np.integer]
"""What is known of images: the number of labels, and above `KIND_SHIFT` bits the kind."""

LABELS, BOTH, FEATURES, NOTHING = range(4)
"""Kinds of images: known by labels, by labels and features, by features alone, or by nothing."""
KIND_SHIFT = 32
_COUNT = (1 << KIND_SHIFT) - 1
_KIND_NAMES = {BOTH: "confidence_both", FEATURES: "confidence_features"}


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
    """The temperature of images of one kind, and the map from shares to probabilities."""

    temperature: Temperature
    shares: Floats
    values: Floats

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

    temperature: Temperature
    shares: Floats
    """The knots, ascending from 0."""
    values: Floats
    """The held-out probability at each knot, non-decreasing from 0."""
    completeness: Completeness | None = None
    """How many labels the data lack; None just after training, when a confidence is the held-out probability."""
    curves: Mapping[int, Curve] = field(default_factory=dict)
    """By kind of image, except `LABELS`; a kind that is missing is treated as `LABELS`."""

    def __post_init__(self) -> None:
        if self.shares.ndim != 1 or self.shares.shape != self.values.shape or not len(self.shares):
            raise ModelError("the arrays confidence_shares and confidence_values do not fit together")

    def log_totals(self, scores: Floats, counts: Counts) -> Floats:
        """Return log sum_a e^(score / temperature) of each row of ``scores``.

        A row has the scores of all labels, with -inf for the ``counts`` labels that the image is known to have. Labels
        that are excluded for another reason, such as a list of allowed labels, must keep their scores.
        """
        return log_totals(scores, self.temperatures(counts))

    def temperatures(self, counts: Counts) -> Floats:
        """Return the softmax temperature of each image, from what is known of it."""
        found, kinds = self.temperature.of(counts & _COUNT), counts >> KIND_SHIFT
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
        found, kinds = np.interp(shares, self.shares, self.values), counts >> KIND_SHIFT
        for kind, curve in self.curves.items() if kinds.any() else ():
            if (kinds == kind).any():
                found = np.where(kinds == kind, np.interp(shares, curve.shares, curve.values), found)
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
        return {
            "confidence_shares": self.shares,
            "confidence_temperature": np.array(self.temperature, np.float32),
            "confidence_values": self.values,
            **(self.completeness.arrays() if self.completeness else {}),
            **{
                f"{name}_{part}": array
                for kind, name in _KIND_NAMES.items()
                if kind in self.curves
                for part, array in self.curves[kind]
                ._replace(
                    temperature=np.array(self.curves[kind].temperature, np.float32)  # type: ignore[arg-type]
                )
                ._asdict()
                .items()
            },
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Calibration | None:
        """Return the calibration with the arrays that `arrays` returned, or None if there are none."""
        if "confidence_shares" not in arrays:
            return None
        try:
            base, exponent = arrays["confidence_temperature"].tolist()
            return cls(
                Temperature(base, exponent),
                arrays["confidence_shares"],
                arrays["confidence_values"],
                Completeness.from_arrays(arrays),
                {
                    kind: Curve(
                        Temperature(*arrays[f"{name}_temperature"].tolist()),
                        arrays[f"{name}_shares"],
                        arrays[f"{name}_values"],
                    )
                    for kind, name in _KIND_NAMES.items()
                    if f"{name}_shares" in arrays
                },
            )
        except KeyError as error:
            raise ModelError(f"the array {error} is missing beside confidence_shares") from error
