from __future__ import annotations

import io

import pytest
from rich.console import Console

from vse_ens.cli import console as console_module
from vse_ens.cli.console import Progress


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(console_module, "time", clock)
    return clock


def work(clock: Clock, console: Console, seconds: int) -> None:
    with Progress(console, "making scenes", seconds * 1_000, "images") as done:
        for second in range(1, seconds + 1):
            clock.now += 1
            done(second * 1_000)


def log() -> Console:
    return Console(file=io.StringIO(), width=80, force_terminal=False)


def test_a_log_gets_a_line_every_ten_seconds(clock: Clock) -> None:
    console = log()
    work(clock, console, 25)
    assert console.file.getvalue().splitlines() == [  # type: ignore[attr-defined]
        "making scenes: 10,000 of 25,000 images, 1,000/s, about 15 s left",
        "making scenes: 20,000 of 25,000 images, 1,000/s, about 5 s left",
    ]


def test_work_under_a_second_says_nothing(clock: Clock) -> None:
    for console in (log(), Console(file=io.StringIO(), force_terminal=True)):
        with Progress(console, "making scenes", 10, "images") as done:
            for count in range(10):
                clock.now += 0.09
                done(count)
        assert console.file.getvalue() == ""  # type: ignore[attr-defined]


def test_a_terminal_gets_a_live_line_with_rate_and_time_left(clock: Clock) -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None)
    work(clock, console, 25)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "making scenes" in shown
    assert "25,000 of 25,000 images, 1,000/s" in shown
    # And it is gone when the work is done.
    assert shown.rstrip("\n").endswith(("\x1b[2K", "\x1b[?25h"))
