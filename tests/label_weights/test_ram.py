"""The RAM of learning label weights."""

from __future__ import annotations

import tracemalloc

import numpy as np

from vse_ens.label_weights import closed_form


def test_the_matrix_is_freed_once_it_is_copied() -> None:
    labels = 600
    tracemalloc.start()
    closed_form.dense_label_weights(np.eye(labels), 10.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.1e9 * closed_form.ram_needed(labels)
