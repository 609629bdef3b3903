"""The law of the number of labels per image, and what follows from it for one more label.

Let N be the labels of a random image, R a set of r labels, and a another label. Remove a random label from a random
image: the hit q(a | R) of a model is the probability that the removed label was a, if R is left. So

    P(N = R + a) / (r + 1) = q(a | R) P(R is left),    P(R is left) = sum over b of P(N = R + b) / (r + 1).

Given all labels but a, an image is either R or R + a, and the odds of a are P(N = R + a) / P(N = R) = q(a | R) M(R)
with M(R) = (r + 1) P(R is left) / P(N = R). M(R) is approximated by its mean over all R of size r, which follows from
the numbers of labels per image: M(r) = (r + 1) P(|N| = r + 1) / P(|N| = r). To smooth it, a law is fitted to these
numbers by their mean m and variance v. M is linear for a negative binomial law (v > m) and for a binomial law (v < m),
and constant for a Poisson law (v = m): M(r) = m m / v + (1 - m / v) r.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

# A law cannot be fitted to numbers of labels that are nearly equal: the ratio m / v is at most this,
_MAX_RATIO = 2.0
# and M is never smaller than this share of the mean.
_MIN_SHARE = 0.1


@dataclass(frozen=True)
class LabelCountLaw:
    """The mean and the variance of the number of labels per image."""

    mean: float
    variance: float

    @classmethod
    def of(cls, counts: NDArray[np.integer]) -> LabelCountLaw:
        """Return the law of the given numbers of labels per image."""
        return cls(float(counts.mean()), float(counts.var())) if len(counts) else cls(0.0, 0.0)

    def ways_on(self, counts: NDArray[np.integer]) -> Doubles:
        """Return M(r) for images of which r labels are known."""
        ratio = min(self.mean / self.variance, _MAX_RATIO) if self.variance > 0 else _MAX_RATIO
        return np.asarray(np.maximum(self.mean * ratio + (1.0 - ratio) * counts, _MIN_SHARE * self.mean))
