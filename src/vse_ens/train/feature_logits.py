"""One logistic regression per label from features, each half of the images fitted apart, so that it predicts the other.

The loss is L = mean of log(1 + e^z) - y z over images, summed over labels, plus alpha / 2 |W|^2, in the space of the
eigenvectors of the features with the largest eigenvalues, each scaled by (its variance + alpha)^-1/2: there a few steps
of L-BFGS suffice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.model.blas import one_thread
from vse_ens.model.embeddings import Floats

FOLDS = 2
RANK = 400
_STEPS = 16
# Alpha, relative to the mean squared length of the centered features.
_ALPHA = 3e-5


def fit_logits(rotated: Floats, values: NDArray[np.float64], labels: Any) -> tuple[Floats, Floats]:
    """Return weights, eigenvectors x labels, and biases, from ``rotated`` features and a SciPy matrix of labels.

    ``values`` are the sums of squares of the columns in all images of the fit.
    """
    from scipy.optimize import minimize

    count, width = rotated.shape
    targets = labels.toarray().astype(np.float32)
    variances = values / max(1, count)
    alpha = _ALPHA * max(float(variances.sum()), 1e-12)
    scales = (1.0 / np.sqrt(variances + alpha)).astype(np.float32)
    inputs = np.ascontiguousarray(rotated * scales)
    penalty = (alpha * np.square(scales))[:, None].astype(np.float32)
    shares = np.clip(targets.mean(axis=0), 0.5 / count, 1 - 0.5 / count)
    start = np.log(shares / (1 - shares)).astype(np.float32)

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        found = flat.reshape(width + 1, -1).astype(np.float32)
        logits = inputs @ found[:-1]
        logits += found[-1] + start
        np.clip(logits, -30, 30, out=logits)
        powers = np.exp(logits)
        value = float(np.log1p(powers).sum(dtype=np.float64) - (targets * logits).sum(dtype=np.float64)) / count
        value += 0.5 * float((penalty * np.square(found[:-1])).sum(dtype=np.float64))
        powers /= 1 + powers
        powers -= targets
        slope = np.empty_like(found)
        slope[:-1] = inputs.T @ powers / np.float32(count) + penalty * found[:-1]
        slope[-1] = powers.mean(axis=0)
        return value, slope.ravel().astype(np.float64)

    with one_thread():
        size = (width + 1) * targets.shape[1]
        best = minimize(loss, np.zeros(size), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS, "maxcor": 5}).x
    found = best.reshape(width + 1, -1).astype(np.float32)
    return found[:-1] * scales[:, None], found[-1] + start
