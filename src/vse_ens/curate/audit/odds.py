"""From statistics of labels to probabilities that they are wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
