"""The cost model of a round agrees with its simulation and with measurements."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.core.process import call
from benchmarks.scale.cost_model import (
    CHANGES,
    DOCUMENT,
    LARGE,
    SHARE_OF_LINK,
    Case,
    _collect,
    _distribute,
    filled,
    predict,
    simulate,
    table,
)
from benchmarks.scale.full_size import Shape, score
from benchmarks.scale.full_size import run as full_size

from vse_ens.streams import Streams


def only_links(nodes: int) -> Case:
    """A round in which nothing but the links takes time: 1 GB of tables at 1 MB/s, so no other constant matters."""
    return Case(
        0, 1_000_000, 0, bytes_per_label=1_000, draws=1e12, nodes=nodes, cores=1, bytes_per_second=1e6, uneven=0.0
    )


@pytest.mark.parametrize("nodes", [2, 4, 6, 16, 64, 100])
def test_the_number_of_transfers_is_that_of_the_simulation(nodes: int) -> None:
    """The formula and the simulation share the time of a transfer; how many one link carries, each finds by itself."""
    case = only_links(nodes)
    assert max(_distribute(case)) / case.transfer == pytest.approx(case.distributions, rel=0.15)
    assert _collect(case, 0.0) / case.transfer == pytest.approx(2 * case.collections, rel=0.15)


def test_two_nodes_are_as_worked_out_by_hand() -> None:
    """The tables go over the link once. Half of the changes go to each node, then one half to the driver."""
    case = only_links(2)
    seconds = 1e9 / (SHARE_OF_LINK * 1e6)
    assert max(_distribute(case)) == pytest.approx(seconds, rel=1e-3)
    assert _collect(case, 0.0) == pytest.approx(CHANGES * (seconds / 2 + seconds / 2), rel=1e-2)
    assert predict(case).moving == pytest.approx(seconds + CHANGES * seconds, rel=1e-2)


def test_a_slow_shard_makes_the_others_wait() -> None:
    """Without links, a round takes as long as its slowest shard: by the formula about sqrt(2 ln n) deviations."""
    case = replace(LARGE, labels=1, nodes=1, cores=256, uneven=0.1)
    computed = case.pairs / 256 / case.draws
    slowest = float(Streams(0).child("simulation", 1).normals(256).max())
    assert simulate(case).waiting == pytest.approx(0.1 * slowest * computed, rel=1e-3)
    assert predict(case).waiting == pytest.approx(simulate(case).waiting, rel=0.3)


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
    result = full_size("vse-ens", images=60, labels=50)
    assert result["images"] == 60
    assert result["seconds"] > 0.0
    assert result["bytes_foretold"] > 0


def test_full_size_scores_every_shape_and_the_largest_factor() -> None:
    found = {"preset": "context", "images": 9, "labels": 2, "pairs": 30, "seconds": 2.0, "draws": 60}
    run = found | {"bytes_foretold": 11e8, "bytes_used": 10e8}
    smaller = [
        {"shape": str(Shape(preset, 9, 2)), "bytes_foretold": size, "bytes_used": 10e6}
        for preset, size in (("context", 9e6), ("vse-ens", 33e6))
    ]
    result = score({"runs": [run], "smaller": smaller, "skipped": []})
    assert [check.value for check in result.checks] == pytest.approx([2.0, 1.1, 3.3])
    assert [check.verdict for check in result.checks] == ["met", "met", "**over limit**"]
    assert result.tables[1].rows[1] == ("`vse-ens`, 9 images, 2 labels", "33 MB", "10 MB", "3.30")


def test_full_size_bounds_the_ram_of_a_small_training() -> None:
    # Other memory of the process is noise of some megabytes; the vectors and their copy are about 60 each.
    found = call(full_size, "opt-auc", 150_000, 100)
    if found["bytes_used"]:
        assert 1.0 <= found["bytes_foretold"] / found["bytes_used"] < 3.0


def test_the_document_has_the_table() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text == filled(text), "run: python -m benchmarks report"
