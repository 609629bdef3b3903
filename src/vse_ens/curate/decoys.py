"""Labels drawn at random, and how known ones are told from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.rows import Rows

Doubles = NDArray[np.float64]

# Of the regression: enough to keep it finite where the two can be told apart without a fault.
_RIDGE = 1e-2
_NEWTON_STEPS = 25


def random_absent(owned: Rows, labels: int, draws: Doubles) -> NDArray[np.int64]:
    """A label that is not in the row, for each row; label 0 where all are."""
    sizes = np.diff(owned.indptr)
    chosen = np.minimum((draws * (labels - sizes)).astype(np.int64), np.maximum(labels - sizes - 1, 0))
    # Of the j-th label of a row as many absent ones lie below as its number is above j.
    rows = np.repeat(np.arange(len(sizes)), sizes)
    below = owned.indices - (np.arange(len(rows)) - np.repeat(owned.indptr[:-1], sizes))
    found = chosen + np.bincount(rows[below <= chosen[rows]], minlength=len(sizes))
    return np.where(sizes < labels, found, 0)


def tell_apart(known: Doubles, decoys: Doubles, has_decoy: NDArray[np.bool_]) -> Doubles:
    """Weights of a logistic regression, the constant last: how much more a look is like known labels than decoys."""
    if not has_decoy.any():
        return np.zeros(3)
    looks = np.concatenate([known[has_decoy], decoys[has_decoy]])
    truth = np.repeat([1.0, 0.0], has_decoy.sum())
    centre, spread = looks.mean(axis=0), looks.std(axis=0) + 1e-9
    inputs = np.column_stack([(looks - centre) / spread, np.ones(len(looks))])
    weights = np.zeros(3)
    for _ in range(_NEWTON_STEPS):
        expected = 1.0 / (1.0 + np.exp(-np.clip(inputs @ weights, -30.0, 30.0)))
        slope = inputs.T @ (truth - expected) - _RIDGE * weights
        curvature = (inputs * (expected * (1.0 - expected))[:, None]).T @ inputs + _RIDGE * np.eye(3)
        weights += np.linalg.solve(curvature, slope)
    scaled = weights[:2] / spread
    return np.array([*scaled, weights[2] - scaled @ centre])
