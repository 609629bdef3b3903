from __future__ import annotations

import numpy as np
import scipy.linalg.lapack  # noqa: F401  # loads the BLAS that is to be limited
from threadpoolctl import threadpool_limits

from vse_ens.label_weights.closed_form import dense_label_weights

ROOT = np.random.default_rng(0).random((800, 300))
GRAM = ROOT @ ROOT.T


def test_the_caller_s_blas_threads_do_not_change_a_byte() -> None:
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(dense_label_weights(GRAM.copy(), 5.0).tobytes())
    assert found[0] == found[1]
