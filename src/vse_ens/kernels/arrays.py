"""The arguments of kernels: named groups of arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


class Csr(NamedTuple):
    """Pairs in CSR form, such as the labels of every image; the entries of a row are sorted."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]


class SharedTables(NamedTuple):
    """The parameters that all images share: label vectors, label biases and the map from features to vectors."""

    labels: Floats  # |A| x k
    bias: Floats  # |A|
    feature_map: Floats  # features x k; no rows if the tower has no features


class Features(NamedTuple):
    """Image features in CSR form; no rows if the tower has none."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: Floats
    step_scale: Floats
    """Per image, the smaller of 1 / |x_i|^2 and 1 / mean |x|^2: the scale of a step of the feature map."""


class TrainingArrays(NamedTuple):
    """The vectors under training, and the pairs and features that they are trained on."""

    image_vectors: Floats  # images x k; no rows if the tower has no ids
    tables: SharedTables
    features: Features
    pairs: Csr


class Sampling(NamedTuple):
    """The lookup tables of the samplers; arrays that a sampler does not use are empty."""

    rankings: NDArray[np.uint16] | NDArray[np.int32]
    """(k + 1) x |A|: labels by descending value of each factor; the last row is the bias."""
    spread: Floats
    """k + 1: sigma_f of eq. 8, the standard deviation of each factor over all labels."""
    threshold: Floats
    """Alias table of the rank (vse-ens, naive) or label (popularity) distribution: keep a cell if u < threshold."""
    alias: NDArray[np.int32]
    candidates: int
    """The number of labels that `dns` compares, and the most that `warp` tries."""
    max_redraws: int
    """How often a draw is repeated, because the image has the label, before it is given up."""


class Step(NamedTuple):
    """The constants of a training step."""

    learning_rate: np.float32
    regularization: np.float32
    bias_rate: np.float32
    """The learning rate of the label biases; 0 if the model has none."""
    bias_regularization: np.float32
    margin: np.float32
    rank_weight: Floats
    """L(rank) of eq. 2 by rank; for the loss `warp` only."""


_CACHE_LINE = 64


def cache_aligned(length: int, dtype: type[np.generic]) -> NDArray[Any]:
    """Return an array of zeros that shares no cache line with anything else.

    Workers that write to the same cache line slow each other down, even at different addresses (false sharing).
    """
    per_line = _CACHE_LINE // np.dtype(dtype).itemsize
    vector: NDArray[Any] = cache_lines(-(-length // per_line), dtype).reshape(-1)[:length]
    return vector


def cache_lines(rows: int, dtype: type[np.generic]) -> NDArray[Any]:
    """Return a table of zeros with one cache line per row, for arrays that different workers write to."""
    return aligned_table(rows, _CACHE_LINE // np.dtype(dtype).itemsize, dtype)


def aligned_table(rows: int, length: int, dtype: type[np.generic] = np.float32) -> NDArray[Any]:
    """Return a contiguous table of zeros that starts with a cache line.

    Elsewhere a row of 512 bytes reaches into nine cache lines instead of eight, and a prefetch of eight misses one.
    """
    size = rows * length * np.dtype(dtype).itemsize
    buffer = np.zeros(size + _CACHE_LINE, np.uint8)
    start = -buffer.ctypes.data % _CACHE_LINE
    table: NDArray[Any] = buffer[start : start + size].view(dtype).reshape(rows, length)
    return table


# The indices of the array of counts that kernels fill, which is a cache line.
DRAWS, VIOLATIONS, TRIES, REJECTED, GIVEN_UP = range(5)
COUNTS = 5
