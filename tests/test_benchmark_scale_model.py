"""The formula for what a round costs agrees with a simulation of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.full_size import run
from benchmarks.scale_model import LARGE, QUICK, Case, predict, simulate, table


@pytest.mark.parametrize("nodes", [1, 4, 16, 64, 256])
@pytest.mark.parametrize("case", [LARGE, QUICK], ids=["context", "vse-ens"])
def test_the_formula_is_near_the_simulation(case: Case, nodes: int) -> None:
    sized = replace(case, nodes=nodes)
    assert predict(sized).total == pytest.approx(simulate(sized).total, rel=0.2)


def test_more_nodes_compute_less_and_move_more() -> None:
    few, many = (predict(replace(LARGE, nodes=nodes)) for nodes in (16, 64))
    assert many.computing < few.computing
    assert many.moving > few.moving


def test_the_table_has_a_row_for_every_preset_and_size() -> None:
    assert len(table((2, 4)).rows) == 4


def test_the_run_at_full_size_tells_what_it_took() -> None:
    told = run("vse-ens", images=60, labels=50)
    assert told["images"] == 60
    assert told["peak_bytes"] > told["data_bytes"] > 0  # type: ignore[operator]
