"""Which label is taken for which: an annotator who makes a mistake chooses a label that is used like the right one.

Two labels are used alike if they have the same companions, the other labels of their images: by the cosine of the
numbers of images that they share with each label. The more alike, the more often one is taken for the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from vse_ens.data.annotations import Annotations
from vse_ens.model.blas import one_thread
from vse_ens.model.embeddings import Floats

MAX_LABELS = 4_000
"""With more labels, the matrix and its ranks take too much time and RAM: both grow with the square."""

CANDIDATES = 30
"""The label that is taken for another is the one most like it among this many random labels."""


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
