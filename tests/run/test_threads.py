"""Our own threads: order, errors, and numbers that no two running tasks share."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from vse_ens.errors import ConfigError
from vse_ens.run.threads import Workers
from vse_ens.system import available_cores


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("tasks", [0, 1, 2, 7, 50])
def test_results_come_in_the_order_of_the_tasks(count: int, tasks: int) -> None:
    def task(number: int, _worker: int) -> int:
        time.sleep(0.0005 * (number % 3))
        return number * number

    with Workers(count) as workers:
        for _ in range(2):
            assert workers.run([partial(task, n) for n in range(tasks)]) == [n * n for n in range(tasks)]


@pytest.mark.parametrize("count", [1, 2, 4])
def test_no_two_tasks_at_a_time_have_the_same_number(count: int) -> None:
    running, clashes, seen, lock = set[int](), [], set[int](), threading.Lock()

    def task(worker: int) -> None:
        with lock:
            if worker in running:
                clashes.append(worker)
            running.add(worker)
            seen.add(worker)
        time.sleep(0.001)
        with lock:
            running.remove(worker)

    with Workers(count) as workers:
        workers.run([task] * 40)
    assert not clashes
    assert seen <= set(range(count))


def test_tasks_run_side_by_side() -> None:
    meeting = threading.Barrier(3, timeout=300)
    with Workers(3) as workers:
        workers.run([lambda _worker: meeting.wait()] * 3)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_an_error_is_raised_when_all_have_ended(count: int) -> None:
    ended = []

    def task(number: int, _worker: int) -> None:
        if number in (0, 1):
            raise ValueError(f"task {number}")
        time.sleep(0.02)
        ended.append(number)

    with Workers(count) as workers:
        with pytest.raises(ValueError, match=r"task [01]"):
            workers.run([partial(task, n) for n in range(6)])
        still = len(ended)
        time.sleep(0.05)
        assert len(ended) == still
        assert workers.run([lambda _worker: 1] * 3) == [1, 1, 1]


def test_an_error_of_another_thread_is_raised_too() -> None:
    meeting = threading.Barrier(2, timeout=300)

    def task(number: int, worker: int) -> None:
        meeting.wait()
        if worker:
            raise KeyError("of a thread")

    with Workers(2) as workers, pytest.raises(KeyError, match="of a thread"):
        workers.run([partial(task, n) for n in range(2)])


@pytest.mark.parametrize("count", [0, -1])
def test_there_must_be_a_worker(count: int) -> None:
    with pytest.raises(ConfigError, match=f"workers must be at least 1, got {count}"):
        Workers(count)


def test_all_cores_by_default() -> None:
    with Workers() as workers:
        assert workers.count == available_cores() >= 1
