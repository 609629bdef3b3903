"""Small models of every tower, with random numbers in them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tests.support.kernel_problems import annotations
from vse_ens.data.annotations import Annotations
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.model import Model
from vse_ens.model.weights import LabelWeights

LABELS, DIMENSIONS, IMAGES = 12, 6, 40
_numbers = np.random.default_rng(4)


def normal(*shape: int) -> Floats:
    return _numbers.normal(size=shape).astype(np.float32)


def some_images() -> Annotations:
    """Images with no label, one, many, and all."""
    rows = [sorted(_numbers.choice(LABELS, size, replace=False).tolist()) for size in _numbers.integers(1, 9, IMAGES)]
    rows[3], rows[5], rows[7] = [], [4], list(range(LABELS))
    return annotations(rows, LABELS)


KNOWN = some_images()
_PAIRS = np.array(list(combinations(range(LABELS), 2)), np.int32)
_COMMON: NDArray[np.int32] = _numbers.permutation(_PAIRS)[:30]
_NOTHING = np.empty((0, DIMENSIONS), np.float32)
_CONTEXT = {
    "input_vectors": normal(LABELS + len(_COMMON), DIMENSIONS),
    "label_pairs": _COMMON,
    "label_squares": (1 + _numbers.random(LABELS)).astype(np.float32),
    "input_squares": (1 + _numbers.random(LABELS + len(_COMMON))).astype(np.float32),
}
_OWN = normal(LABELS, DIMENSIONS), normal(LABELS)
_dense = normal(LABELS, LABELS)
np.fill_diagonal(_dense, 0.0)
DENSE = LabelWeights(_dense)
_kept = np.abs(_dense) > 0.8
SPARSE = LabelWeights(
    _dense[_kept], np.concatenate([[0], np.cumsum(_kept.sum(axis=1))]), np.nonzero(_kept)[1].astype(np.int32)
)

MODELS = {
    "context": Model(Embeddings(*_OWN, _NOTHING, _NOTHING, **_CONTEXT)),
    "context with weights": Model(Embeddings(*_OWN, _NOTHING, _NOTHING, **_CONTEXT), DENSE, 3.0),
    "context with sparse weights": Model(Embeddings(*_OWN, _NOTHING, _NOTHING, **_CONTEXT), SPARSE, 3.0),
    "context+id with weights": Model(Embeddings(*_OWN, normal(IMAGES, DIMENSIONS), _NOTHING, **_CONTEXT), DENSE, 2.0),
    # As a model is kept: the mapped features are in the image vectors.
    "context+features with weights": Model(
        Embeddings(*_OWN, normal(IMAGES, DIMENSIONS), normal(5, DIMENSIONS), **_CONTEXT), DENSE, 2.0
    ),
    "id": Model(Embeddings(*_OWN, normal(IMAGES, DIMENSIONS), _NOTHING)),
    "id with weights": Model(Embeddings(*_OWN, normal(IMAGES, DIMENSIONS), _NOTHING), DENSE, 2.0),
}


def without(known: Annotations, place: int) -> Annotations:
    """The same pairs but one."""
    return known.with_pairs(np.arange(known.pairs) != place)
