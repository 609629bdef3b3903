"""From held-out probabilities to confidences: how likely a label is right, given how many labels the data lack.

The held-out probability of a label is the probability that it is the one that was held out, if one was. It does not
say whether an image lacks a label at all. Let c be the completeness: the share of the labels right for an image
which the data record. If labels are missing at random, the odds of a label in images with r other labels are q M(r), q
being its held-out probability (`LabelCountLaw`), and those of a right label that is not recorded are (1 - c) / c times
that. So an image lacks (1 - c) / c M(r) labels on average, and each of them is a with probability q. Taking their
number as Poisson,

    P(a is right) = 1 - e^(-n),    n = (1 - c) / c M(r) q.

The completeness cannot be known from pairs alone. It is given by the user, or estimated under an assumption. The best
predictor of a label a is the label b with the largest share of images that have a, too. If labels are missing at
random, these shares are c times those of complete data. The assumption is that in complete data their mean is
`COMPLETE_SHARE`, as in generated scenes of which no label was removed, and that at least a tenth of all labels is
missing. It is one number for all labels: how far labels differ in completeness cannot be seen in their pairs.

People's verdicts on suggestions tell more: with enough of them, n is replaced by e^shift n^slope.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError
from vse_ens.model.embeddings import Floats
from vse_ens.streams import Streams

COMPLETE_SHARE = 0.55
"""The mean share of images with the best predictor of a label that have the label, in complete data."""
LOWEST, HIGHEST = 0.1, 0.9
"""Bounds of an estimated completeness."""

# Labels on fewer images have no reliable predictor, and on fewer images no label is a predictor.
_MIN_IMAGES = 20
_MIN_SUPPORT = 10
# A share is its lower bound (Wilson), by this many standard deviations: the best of many is too high by chance.
_DEVIATIONS = 0.5
# Pairs of labels that are counted: of more data, a sample of the images is used.
_MAX_COUNTED = 20_000_000
# Numbers that must be above 0 but have no other lower limit.
SMALLEST = 1e-3
# A law cannot be fitted to numbers of labels that are nearly equal: the ratio m / v is at most this,
_MAX_RATIO = 2.0
# and M is never smaller than this share of the mean.
_MIN_SHARE = 0.1

_MOST_SURE = np.float32(0.9999)

COMPLETENESS_ARRAYS = ("confidence_completeness", "confidence_correction", "confidence_facts")
"""The arrays of a model file; a model of an older version has none of them."""


@dataclass(frozen=True)
class LabelCountLaw:
    """The mean and the variance of the number of labels per image, and what follows from them for one more label.

    Let N be the labels of a random image, R a set of r labels, and a another label. Remove a random label from a random
    image: the held-out probability q(a | R) is the probability that the removed label was a, if R is left. So

        P(N = R + a) / (r + 1) = q(a | R) P(R is left),    P(R is left) = sum over b of P(N = R + b) / (r + 1).

    Given all labels but a, an image is either R or R + a, and the odds of a are P(N = R + a) / P(N = R) = q(a | R) M(R)
    with M(R) = (r + 1) P(R is left) / P(N = R). M(R) is approximated by its mean over all R of size r, which follows
    from the numbers of labels per image: M(r) = (r + 1) P(|N| = r + 1) / P(|N| = r). To smooth it, a law is fitted to
    these numbers by their mean m and variance v. M is linear for a negative binomial law (v > m) and for a binomial law
    (v < m), and constant for a Poisson law (v = m): M(r) = m m / v + (1 - m / v) r.
    """

    mean: float
    variance: float

    @classmethod
    def of(cls, counts: NDArray[np.integer]) -> LabelCountLaw:
        """Return the law of the given numbers of labels per image."""
        return cls(float(counts.mean()), float(counts.var())) if len(counts) else cls(0.0, 0.0)

    def odds_factor(self, counts: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return M(r) for images of which r labels are known."""
        ratio = min(self.mean / self.variance, _MAX_RATIO) if self.variance > 0 else _MAX_RATIO
        return np.asarray(np.maximum(self.mean * ratio + (1.0 - ratio) * counts, _MIN_SHARE * self.mean))


class Correction(NamedTuple):
    """What verdicts change: the expected number n of a label becomes e^shift n^slope."""

    shift: float = 0.0
    slope: float = 1.0
    verdicts: int = 0
    """The number of verdicts it was fitted to."""


UNCORRECTED = Correction()


