"""Workers that die or fall silent, on a stand-in for Ray with a clock of its own: no waiting, and any loss at will."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.fake_ray import FakeRay, Fault, RayError, use_fake_ray
from tests.support.toy_actor import FACTORY, MERGE, TASK
from vse_ens.errors import ClusterError
from vse_ens.run.pool import LocalPool, Pool
from vse_ens.run.ray.calls import MAX_LOSSES, MIN_TIMEOUT
from vse_ens.run.ray.pool import RayPool
from vse_ens.run.threads import Workers

SHARDS = [{"start": np.full(1, float(shard))} for shard in range(4)]


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    return use_fake_ray(monkeypatch)


def once(number: int, method: str, kind: Fault, after: int = 0) -> Callable[[int, str], Fault]:
    """Let one actor come to harm in a method, at the call after this many."""
    left = [after]

    def fault(actor: int, called: str) -> Fault:
        if (actor, called) != (number, method):
            return None
        left[0] -= 1
        return kind if left[0] < 0 else None

    return fault


def rounds(pool: Pool, count: int = 4, save_after: int = -1) -> list[Any]:
    pool.open(FACTORY, {"keeps_state": True}, SHARDS)
    found = []
    for number in range(count):
        found.append(pool.run({"number": float(number)}, {}, MERGE).merged)
        if number == save_after:
            found.append([state["number"].tolist() for state in pool.save({})])
    return found


def in_one_process(count: int = 4, save_after: int = -1) -> list[Any]:
    with Workers(1) as workers:
        return rounds(LocalPool(workers), count, save_after)


def test_without_a_loss_results_are_those_of_one_process(ray: FakeRay) -> None:
    assert rounds(RayPool(), save_after=1) == in_one_process(save_after=1)
    assert len(ray.actors) == 2


@pytest.mark.parametrize("kind", ["dies", "hangs"])
@pytest.mark.parametrize("method", ["add_shard", "run_shard", "split", "merge_tree"])
def test_a_worker_lost_anywhere_in_a_round_is_found_and_replaced(ray: FakeRay, method: str, kind: Fault) -> None:
    victim = 0 if method == "merge_tree" else 1
    ray.fault = once(victim, method, kind)
    assert rounds(RayPool(timeout=600.0)) == in_one_process()
    assert ray.actors[victim].state == "dies", "a silent worker is killed"
    assert len(ray.actors) > 2, "the lost worker was not replaced"


def test_a_silent_worker_is_found_after_ten_longest_runs(ray: FakeRay) -> None:
    ray.durations = {"run_shard": 20.0}
    ray.fault = once(1, "run_shard", "hangs", after=2)
    pool = RayPool(timeout=36_000.0)
    pool.open(FACTORY, {"keeps_state": False}, SHARDS)
    pool.run({"number": 0.0}, {}, MERGE)
    assert ray.now == 40.0, "two shards on each of two workers"
    pool.run({"number": 1.0}, {}, MERGE)
    # Ten times the longest round, a second for further losses, and the round again.
    assert ray.now == pytest.approx(40.0 + 400.0 + 40.0, abs=2.0)


def test_workers_that_repeat_rounds_are_waited_for_longer(ray: FakeRay) -> None:
    """A shard is rebuilt from four earlier rounds of 50 s; the limit of one round is the minimum of 60 s."""
    ray.durations = {"run_shard": 1.0, "repeat_shard": 25.0}
    ray.fault = once(1, "run_shard", "dies", after=8)
    assert rounds(RayPool(timeout=36_000.0), count=6) == in_one_process(count=6)
    assert len(ray.actors) == 3, "a worker that was busy repeating was given up"
    assert ray.now > 4 * 2 * 25.0 > MIN_TIMEOUT


@pytest.mark.parametrize("kind", ["dies", "hangs"])
@pytest.mark.parametrize("after", [0, 1])
def test_a_worker_lost_while_saving_is_rebuilt(ray: FakeRay, kind: Fault, after: int) -> None:
    ray.fault = once(1, "save_shard", kind, after)
    assert rounds(RayPool(timeout=600.0), save_after=2) == in_one_process(save_after=2)
    assert len(ray.actors) == 3
    assert "repeat_shard" in ray.actors[2].calls


def test_a_worker_lost_after_saving_repeats_only_what_came_later(ray: FakeRay) -> None:
    ray.fault = once(1, "run_shard", "dies", after=6)
    assert rounds(RayPool(), save_after=1) == in_one_process(save_after=1)
    assert ray.actors[2].calls.count("repeat_shard") == 2, "one round of two shards"


def test_five_losses_in_one_round_end_it_with_a_sentence(ray: FakeRay) -> None:
    ray.fault = lambda number, method: "dies" if method == "run_shard" else None
    pool = RayPool()
    pool.open(FACTORY, {"keeps_state": True}, SHARDS)
    with pytest.raises(ClusterError, match=r"workers were lost 5 times in one round; see the logs of Ray"):
        pool.run({"number": 0.0}, {}, MERGE)
    assert MAX_LOSSES == 5


def test_four_losses_in_one_round_do_not(ray: FakeRay) -> None:
    losses = iter(["dies"] * 4)
    ray.fault = lambda number, method: next(losses, None) if method == "run_shard" and number != 0 else None  # type: ignore[return-value]
    assert rounds(RayPool()) == in_one_process()


def test_five_losses_while_saving_end_it_with_a_sentence(ray: FakeRay) -> None:
    ray.fault = lambda number, method: "dies" if method == "save_shard" and number else None
    with pytest.raises(ClusterError, match=r"shard \d was lost 5 times while it was saved"):
        rounds(RayPool(), save_after=0)


def test_five_losses_over_the_same_tasks_are_an_error(ray: FakeRay) -> None:
    ray.fault = lambda number, method: "dies" if method == "run_task" else None
    tasks = [{"number": np.array([number])} for number in range(6)]
    with pytest.raises(ClusterError, match=r"workers were lost 5 times while running the same tasks"):
        list(RayPool().map(TASK, {"number": 1}, tasks))


def test_when_all_workers_are_gone_it_says_so(ray: FakeRay) -> None:
    pool = RayPool()
    pool.open(FACTORY, {"keeps_state": True}, SHARDS)
    ray.fault = lambda number, method: "dies"
    with pytest.raises(ClusterError, match=r"all workers of the cluster are lost; restart the cluster"):
        pool.run({"number": 0.0}, {}, MERGE)


@pytest.mark.parametrize(
    "error", [RuntimeError("GCS is gone\nat line 3"), ConnectionError("GCS is gone"), RayError("GCS is gone")]
)
def test_a_cluster_that_does_not_answer_says_so(
    ray: FakeRay, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail() -> list[Any]:
        raise error

    monkeypatch.setattr(ray, "nodes", fail)
    with pytest.raises(ClusterError, match=r"^the Ray cluster does not answer: GCS is gone; check `ray status`"):
        RayPool().open(FACTORY, {"keeps_state": True}, SHARDS)


def test_no_worker_at_the_start_says_so(ray: FakeRay) -> None:
    ray.fault = lambda number, method: "dies"
    with pytest.raises(ClusterError, match=r"no worker of the cluster was ready within 120 s"):
        RayPool().open(FACTORY, {"keeps_state": True}, SHARDS)
