from __future__ import annotations

import threading

import numpy as np  # noqa: F401  # only a BLAS that is loaded can be held to one thread
from threadpoolctl import threadpool_info, threadpool_limits

from vse_ens.model.blas import one_thread


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


def test_whoever_has_it_may_take_it_again() -> None:
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with one_thread():
            with one_thread():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == before


def test_a_library_that_is_loaded_later_is_held_too() -> None:
    with one_thread():
        pass
    import scipy.linalg  # noqa: F401

    with one_thread():
        assert blas_threads() == {1}


def test_one_at_a_time_has_the_library_and_gives_it_back() -> None:
    before, came_in = blas_threads(), threading.Event()

    def look() -> None:
        with one_thread():
            came_in.set()

    other = threading.Thread(target=look)
    with one_thread():
        other.start()
        assert blas_threads() == {1}
        assert not came_in.wait(0.05)
    other.join()
    assert came_in.is_set()
    assert blas_threads() == before