@dataclass(frozen=True, eq=False)
class Completeness:
    """Turns held-out probabilities into confidences."""

    shares: Floats
    """The share of right labels that are recorded: one number, or one per label."""
    law: LabelCountLaw
    is_given: bool = False
    """Whether the user has given the shares; else they were estimated."""
    correction: Correction = UNCORRECTED

    @classmethod
    def estimated(cls, known: Annotations) -> Completeness:
        """Return the completeness that the pairs suggest."""
        return cls(np.array([estimate_completeness(known)], np.float32), _law(known))

    @classmethod
    def given(cls, completeness: float | Mapping[str, float], known: Annotations) -> Completeness:
        """Return a completeness that the user knows: of all labels, or by label.

        Labels that a mapping does not have get the mean of those it has, weighted by the numbers of images.
        """
        if isinstance(completeness, Mapping):
            shares = _by_label(completeness, known.labels, known.images_per_label)
        else:
            shares = np.array([_checked(completeness, "completeness")], np.float32)
        return cls(shares, _law(known), is_given=True)

    @property
    def mean(self) -> float:
        """The mean of the shares."""
        return float(self.shares.mean())

    def counts(
        self,
        probabilities: Floats,
        known: NDArray[np.integer],
        labels: NDArray[np.integer],
        is_cold: NDArray[np.bool_] | None = None,
    ) -> Floats:
        """Return n of each label, without the correction: how many such labels the image lacks on average.

        ``known`` are the numbers of labels that the images are known to have, ``labels`` the numbers of the labels;
        both must broadcast with the held-out ``probabilities``. Padding labels of -1 must have a probability of 0.
        Images without labels, which ``is_cold`` marks, have the probability that the data record a label: it is right
        as often, or, if the completeness was given, as much more often.
        """
        factors = (self.law.odds_factor(known)).astype(np.float32) * self._missing_ratios(labels)
        counts = np.asarray(probabilities * factors, np.float32)
        if is_cold is None or not is_cold.any():
            return counts
        shares = np.float32(1) if not self.is_given else self.shares if len(self.shares) == 1 else self.shares[labels]
        return np.where(is_cold, -np.log1p(-np.minimum(probabilities / shares, _MOST_SURE)), counts).astype(np.float32)

    def confidences(self, counts: Floats) -> Floats:
        """Return the probability that a label is right, from what `counts` returned."""
        shift, slope, _ = self.correction
        if (shift, slope) != (0.0, 1.0):
            counts = np.exp(np.float32(shift)) * counts ** np.float32(slope)
        return np.asarray(-np.expm1(-counts), np.float32)

    def _missing_ratios(self, labels: NDArray[np.integer]) -> Floats:
        shares = self.shares if len(self.shares) == 1 else self.shares[labels]
        return np.asarray((1 - shares) / shares, np.float32)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save, by name."""
        shift, slope, verdicts = self.correction
        facts = (self.law.mean, self.law.variance, verdicts, self.is_given)
        return {
            "confidence_completeness": self.shares,
            "confidence_correction": np.array([shift, slope], np.float32),
            "confidence_facts": np.array(facts, np.float32),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Completeness | None:
        """Return what `arrays` saved; None for a model that is older than this class."""
        if not all(name in arrays for name in COMPLETENESS_ARRAYS):
            return None
        shift, slope = arrays["confidence_correction"].tolist()
        mean, variance, verdicts, is_given = arrays["confidence_facts"].tolist()
        law, correction = LabelCountLaw(mean, variance), Correction(shift, slope, int(verdicts))
        return cls(arrays["confidence_completeness"], law, bool(is_given), correction)

    def for_labels(self, before: Vocabulary, labels: Vocabulary) -> Completeness:
        """Return the same completeness for a vocabulary that has grown; new labels get the mean."""
        if len(self.shares) == 1:
            return self
        numbers = before.translate(labels)
        shares = np.where(numbers >= 0, self.shares[numbers], np.float32(self.mean))
        return replace(self, shares=shares.astype(np.float32))

    def corrected(self, correction: Correction) -> Completeness:
        """Return the same completeness with another correction, rounded as the model file does."""
        shift, slope = np.array(correction[:2], np.float32).tolist()
        return replace(self, correction=Correction(shift, slope, correction.verdicts))


def estimate_completeness(known: Annotations) -> float:
    """Return the share of right labels that the pairs record, under the assumption above."""
    from scipy import sparse

    sizes = known.labels_per_image.astype(np.int64)
    order = np.argsort(Streams(0).child("completeness").words(len(sizes)), kind="stable")
    taken = np.sort(order[np.cumsum(sizes[order] ** 2) <= _MAX_COUNTED])
    indptr, indices = known.rows(taken)
    shape = (len(taken), len(known.labels))
    pairs = sparse.csr_array((np.ones(len(indices), np.int32), indices, indptr), shape=shape)
    together = (pairs.T @ pairs).tocoo()
    images = np.bincount(indices, minlength=len(known.labels))
    predictor, label, both = together.row, together.col, together.data
    # Two labels that are always given together, such as the words of a name, say nothing about missing ones.
    useful = (predictor != label) & (images[predictor] >= _MIN_SUPPORT) & (both < images[predictor])
    shares = wilson_bound(both[useful], images[predictor[useful]], _DEVIATIONS)
    best = np.zeros(len(known.labels))
    np.maximum.at(best, label[useful], shares)
    weights = np.where(images >= _MIN_IMAGES, images, 0)
    if not weights.sum():
        return HIGHEST
    return float(np.clip(np.average(best, weights=weights) / COMPLETE_SHARE, LOWEST, HIGHEST))


def wilson_bound(successes: NDArray[np.integer], trials: NDArray[np.integer], z: float) -> NDArray[np.float64]:
    """Return the lower confidence bound of a share (Wilson 1927): the lowest share within ``z`` deviations."""
    share = successes / trials
    middle = share + z * z / (2 * trials)
    width = z * np.sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
    return np.asarray((middle - width) / (1 + z * z / trials))


def _law(known: Annotations) -> LabelCountLaw:
    """Return the law of the numbers of labels per image, rounded as the model file does."""
    law = LabelCountLaw.of(known.labels_per_image)
    return LabelCountLaw(*np.array([law.mean, law.variance], np.float32).tolist())


def _by_label(given: Mapping[str, float], labels: Vocabulary, images: NDArray[np.integer]) -> Floats:
    numbers = labels.numbers(list(given))
    if not len(numbers):
        raise ConfigError("completeness has no labels; give a number, or at least one label")
    values = np.array([_checked(value, f"the completeness of {name!r}") for name, value in given.items()])
    shares = np.full(len(labels), np.average(values, weights=np.maximum(images[numbers], 1)), np.float32)
    shares[numbers] = values
    return shares


def _checked(value: float, what: str) -> float:
    if not 0.0 < value <= 1.0:
        raise ConfigError(f"{what} must be above 0 and at most 1, got {value}")
    return max(float(value), SMALLEST)
