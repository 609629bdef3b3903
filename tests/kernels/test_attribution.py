"""What labels and combinations add to a score, against the context that they make up."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.attribution import PairContributions, context_contributions
from vse_ens.kernels.context import context_vectors
from vse_ens.model.embeddings import label_pair_table

LABELS, DIMENSIONS = 24, 5
ROWS = [[0, 2, 5], [], [7], list(range(LABELS)), [1, 23]]


@pytest.mark.parametrize("density", [0.0, 0.4, 1.0])
def test_shares_make_up_the_context(density: float) -> None:
    numbers = np.random.default_rng(3)
    every = np.array(list(combinations(range(LABELS), 2)), np.int32)
    chosen = numbers.permutation(every)[: round(density * len(every))]
    known = label_pair_table(chosen, LABELS)
    inputs = numbers.normal(size=(LABELS + len(chosen), DIMENSIONS)).astype(np.float32)
    vectors = numbers.normal(size=(LABELS, DIMENSIONS)).astype(np.float32)
    indptr = np.cumsum([0, *map(len, ROWS)])
    pairs = Csr(indptr, np.array([label for row in ROWS for label in row], np.int32))
    wanted = np.array([3, 4, 7, 0, 2])
    shares, combined = np.zeros(indptr[-1]), PairContributions.allocate(pairs, known)
    context_contributions(pairs, wanted, vectors, inputs, known, shares, combined)

    context = np.zeros((len(ROWS), DIMENSIONS), np.float32)
    context_vectors(pairs, inputs, known, context)
    listed = {tuple(pair): number for number, pair in enumerate(chosen.tolist())}
    for row, positives in enumerate(ROWS):
        by_label = shares[indptr[row] : indptr[row + 1]]
        entries = slice(combined.starts[row], combined.starts[row] + combined.counts[row])
        assert by_label.sum() + combined.values[entries].sum() == pytest.approx(
            float(context[row] @ vectors[wanted[row]]), rel=1e-4, abs=1e-4
        )
        expected = [inputs[label] @ vectors[wanted[row]] / np.sqrt(len(positives)) for label in positives]
        np.testing.assert_allclose(by_label, expected, rtol=1e-4, atol=1e-5)
        # Of an image with many labels no more combinations are used than there is room for.
        assert entries.stop <= combined.starts[row + 1]
        for (one, other), share in zip(combined.positions[entries], combined.values[entries], strict=True):
            own = inputs[LABELS + listed[positives[one], positives[other]]]
            assert share == pytest.approx(
                own @ vectors[wanted[row]] / np.sqrt(combined.counts[row]), rel=1e-4, abs=1e-5
            )
