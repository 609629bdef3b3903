"""A pool in this process: the reference for the others."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.toy_actor import FACTORY, MERGE, TASK
from vse_ens.run.pool import LocalPool, resolve
from vse_ens.run.threads import Workers


def test_shards_run_in_order_are_merged_and_keep_their_state() -> None:
    with Workers(1) as workers:
        pool = LocalPool(workers)
        pool.open(FACTORY, {"keeps_state": True}, [{"start": np.zeros(1)} for _ in range(3)])
        assert pool.run({"number": 1.0}, {}, MERGE).merged == {"text": "[[(0:1) (1:2)] (2:3)]"}
        done = pool.run({"number": 1.0}, {}, MERGE)
        assert done.merged == {"text": "[[(0:3) (1:6)] (2:9)]"}
        assert len(done.reports) == 3
        assert [(timing.shards, timing.amount) for timing in done.timings] == [((0, 1, 2), 6.0)]
        assert [float(state["number"][0]) for state in pool.save({})] == [3.0, 6.0, 9.0]


def test_a_pool_that_is_not_open_says_so() -> None:
    with Workers(1) as workers, pytest.raises(RuntimeError, match="not open"):
        LocalPool(workers).run({}, {}, MERGE)


def test_a_name_leads_to_what_it_names() -> None:
    assert resolve("vse_ens.run.pool.LocalPool") is LocalPool


def test_tasks_are_worked_off_by_a_task_function() -> None:
    with Workers(1) as workers:
        found = LocalPool(workers).map(TASK, {"number": 10}, [{"number": number} for number in range(3)])
        assert [one["number"] for one in found] == [10, 11, 12]
