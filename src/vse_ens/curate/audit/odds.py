"""Probabilities that labels are wrong: by their statistics, and by which label is taken for which.

An annotator who makes a mistake chooses a label that is used like the right one. Two labels are used alike if they have
the same companions, the other labels of their images: by the cosine of the numbers of images that they share with each
label. The more alike, the more often one is taken for the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from vse_ens.data.annotations import Annotations
from vse_ens.model.blas import one_thread
from vse_ens.model.embeddings import Floats

Doubles = NDArray[np.float64]

# The share of wrong labels by which the labels of an image compete; a constant, so that the order of findings does not
# depend on the expected share. Chosen on errors planted in Corel5k and IAPR-TC12: a larger share finds more labels that
# similar images exchanged, and fewer random ones.
_COMPETING = 0.1
# L2 penalty of the regression: keeps it finite if known labels and controls can be separated.
_PENALTY = 1e-2
_NEWTON_STEPS = 25
_BISECTIONS = 40

MAX_LABELS = 4_000
"""With more labels, the matrix and its ranks take too much time and RAM: both grow with the square."""
CANDIDATES = 30
"""The label that is taken for another is the one most like it among this many random labels."""


@one_thread()
def fit_logistic_regression(known: Doubles, control: Doubles, has_control: NDArray[np.bool_]) -> Doubles:
    """Return the weights of the statistics and the intercept for the log odds of known label against control."""
    columns = known.shape[1]
    if not has_control.any():
        return np.zeros(columns + 1)
    samples = np.concatenate([known[has_control], control[has_control]])
    targets = np.repeat([1.0, 0.0], has_control.sum())
    mean, deviation = samples.mean(axis=0), samples.std(axis=0) + 1e-9
    inputs = np.column_stack([(samples - mean) / deviation, np.ones(len(samples))])
    weights = np.zeros(columns + 1)
    for _ in range(_NEWTON_STEPS):
        predicted = _sigmoid(inputs @ weights)
        gradient = inputs.T @ (targets - predicted) - _PENALTY * weights
        hessian = (inputs * (predicted * (1.0 - predicted))[:, None]).T @ inputs + _PENALTY * np.eye(columns + 1)
        weights += np.linalg.solve(hessian, gradient)
    scaled = weights[:-1] / deviation
    return np.array([*scaled, weights[-1] - scaled @ mean])


def alone(ratios: Doubles) -> Doubles:
    """Return the `doubts` about labels if the other labels of their images are right."""
    return ratios + _log_odds(_COMPETING)


def doubts(ratios: Doubles, images: NDArray[np.int64]) -> Doubles:
    """Return the log odds that a label is the wrong one of its image, if at most one is.

    ``ratios`` are the logs of the likelihood that a label is wrong over that it is right, of all labels of the images.
    By Bayes, "none is wrong", "the first is", "the second is", ... are to each other as 1 and the odds of these labels.
    """
    log_odds = alone(ratios)
    odds = np.exp(log_odds)
    others = np.maximum(np.bincount(images, odds)[images] - odds, 0.0)
    return np.asarray(log_odds - np.log1p(others))


def confidences_of(found: Doubles, sample: Doubles, wrong_share: float) -> Floats:
    """Return probabilities in the order of the doubts ``found``, with a mean of ``wrong_share`` in a ``sample``."""
    return _sigmoid(found + _shift(sample, wrong_share)).astype(np.float32)


def _shift(sample: Doubles, wrong_share: float) -> float:
    """Return what to add to the log odds of a sample so that the mean probability is ``wrong_share``."""
    if not len(sample):
        return 0.0
    low, high = _log_odds(wrong_share) - float(sample.max()), _log_odds(wrong_share) - float(sample.min())
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if _sigmoid(sample + middle).mean() > wrong_share else (middle, high)
    return (low + high) / 2


def _log_odds(probability: float) -> float:
    return float(np.log(probability) - np.log1p(-probability))


def _sigmoid(log_odds: Doubles) -> Doubles:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(log_odds, -80.0, 80.0))))


def mistake_probabilities(known: Annotations) -> Floats:
    """Return P[a, b], the probability that label a is chosen where b, another label, is right."""
    labels = len(known.labels)
    ranks = np.argsort(np.argsort(-_similarities(known), axis=1, kind="stable"), axis=1, kind="stable")
    # The best of m draws has rank r: none is better, and not all are worse.
    better, not_worse = ranks / labels, (ranks + 1) / labels
    found = ((1.0 - better) ** CANDIDATES - (1.0 - not_worse) ** CANDIDATES).astype(np.float32)
    np.fill_diagonal(found, 0.0)
    return np.ascontiguousarray(found.T)


def _similarities(known: Annotations) -> NDArray[np.float64]:
    """Return the cosines of companion counts, and less than any of them for a label and itself."""
    ones = np.ones(known.pairs)
    pairs = csr_matrix((ones, known.indices, known.indptr), shape=(len(known.images), len(known.labels)))
    companions = (pairs.T @ pairs).toarray()
    np.fill_diagonal(companions, 0.0)
    companions /= np.maximum(np.linalg.norm(companions, axis=1, keepdims=True), 1e-9)
    with one_thread():
        similarities = companions @ companions.T
    np.fill_diagonal(similarities, -1.0)
    return np.asarray(similarities)
