"""EASE where labels far outnumber images: the same scores through a matrix of images instead of labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.core.baseline_tuning import EASE_GRID
from benchmarks.peers.base import Fitted, Settings, Trained, ones_matrix, settings_grid
from benchmarks.rivals.base import Rival
from vse_ens.data.annotations import Annotations

# EASE inverts a matrix of labels; where there are this many times more of them than images, it is fitted through the
# matrix of images.
_WIDE = 4


def suited(rival: Rival, data: Annotations) -> Rival:
    """Return the rival, or for EASE on data with far more labels than images the same method in this form."""
    wide = len(data.labels) > _WIDE * len(data.images)
    return DualEase() if rival.name == DualEase.name and wide else rival


class DualEase(Rival):
    """EASE for images that it was fitted to.

    With P = (X'X + lambda)^-1 and M = (X X' + lambda)^-1: X P = M X and P_jj = (1 - x_j' M x_j) / lambda, so that the
    scores X B are X - M X diag(1 / P_jj).
    """

    name = "EASE"
    module = "scipy"
    install = "vse-ens"
    grid = settings_grid(regularization=EASE_GRID)
    epochs = 1
    deterministic = True

    def load(self, data: Annotations) -> Any:
        """Return a matrix of ones, images by labels."""
        return ones_matrix(data)

    def train(self, data: Any, settings: Settings, epochs: Sequence[int], seed: int) -> Iterator[Trained]:
        """Invert the matrix of images."""
        del epochs, seed
        strength = settings["regularization"]
        gram = (data @ data.T).toarray().astype(np.float64)
        gram[np.diag_indices_from(gram)] += strength
        inverse = np.linalg.inv(gram)
        # The rows of the product that a label's own images select, summed: x_j' M x_j.
        own = np.asarray(data.multiply(inverse @ data).sum(axis=0)).ravel()
        scale = strength / (1.0 - own)

        def scores(images: NDArray[np.int64]) -> NDArray[np.float32]:
            return np.asarray(data[images].toarray() - (inverse[images] @ data) * scale, np.float32)

        yield 1, Fitted(scores, inverse.nbytes + scale.nbytes)
