"""From scores to the probability that a suggestion is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.errors import ModelError
from vse_ens.model.embeddings import Floats

Counts = NDArray[np.integer]


class Temperature(NamedTuple):
    """By what scores are divided before a softmax, for images of which more or fewer labels are known.

    The more labels speak, the further apart are the scores, and further than what they know would have them.
    """

    base: float
    exponent: float

    def of(self, counts: Counts) -> Floats:
        """base x count^exponent, with a count of no labels taken for one."""
        return (self.base * np.maximum(counts, 1) ** self.exponent).astype(np.float32)


def log_totals(scores: Floats, temperatures: Floats | float) -> Floats:
    """The logarithm of the sum of e^(score / temperature) over each row, with one temperature for all or one each; -inf
    where all scores are.
    """
    heat = np.asarray(temperatures, np.float32).reshape(-1, 1)
    highest: Floats = scores.max(axis=1, keepdims=True)
    # Without a candidate, -inf - -inf would be no number.
    np.maximum(highest, np.finfo(np.float32).min, out=highest)
    powers = scores - highest
    powers /= heat
    np.exp(powers, out=powers)
    with np.errstate(divide="ignore"):
        totals: Floats = np.log(powers.sum(axis=1)) + (highest / heat)[:, 0]
    return totals


def shares_of(scores: Floats, totals: Floats, temperatures: Floats) -> Floats:
    """e^(score / temperature) over the total of the image, whose logarithm is given; 0 for a score of -inf."""
    powers = scores / temperatures
    powers -= np.where(np.isneginf(totals), np.float32(0), totals)
    shares: Floats = np.exp(np.minimum(powers, 0, out=powers), out=powers)
    return shares


@dataclass(frozen=True, eq=False)
class Calibration:
    """How often suggestions of a score were right, on labels that were held out of training.

    A suggestion's share of its image is e^(score / temperature), divided by the sum of it over all labels the image is
    not known to have. The confidence is a rising function of the share, linear between its knots: the chance that the
    suggestion is the label that the image lacks, where it lacks one. That it does, no model can know.
    """

    temperature: Temperature
    shares: Floats
    """The knots, rising, from 0."""
    values: Floats
    """The confidence at each knot, not falling, from 0."""

    def __post_init__(self) -> None:
        if self.shares.ndim != 1 or self.shares.shape != self.values.shape or not len(self.shares):
            raise ModelError("the arrays confidence_shares and confidence_values do not fit together")

    def log_totals(self, scores: Floats, counts: Counts) -> Floats:
        """For every row of ``scores``: the logarithm of its sum of e^(score / temperature).

        The row has all labels, with -inf for the ``counts`` labels that the image is known to have. What is left out
        for another reason, such as a list of labels to allow, must still be in: it takes its share.
        """
        return log_totals(scores, self.temperature.of(counts))

    def confidences(self, scores: Floats, log_totals: Floats, counts: Counts) -> Floats:
        """The probability that each of some labels is right, by its score, and the total and known labels of its image.

        ``log_totals`` and ``counts`` must have a shape that goes with ``scores``: columns for rows of scores, one
        number for each of single ones. A score of -inf has no chance.
        """
        shares = shares_of(scores, log_totals, self.temperature.of(counts))
        return np.interp(shares, self.shares, self.values).astype(np.float32)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, as they are saved."""
        return {
            "confidence_shares": self.shares,
            "confidence_temperature": np.array(self.temperature, np.float32),
            "confidence_values": self.values,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Calibration | None:
        """From arrays by name, as `arrays` gives them; None where there are none of a calibration."""
        if "confidence_shares" not in arrays:
            return None
        try:
            base, exponent = arrays["confidence_temperature"].tolist()
            return cls(Temperature(base, exponent), arrays["confidence_shares"], arrays["confidence_values"])
        except KeyError as error:
            raise ModelError(f"the array {error} is missing beside confidence_shares") from error
