from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from vse_ens.errors import DataError
from vse_ens.service.errors import ApiError
from vse_ens.service.jobs import BackgroundJob, InProgress, Progress


def until(condition: Callable[[], bool]) -> None:
    for _ in range(30_000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never came to that")


def test_the_first_poll_starts_the_job_and_others_see_progress() -> None:
    gate, begun = threading.Event(), []

    def make(progress: Progress) -> str:
        begun.append(1)
        progress(0.5)
        gate.wait(300)
        return "made"

    work = BackgroundJob("work", make)
    assert begun == []
    until(lambda: work.poll() == InProgress(0.5))
    gate.set()
    until(lambda: work.poll() == "made")
    assert begun == [1]


def test_a_failure_reaches_every_poll(caplog: pytest.LogCaptureFixture) -> None:
    def refuse(_: Progress) -> None:
        raise DataError("the data are damaged")

    def fail(_: Progress) -> None:
        raise ZeroDivisionError("inside")

    def polled(work: BackgroundJob[None]) -> ApiError | None:
        try:
            work.poll()
        except ApiError as refusal:
            return refusal
        return None

    damaged, broken = BackgroundJob("work", refuse), BackgroundJob("work", fail)
    until(lambda: polled(damaged) is not None and polled(broken) is not None)
    with pytest.raises(ApiError, match="the work failed: the data are damaged"):
        damaged.poll()
    with pytest.raises(ApiError, match="see the log of the service"):
        broken.poll()
    assert "ZeroDivisionError" in caplog.text


def test_work_nobody_waits_for_gives_up() -> None:
    rounds = []

    def make(progress: Progress) -> None:
        while True:
            rounds.append(1)
            progress(0.1)
            time.sleep(0.01)

    work = BackgroundJob("work", make)
    work.poll()
    until(lambda: len(rounds) > 2)
    work.stop()
    until(lambda: not any(thread.name == "work" for thread in threading.enumerate()))
