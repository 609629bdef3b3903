from __future__ import annotations

import numpy as np  # noqa: F401  # only a BLAS that is loaded can be held to one thread
from threadpoolctl import threadpool_info, threadpool_limits

from vse_ens.run.blas import one_thread


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_inside_it_is_one_thread_and_afterwards_what_the_caller_had() -> None:
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with one_thread():
            assert blas_threads() == {1}
        assert blas_threads() == before


def test_an_error_inside_gives_the_threads_back() -> None:
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        try:
            with one_thread():
                raise ArithmeticError
        except ArithmeticError:
            pass
        assert blas_threads() == before
