"""A pool on a Ray cluster of two and three nodes: the results of one process, whoever is lost on the way."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.ray_cluster import ROOT
from tests.support.toy_actor import FACTORY, MERGE, TASK
from tests.support.training_runs import bytes_of, counted, finished, small_config, small_data, whole_preset
from vse_ens.config import Config
from vse_ens.data.partition.build import partition
from vse_ens.data.partition.parts import PartFiles
from vse_ens.errors import ClusterError, DataError
from vse_ens.run.pool import LocalPool, Pool
from vse_ens.run.threads import Workers
from vse_ens.train.checkpoint import Checkpoints
from vse_ens.train.trainer import Trainer

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="no Ray to test with: pip install 'vse-ens[cluster]'"
    ),
    # Ray leaves sockets and files for the garbage collector to close.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
]

SHARDS = [{"start": np.full(1, float(shard))} for shard in range(5)]
CONFIGS = {
    "id": small_config(sampler="vse-ens", loss="hinge", shards=3, exchanges=2, epochs=3),
    "whole preset": whole_preset(shards=3, exchanges=2),
}


@pytest.fixture
def pool(cluster: Any) -> Iterator[Callable[..., Any]]:
    """Makes pools on the cluster."""
    from vse_ens.run.ray.pool import RayPool

    made: list[Any] = []

    def make(**how: Any) -> RayPool:
        made.append(RayPool(cluster.address, **how))
        return made[-1]

    yield make
    for one in made:
        one.close()


def rounds(pool: Pool, keeps_state: bool, harm: dict[str, Any] | None = None, saved: bool = False) -> list[Any]:
    """Four rounds of the toy; what harm there is comes in the third."""
    pool.open(FACTORY, {"keeps_state": keeps_state}, SHARDS)
    found = []
    for number in range(4):
        if saved and number == 1:
            found.append([state["number"].tolist() for state in pool.save({})])
        arguments = {"harm": harm} if harm and number == 2 else {}
        found.append(pool.run({"number": float(number)}, arguments, MERGE).merged)
    return found


def at_home(keeps_state: bool, saved: bool = False) -> list[Any]:
    with Workers(1) as workers:
        return rounds(LocalPool(workers), keeps_state, saved=saved)


@pytest.mark.parametrize("workers", [2, 3])
def test_results_are_those_of_one_process(pool: Any, workers: int) -> None:
    assert rounds(pool(workers=workers), keeps_state=True) == at_home(keeps_state=True)


def test_workers_tell_how_they_spent_their_time(pool: Any) -> None:
    cluster_pool = pool()
    rounds(cluster_pool, keeps_state=False)
    began = time.perf_counter()
    done = cluster_pool.run({"number": 0.0}, {}, MERGE)
    passed = time.perf_counter() - began
    assert sorted(shard for timing in done.timings for shard in timing.shards) == [0, 1, 2, 3, 4]
    assert len({report["process"] for report in done.reports}) == len(done.timings) == 3
    assert len({report["parent"] for report in done.reports}) == 3, "workers are not spread over the nodes"
    for timing in done.timings:
        assert min(timing.computing, timing.moving, timing.waiting) >= 0.0
        assert timing.seconds <= passed
        assert timing.amount == 2 * len(timing.shards)


@pytest.mark.parametrize(("kind", "saved"), [("killed", False), ("killed", True), ("hangs", True)])
def test_a_lost_worker_does_not_change_a_byte(pool: Any, tmp_path: Path, kind: str, saved: bool) -> None:
    harm = {"shards": [1], "kind": kind, "mark": str(tmp_path / "mark")}
    found = rounds(pool(timeout=4.0 if kind == "hangs" else 600.0), keeps_state=True, harm=harm, saved=saved)
    assert found == at_home(keeps_state=True, saved=saved)
    assert (tmp_path / "mark").exists()


def test_an_error_of_the_work_itself_is_told_and_not_tried_again(pool: Any, tmp_path: Path) -> None:
    cluster_pool = pool()
    with pytest.raises(DataError, match="there is nothing to start from"):
        cluster_pool.open(FACTORY, {"keeps_state": True}, [*SHARDS, {"start": None}])
    harm = {"shards": [1], "kind": "bad data", "mark": str(tmp_path / "one")}
    with pytest.raises(DataError, match="this shard is bad"):
        rounds(cluster_pool, keeps_state=True, harm=harm)
    harm = {"shards": [1], "kind": "slip", "mark": str(tmp_path / "other")}
    with pytest.raises(ClusterError, match="ZeroDivisionError: a slip"):
        rounds(cluster_pool, keeps_state=True, harm=harm)


TASKS = [{"number": np.array([number])} for number in range(40)]


def added(pool: Pool, tasks: list[dict[str, Any]]) -> list[int]:
    return [int(one["number"][0]) for one in pool.map(TASK, {"number": 100}, tasks)]


def test_tasks_go_to_all_workers_and_results_come_in_order(pool: Any) -> None:
    found = list(pool().map(TASK, {"number": 100}, TASKS))
    assert [int(one["number"][0]) for one in found] == list(range(100, 140))
    assert len({one["process"] for one in found}) == 3


@pytest.mark.parametrize("kind", ["killed", "hangs"])
def test_other_workers_take_the_tasks_and_shards_of_a_lost_one(pool: Any, tmp_path: Path, kind: str) -> None:
    cluster_pool = pool(timeout=4.0 if kind == "hangs" else 600.0)
    cluster_pool.open(FACTORY, {"keeps_state": True}, SHARDS)
    with Workers(1) as workers:
        home = LocalPool(workers)
        home.open(FACTORY, {"keeps_state": True}, SHARDS)
        harm = {"kind": kind, "mark": str(tmp_path / "mark")}
        for tasks in (TASKS, [*TASKS[:7], {**TASKS[7], "harm": harm}, *TASKS[8:]], TASKS):
            wanted = home.run({"number": 1.0}, {}, MERGE).merged
            assert cluster_pool.run({"number": 1.0}, {}, MERGE).merged == wanted
            assert added(cluster_pool, tasks) == list(range(100, 140))
        assert (tmp_path / "mark").exists()


def test_errors_of_a_task_and_of_its_factory_are_raised(pool: Any, tmp_path: Path) -> None:
    cluster_pool = pool()
    with pytest.raises(DataError, match="there is no number to add"):
        list(cluster_pool.map(TASK, {"number": None}, TASKS))
    harm = {"kind": "bad data", "mark": str(tmp_path / "mark")}
    with pytest.raises(DataError, match="this shard is bad"):
        added(cluster_pool, [*TASKS, {**TASKS[0], "harm": harm}])
    assert added(cluster_pool, TASKS) == list(range(100, 140))


@pytest.mark.parametrize(("kind", "workers"), [("id", 2), ("whole preset", 3)])
def test_a_model_is_the_same_bytes_as_in_one_process(pool: Any, kind: str, workers: int) -> None:
    config, data = CONFIGS[kind], small_data()
    whole = finished(config, data)  # first, so that not every worker of the cluster compiles the kernels
    trainer = Trainer(config, data, 1, pool(workers=workers))
    for _ in trainer.rounds():
        pass
    assert bytes_of(trainer.model) == bytes_of(whole.model)
    assert counted(trainer.history) == counted(whole.history)


def test_workers_lost_between_rounds_do_not_change_the_model(pool: Any) -> None:
    config, data = CONFIGS["id"], small_data()
    cluster_pool = pool()
    trainer = Trainer(config, data, 1, cluster_pool)
    for number, _ in enumerate(trainer.rounds()):
        if number in (0, 3):
            cluster_pool._ray.kill(cluster_pool._workers[number % 2].actor)
    assert bytes_of(trainer.model) == bytes_of(finished(config, data).model)


@pytest.mark.parametrize("kind", CONFIGS)
def test_pairs_read_by_workers_give_equal_bytes_when_one_is_lost(pool: Any, tmp_path: Path, kind: str) -> None:
    config, data = CONFIGS[kind], small_data()
    (tmp_path / "parts").mkdir()
    data.to_frame("polars").write_parquet(tmp_path / "parts" / "all.parquet")
    pairs = partition(PartFiles.find(tmp_path / "parts"), tmp_path / "sorted", config.shards)
    cluster_pool = pool()
    trainer = Trainer(config, pairs, 1, cluster_pool, tmp_path / "training")
    for number, _ in enumerate(trainer.rounds()):
        if number == 1:
            trainer.state()
        elif number == 3:
            cluster_pool._ray.kill(cluster_pool._workers[0].actor)
    assert bytes_of(trainer.model) == bytes_of(finished(config, trainer.known).model)


def test_a_killed_driver_goes_on_with_another_number_of_workers(pool: Any, cluster: Any, tmp_path: Path) -> None:
    checkpoint, config, data = tmp_path / "run", LONG, small_data()
    whole = finished(config, data)
    driver = subprocess.Popen([sys.executable, __file__, cluster.address, str(checkpoint)], env={**os.environ})
    end = time.monotonic() + 600
    while not checkpoint.exists() and driver.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    driver.send_signal(signal.SIGKILL)
    driver.wait(300)
    trainer = Trainer(config, data, 1, pool(workers=2))
    assert Checkpoints(checkpoint, data).resume(trainer)
    assert not trainer.finished
    for _ in trainer.rounds():
        pass
    assert bytes_of(trainer.model) == bytes_of(whole.model)


def test_a_node_killed_in_a_round_costs_the_round_and_not_a_byte(pool: Any, cluster: Any, tmp_path: Path) -> None:
    cluster_pool = pool()
    cluster_pool.open(FACTORY, {"keeps_state": True}, SHARDS)
    # Neither the head of the cluster nor the node that this process is attached to: those cost the run.
    here = cluster_pool._ray.get_runtime_context().get_node_id()
    others = [node for node in cluster.worker_nodes if node.unique_id != here]
    raylets = {node.all_processes["raylet"][0].process.pid for node in others}
    reports = cluster_pool.run({"number": 0.0}, {}, MERGE).reports
    victims = [shard for shard, report in enumerate(reports) if report["parent"] in raylets]
    harm = {"shards": victims[:1], "kind": "node killed", "mark": str(tmp_path / "mark")}
    assert rounds(cluster_pool, keeps_state=True, harm=harm) == at_home(keeps_state=True)
    assert sum(node["Alive"] for node in cluster_pool._ray.nodes()) == 2
    assert len(cluster_pool._workers) == 2


def test_a_cluster_of_ones_own_is_out_of_reach_for_others(python: Any) -> None:
    code = """
