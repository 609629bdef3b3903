"""The line that shows how training goes, in either part of it."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from vse_ens.cli import train_progress
from vse_ens.cli.train_progress import TrainingProgress
from vse_ens.config import METRICS
from vse_ens.run.pool import WorkerTiming
from vse_ens.train.engines.base import RoundStats
from vse_ens.train.progress import EpochReport, Progress


class Clock:
    """Time that passes on request."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(train_progress, "time", made)
    return made


def step(epoch: int, epochs: int, *, final: bool, done: int = 4, value: float | None = None) -> Progress:
    """After ``done`` of four rounds of an epoch."""
    validation = dict.fromkeys(METRICS, value) if value is not None else None
    report = EpochReport.of(epoch, RoundStats(), 0.1, validation) if done == 4 else None
    return Progress(epoch, done, 4, epochs, final, RoundStats(), report)


def lines(clock: Clock, *steps: Progress, verbose: bool = False) -> list[str]:
    """What a log shows of steps ten seconds apart."""
    out = io.StringIO()
    with TrainingProgress(Console(file=out, width=40), "overall", verbose=verbose) as progress:
        for one in steps:
            progress(one)
            clock.now += 10.0
    return out.getvalue().splitlines()


def test_trial_has_one_plain_metric_and_a_time_limit(clock: Clock) -> None:
    first, second = lines(clock, step(1, 40, final=False, value=0.25), step(2, 40, final=False, value=0.5))
    assert first == "trial 1/40  25% found in the first 10  at most ? left"
    assert second == "trial 2/40  50% found in the first 10  at most 6 min 20 s left"


def test_verbose_shows_the_rest(clock: Clock) -> None:
    _, second = lines(clock, step(1, 40, final=False, value=0.25), step(2, 40, final=False, value=0.5), verbose=True)
    assert second.startswith("trial 2/40  loss ")
    assert "violations" in second
    assert "M draws/s" in second
    assert "overall 0.5000" in second


def test_a_terminal_shows_a_bar_that_fits_80_columns(clock: Clock) -> None:
    out = io.StringIO()
    with TrainingProgress(Console(file=out, width=80, force_terminal=True), "overall") as progress:
        for one in (step(399, 400, final=False, value=1.0), step(400, 400, final=False, value=1.0)):
            progress(one)
            clock.now += 36_000
        [line] = progress.shown.splitlines()
    assert line.startswith("━" * 10 + " trial 400/400  100% found in the first 10")
    assert len(line) <= 80


def test_the_final_training_tells_how_long_it_will_take(clock: Clock) -> None:
    steps = [step(epoch, 4, final=True, value=0.5) for epoch in (1, 2, 3, 4)]
    found = lines(clock, *steps)
    assert [line.split("  ")[0] for line in found] == ["epoch 1/4", "epoch 2/4", "epoch 3/4", "epoch 4/4"]
    # The first line does not measure the pace; then an epoch takes ten seconds.
    assert [line.rsplit("  ")[-1] for line in found] == ["? left", "20 s left", "10 s left", "0.0 s left"]


def test_final_training_does_not_inherit_pace_of_the_trial(clock: Clock) -> None:
    slow = [step(epoch, 40, final=False, value=0.5) for epoch in (1, 2, 3)]
    *_, first, second = lines(clock, *slow, step(1, 2, final=True), step(2, 2, final=True))
    assert "overall" not in first + second
    assert first.endswith("? left")
    assert second.endswith("0.0 s left")


def test_a_log_has_a_line_now_and_then_and_the_last_epoch(clock: Clock) -> None:
    out = io.StringIO()
    with TrainingProgress(Console(file=out, width=40), "map") as progress:
        for epoch in range(1, 41):
            for done in (1, 2, 3, 4):
                progress(step(epoch, 40, final=True, done=done))
                clock.now += 0.05
    shown = [line.split("  ")[0] for line in out.getvalue().splitlines()]
    assert shown[0] == "epoch 1/40"
    assert shown[-1] == "epoch 40/40"
    assert 3 < len(shown) < 8


def test_a_cluster_says_how_its_workers_spent_the_round(clock: Clock) -> None:
    shares = (WorkerTiming("one", (0, 2), 8e6, 6.0, 1.0, 1.0), WorkerTiming("other", (1,), 4e6, 4.0, 2.0, 2.0))
    [told] = lines(clock, replace(step(1, 1, final=True), timings=shares))
    assert told.endswith("  2 workers: 1.50 M draws/s, 62% computing, 19% moving, 19% waiting")
    alone = WorkerTiming("this process", (0, 1), 1e6, 6.0, 0.0, 0.0)
    [told] = lines(clock, replace(step(1, 1, final=True), timings=(alone,)))
    assert "workers" not in told
