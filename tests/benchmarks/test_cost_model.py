"""The cost model of a round agrees with its simulation and with measurements."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.scale.cost_model import LARGE, QUICK, Case, predict, simulate, table
from benchmarks.scale.full_size import run


@pytest.mark.parametrize("nodes", [1, 2, 4, 6, 16, 64, 100, 256])
@pytest.mark.parametrize("case", [LARGE, QUICK], ids=["context", "vse-ens"])
def test_formula_is_near_the_simulation(case: Case, nodes: int) -> None:
    sized = replace(case, nodes=nodes)
    assert predict(sized).total == pytest.approx(simulate(sized).total, rel=0.2)


def test_more_nodes_compute_less_and_move_more() -> None:
    few, many = (predict(replace(LARGE, nodes=nodes)) for nodes in (16, 64))
    assert many.computing < few.computing
    assert many.moving > few.moving


# Measured at 200 Mbit/s with 33.6 MB, nodes of one core and almost no computation.
@pytest.mark.parametrize(("nodes", "distributing", "moving"), [(2, 1.43, 3.13), (4, 3.61, 6.04), (8, 5.01, 7.83)])
def test_formula_and_simulation_are_near_measurements(nodes: int, distributing: float, moving: float) -> None:
    case = Case(0, 80_000, 0, bytes_per_label=420, draws=1.0, nodes=nodes, cores=1, bytes_per_second=25e6, uneven=0.0)
    assert case.distributions * case.transfer == pytest.approx(distributing, rel=0.1)
    assert predict(case).moving == pytest.approx(moving, rel=0.1)
    assert simulate(case).moving == pytest.approx(moving, rel=0.1)


def test_transfers_per_link_grow_slowly_with_nodes() -> None:
    few, many = (replace(LARGE, nodes=nodes) for nodes in (16, 256))
    assert many.distributions < 2 * few.distributions
    assert many.collections < 1.1 * few.collections


def test_the_table_has_a_row_for_every_preset_and_size() -> None:
    assert len(table((2, 4)).rows) == 4


def test_full_size_run_reports_time_and_ram() -> None:
    result = run("vse-ens", images=60, labels=50)
    assert result["images"] == 60
    assert result["peak_bytes"] > result["data_bytes"] > 0  # type: ignore[operator]
