"""What kernels are handed: named groups of arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


class Csr(NamedTuple):
    """The known pairs in CSR form; the labels of an image are sorted."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]


class SharedTables(NamedTuple):
    """The tables that all images train: label vectors, label biases, and the map from features to vectors."""

    labels: Floats  # |A| x k
    bias: Floats  # |A|
    feature_map: Floats  # features x k; no rows where the tower has no features


class Features(NamedTuple):
    """Image features in CSR form; no rows where the tower has none."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: Floats
    step_scale: Floats
    """1 / |x_i|^2 of every image, or 1 / the mean of |x|^2 where that is less: what scales a step of the map."""


class Sampling(NamedTuple):
    """What the samplers look things up in; arrays a sampler does not use have no entries."""

    rankings: NDArray[np.uint16] | NDArray[np.int32]
    """(k + 1) x |A|: labels by falling value of each factor; the last row is the bias."""
    spread: Floats
    """k + 1: sigma_f, the standard deviation of each factor over labels."""
    threshold: Floats
    """Alias table of the rank (vse-ens, naive) or label (popularity) distribution: keep the cell when u < threshold."""
    alias: NDArray[np.int32]
    candidates: int
    """How many labels `dns` compares, at most how many `warp` tries."""
    max_redraws: int
    """How often a label the image has is drawn again before the draw is given up."""


class Step(NamedTuple):
    """The numbers of one training step."""

    learning_rate: np.float32
    regularization: np.float32
    bias_rate: np.float32
    """The learning rate of label biases: 0 where the model has none."""
    bias_regularization: np.float32
    margin: np.float32
    rank_weight: Floats
    """`warp` only: L(rank) at index rank."""


_CACHE_LINE = 64


def cache_aligned(rows: int, length: int, dtype: type[np.generic]) -> NDArray[Any]:
    """``rows`` arrays of ``length`` that share no cache line with each other or anything else.

    Two workers that write to one line, each to numbers of its own, wait for each other all the same.
    """
    width = -(-length * np.dtype(dtype).itemsize // _CACHE_LINE) * _CACHE_LINE
    memory = np.zeros((rows + 1) * width + _CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % _CACHE_LINE
    table: NDArray[Any] = memory[start : start + rows * width].view(dtype).reshape(rows, -1)
    return table[:, :length]


# What kernels count, and where in the array of counts.
DRAWS, VIOLATIONS, TRIES, REJECTED, GIVEN_UP = range(5)
COUNTS = 5
