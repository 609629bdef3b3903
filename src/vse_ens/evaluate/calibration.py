"""From scores to the probability that a suggestion is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.errors import ModelError
from vse_ens.model.embeddings import Floats


def log_totals(scores: Floats, temperature: float) -> Floats:
    """The logarithm of the sum of e^(score / temperature) over each row; -inf where all scores are."""
    highest: Floats = scores.max(axis=1, keepdims=True)
    # Without a candidate, -inf - -inf would be no number.
    np.maximum(highest, np.finfo(np.float32).min, out=highest)
    powers = scores - highest
    powers /= np.float32(temperature)
    np.exp(powers, out=powers)
    with np.errstate(divide="ignore"):
        totals: Floats = np.log(powers.sum(axis=1)) + highest[:, 0] / np.float32(temperature)
    return totals


def shares_of(scores: Floats, totals: Floats, temperature: float) -> Floats:
    """e^(score / temperature) over the total of the image, whose logarithm is given; 0 for a score of -inf."""
    powers = scores / np.float32(temperature)
    powers -= np.where(np.isneginf(totals), np.float32(0), totals)
    shares: Floats = np.exp(np.minimum(powers, 0, out=powers), out=powers)
    return shares


@dataclass(frozen=True, eq=False)
class Calibration:
    """How often suggestions of a score were right, on labels that were held out of training.

    A suggestion's share of its image is e^(score / temperature), divided by the sum of it over all labels the image is
    not known to have. The confidence is a rising function of the share, linear between its knots: the part of the
    suggestions with such a share that were the label held out. Labels that the data lack besides it counted as wrong,
    so that it errs on the side of caution.
    """

    temperature: float
    shares: Floats
    """The knots, rising, from 0."""
    values: Floats
    """The confidence at each knot, not falling, from 0; above the last knot it stays what it is there."""

    def __post_init__(self) -> None:
        if self.shares.ndim != 1 or self.shares.shape != self.values.shape or not len(self.shares):
            raise ModelError("the arrays confidence_shares and confidence_values do not fit together")

    def log_totals(self, scores: Floats) -> Floats:
        """For every row of ``scores``: the logarithm of its sum of e^(score / temperature).

        The row has all labels, with -inf where the image is known to have them. What is left out for another reason,
        such as a list of labels to allow, must still be in: it takes its share.
        """
        return log_totals(scores, self.temperature)

    def confidences(self, scores: Floats, log_totals: Floats) -> Floats:
        """The probability that each of some labels is right, by its score and the total of its image.

        ``log_totals`` must have a shape that goes with ``scores``: a column for rows of scores, one number for each
        of single ones. A score of -inf has no chance.
        """
        shares = shares_of(scores, log_totals, self.temperature)
        return np.interp(shares, self.shares, self.values).astype(np.float32)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, as they are saved."""
        return {
            "confidence_shares": self.shares,
            "confidence_temperature": np.array([self.temperature], np.float32),
            "confidence_values": self.values,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Calibration | None:
        """From arrays by name, as `arrays` gives them; None where there are none of a calibration."""
        if "confidence_shares" not in arrays:
            return None
        try:
            temperature = float(arrays["confidence_temperature"][0])
            return cls(temperature, arrays["confidence_shares"], arrays["confidence_values"])
        except KeyError as error:
            raise ModelError(f"the array {error} is missing beside confidence_shares") from error
