"""Ctrl-C once is a wish, twice is an order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from vse_ens.run.interrupt import Interrupt


def press() -> None:
    """Handled before it returns: a signal to the whole process could arrive in another thread, and later."""
    signal.raise_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def _usual_handler() -> Iterator[None]:
    """Python's own handler, which is not there where the tests are a shell's background job: those ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_the_first_only_asks() -> None:
    with Interrupt() as interrupt:
        assert not interrupt.requested
        press()
        assert interrupt.requested
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_second_interrupts() -> None:
    with Interrupt() as interrupt:
        press()
        with pytest.raises(KeyboardInterrupt):
            press()
    assert interrupt.requested


def test_the_usual_handler_is_back_after_an_error() -> None:
    with pytest.raises(ValueError, match="in the block"), Interrupt():
        raise ValueError("in the block")
    with pytest.raises(KeyboardInterrupt):
        press()


def test_outside_the_main_thread_nothing_changes() -> None:
    handlers = []

    def work() -> None:
        with Interrupt() as interrupt:
            handlers.append(signal.getsignal(signal.SIGINT))
        assert not interrupt.requested

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]