import os, socket, subprocess, sys
import numpy as np
from tests.support.toy_actor import FACTORY, MERGE
from vse_ens.run.ray.pool import RayPool
with RayPool(workers=1) as pool:
    pool.open(FACTORY, {"keeps_state": False}, [{"start": np.zeros(1)}] * 2)
    print(pool.run({"number": 1.0}, {}, MERGE).merged["text"])
    address = pool._ray.get_runtime_context().gcs_address
    print(address.rpartition(":")[0])
    try:
        # What listens on all addresses would answer at this one too.
        socket.create_connection(("127.0.0.2", int(address.rpartition(":")[2])), 5).close()
    except OSError:
        print("refused")
    import ray._raylet
    os.environ["RAY_AUTH_TOKEN"] = "f" * 64
    stranger = "import ray; ray._raylet.GcsClient(address=%r)" % address
    print("InvalidAuthToken" in subprocess.run([sys.executable, "-c", stranger], capture_output=True, text=True).stderr)
"""
    found = python(code, PYTHONPATH=str(ROOT))
    assert found.stdout.splitlines() == ["[(0:1) (1:2)]", "127.0.0.1", "refused", "True"], found.stderr


LONG = small_config(sampler="vse-ens", loss="hinge", shards=3, exchanges=2, epochs=100)


def drive(config: Config, address: str, checkpoint: Path) -> None:
    """What the driver that is killed does."""
    from vse_ens.run.ray.pool import RayPool

    data = small_data()
    trainer = Trainer(config, data, 1, RayPool(address, workers=3))
    for number, _ in enumerate(trainer.rounds()):
        if number == 3:
            Checkpoints(checkpoint, data).write(trainer)
        elif number == 100:
            signal.pause()  # the kill is late; without it, the run would end


if __name__ == "__main__":
    drive(LONG, sys.argv[1], Path(sys.argv[2]))
