"""Small pairs for the tests of this folder."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary

Matrix = NDArray[np.bool_]

# Images by labels; images without labels and labels without images included.
matrices: st.SearchStrategy[Matrix] = st.tuples(st.integers(1, 12), st.integers(1, 8)).flatmap(
    lambda shape: arrays(np.bool_, shape)
)


def annotations(matrix: Matrix) -> Annotations:
    """The pairs of a dense matrix, images by labels."""
    height, width = matrix.shape
    images = Vocabulary.from_ids((f"i{number:03d}" for number in range(height)), "image")
    labels = Vocabulary.from_ids((f"l{number:03d}" for number in range(width)), "label")
    return Annotations.from_numbers(images, labels, *np.nonzero(matrix))


def everything(data: Annotations) -> NDArray[np.int64]:
    """The numbers of all images."""
    return np.arange(len(data.images))
