"""The probability that an image has a label, given its other labels: for every label, known or not.

Let N be the labels of a random image, R a set of r labels, and a another label. Remove a random label from a random
image: the model's confidence q(a | R) is the probability that the removed label was a, if R is left. So

    P(N = R + a) / (r + 1) = q(a | R) P(R is left),    P(R is left) = sum over b of P(N = R + b) / (r + 1).

Given all labels but a, an image is either R or R + a, and the odds of a are P(N = R + a) / P(N = R) = q(a | R) M(R)
with M(R) = (r + 1) P(R is left) / P(N = R). M(R) is approximated by its mean over all R of size r, which follows from
the numbers of labels per image: M(r) = (r + 1) P(|N| = r + 1) / P(|N| = r). To smooth it, a law is fitted to these
numbers by their mean m and variance v. M is linear for a negative binomial law (v > m) and for a binomial law (v < m),
and constant for a Poisson law (v = m): M(r) = m m / v + (1 - m / v) r.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.csr import take_rows
from vse_ens.kernels.arrays import Csr
from vse_ens.model.blas import one_thread
from vse_ens.model.calibration import Calibration, Temperature
from vse_ens.model.embeddings import Floats
from vse_ens.model.loaded import LoadedModel
from vse_ens.model.products import stable_products
from vse_ens.model.topk import row_blocks

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


class Marginals:
    """Computes probabilities of all labels by a model, for images given by their labels."""

    def __init__(self, loaded: LoadedModel, law: LabelCountLaw, vectors_of: Callable[[Csr], Floats]) -> None:
        self._model = loaded.model
        # Without a calibration, the softmax share itself is the confidence.
        identity = Calibration(Temperature(1.0, 0.0), *np.array([[0.0, 1.0], [0.0, 1.0]], np.float32))
        self._calibration = loaded.calibration or identity
        self._law = law
        self._vectors_of = vectors_of

    def probabilities(self, rows: Csr) -> Floats:
        """Return one row per image with the probability of every label, each without knowing that label."""
        found = self._given(rows)
        images = np.repeat(np.arange(len(found)), np.diff(rows.indptr))
        for block in row_blocks(len(rows.indices), found.shape[1]):
            pairs = np.arange(block.start, block.stop)
            one, label = images[block], rows.indices[block]
            with_it = take_rows(*rows, one)
            place = with_it.indptr[:-1] + pairs - rows.indptr[one]
            others = Csr(with_it.indptr - np.arange(len(with_it.indptr)), np.delete(with_it.indices, place))
            found[one, label] = self._given(others)[np.arange(len(pairs)), label]
        return found

    def _given(self, rows: Csr) -> Floats:
        """Return the probabilities of the labels that an image is not known to have; 0 for the others."""
        counts = np.diff(rows.indptr)
        with one_thread():
            scores = stable_products(self._vectors_of(rows), self._model.embeddings.label_vectors)
        scores += self._model.embeddings.label_bias
        self._model.add_label_weights(*rows, scores)
        scores[np.repeat(np.arange(len(counts)), counts), rows.indices] = -np.inf
        totals = self._calibration.log_totals(scores, counts)
        odds = self._calibration.confidences(scores, totals[:, None], counts[:, None])
        odds *= self._law.ways_on(counts)[:, None].astype(np.float32)
        return np.asarray(odds / (1.0 + odds))
