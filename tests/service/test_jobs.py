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


def test_the_first_look_begins_the_work_and_others_see_how_far_it_is() -> None:
    gate, begun = threading.Event(), []

    def make(tell: Progress) -> str:
        begun.append(1)
        tell(0.5)
        gate.wait(300)
        return "made"

    work = BackgroundJob("work", make)
    assert begun == []
    until(lambda: work.poll() == InProgress(0.5))
    gate.set()
    until(lambda: work.poll() == "made")
    assert begun == [1]


def test_what_went_wrong_is_told_to_all_who_look(caplog: pytest.LogCaptureFixture) -> None:
    def refuse(_: Progress) -> None:
        raise DataError("the data are damaged")

    def fail(_: Progress) -> None:
        raise ZeroDivisionError("inside")

    def looked(work: BackgroundJob[None]) -> ApiError | None:
        try:
            work.poll()
        except ApiError as refusal:
            return refusal
        return None

    damaged, broken = BackgroundJob("work", refuse), BackgroundJob("work", fail)
    until(lambda: looked(damaged) is not None and looked(broken) is not None)
    with pytest.raises(ApiError, match="the work could not be made: the data are damaged"):
        damaged.poll()
    with pytest.raises(ApiError, match="its log says how"):
        broken.poll()
    assert "ZeroDivisionError" in caplog.text


def test_work_nobody_waits_for_gives_up() -> None:
    rounds = []

    def make(tell: Progress) -> None:
        while True:
            rounds.append(1)
            tell(0.1)
            time.sleep(0.01)

    work = BackgroundJob("work", make)
    work.poll()
    until(lambda: len(rounds) > 2)
    work.stop()
    until(lambda: not any(thread.name == "work" for thread in threading.enumerate()))
