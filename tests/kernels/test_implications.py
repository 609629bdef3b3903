"""The kernel of implications continues where its buffer ended."""

from __future__ import annotations

import numpy as np
import pytest

from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.partition.store import transpose
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.implications import collect_frequent_partners


@pytest.mark.parametrize("capacity", [40, 64, 100_000])
def test_pairs_do_not_depend_on_the_size_of_the_buffer(capacity: int) -> None:
    data = scenes(300, 60, seed=1)
    labels = len(data.labels)
    by_image = Csr(data.indptr, data.indices)
    by_label = transpose(by_image, labels)
    minimum = np.full(labels, 4, np.int64)
    minimum[3] = 10**9
    pairs, counts = np.empty((capacity, 2), np.int32), np.empty(capacity, np.int32)
    found = {}
    label = 0
    while label < labels:
        rows, reached = collect_frequent_partners(by_image, by_label, minimum, label, labels, pairs, counts)
        assert reached > label
        found |= {(a, b): n for (a, b), n in zip(pairs[:rows].tolist(), counts[:rows].tolist(), strict=True)}
        label = reached
    dense = np.zeros((len(data.images), labels), int)
    dense[data.image_numbers(), data.indices] = 1
    together = dense.T @ dense
    expected = {
        (a, b): together[a, b] for a in range(labels) for b in range(labels) if a not in (b, 3) and together[a, b] >= 4
    }
    assert found == expected
