"""The numbers of the paper, and how they hang together."""

from __future__ import annotations

import pytest
from benchmarks.paper.numbers import (
    DATA_SETS,
    METRICS,
    MODELS,
    PAPER,
    implied_candidates,
    improvement_from_cells,
    number,
    printed,
    rounding,
    speed_up_from_hours,
)

ROWS = [(data_set, model) for data_set in DATA_SETS for model in MODELS]


def test_every_section_has_a_source() -> None:
    assert all(section["source"] for section in PAPER.values())


def test_digits_are_kept_as_printed() -> None:
    assert printed("openimages", "warp")["recall@10"] == "0.3900"
    assert (PAPER["table4"]["vse-ens"]["openimages"], PAPER["abstract"]["speed_up"]["iaprtc12"]) == ("7.1", "2.5")
    assert all(len(cell) == 6 for data_set, model in ROWS for cell in printed(data_set, model).values())


def test_table_1_is_accepted_where_it_contradicts_itself() -> None:
    sizes = PAPER["table1"]["iaprtc12"]
    assert (sizes["images"], sizes["labels"], sizes["train"], sizes["test"]) == (19_627, 291, 79_527, 20_000)
    assert sizes["test"] > sizes["images"]
    assert sum(PAPER["table1"]["openimages"][count] for count in ("train", "test")) == 999_999


@pytest.mark.parametrize(("data_set", "model"), ROWS)
def test_the_auc_column_is_half_plus_half_the_recall(data_set: str, model: str) -> None:
    """auc@10 is 0.5 + R/2 - R (mean rank - 1) / (|A| - 1), with a mean rank between 1 and 10."""
    cells = {metric: number(text) for metric, text in printed(data_set, model).items()}
    most = 9 * cells["recall@10"] / (PAPER["table1"][data_set]["labels"] - 1)
    gap = 0.5 + cells["recall@10"] / 2 - cells["auc"]
    assert -0.0001 <= gap <= most + 0.0001
    assert gap < 0.006


@pytest.mark.parametrize(("data_set", "model"), ROWS)
def test_precision_repeats_recall(data_set: str, model: str) -> None:
    cells = {metric: number(text) for metric, text in printed(data_set, model).items()}
    for top in (5, 10):
        assert cells[f"precision@{top}"] == pytest.approx(cells[f"recall@{top}"] / top, abs=0.00006)


@pytest.mark.parametrize("data_set", DATA_SETS)
@pytest.mark.parametrize("metric", METRICS)
def test_improve_follows_from_the_cells_relative_to_warp(data_set: str, metric: str) -> None:
    assert f"{improvement_from_cells(data_set, metric):.2f}" == printed(data_set, "improve")[metric]


def test_two_of_three_speed_ups_follow_from_the_hours() -> None:
    found = {name: speed_up_from_hours(name) for name in DATA_SETS}
    stated = PAPER["abstract"]["speed_up"]
    follows = {name: abs(found[name] - number(stated[name])) <= rounding(stated[name]) for name in DATA_SETS}
    assert follows == {"openimages": True, "nuswide": False, "iaprtc12": True}
    assert found["nuswide"] == pytest.approx(2.0725, abs=1e-4)


@pytest.mark.parametrize(
    ("text", "half"), [("0.3900", 0.00005), ("2.5", 0.05), ("5.02", 0.005), ("2,100", 50), ("900", 50), ("870", 5)]
)
def test_half_a_unit_of_the_last_digit(text: str, half: float) -> None:
    assert rounding(text) == pytest.approx(half)


def test_candidates_that_a_printed_auc_implies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the hits at rank 3, half at rank 8 of 101 candidates: r - 1 = 4.5."""
    auc = 0.5 + 0.2 - 0.4 * 4.5 / 100
    monkeypatch.setitem(PAPER["table2"]["iaprtc12"], "warp", ["0", "0.2", "0", "0.4", "0", f"{auc:.6f}"])
    assert implied_candidates("iaprtc12", "warp") == pytest.approx(101)
    assert all(260 < implied_candidates("iaprtc12", model) < 300 for model in ("vse-ens", "opt-auc"))
