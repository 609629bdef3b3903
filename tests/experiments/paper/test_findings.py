"""The sentences follow from the numbers."""

from __future__ import annotations

from typing import Any

import pytest

from vse_ens.experiments.paper.findings import Finding, findings_of, improvement, speed_ups
from vse_ens.experiments.paper.training import METRICS, convergence_point, still_rising, tries_per_draw


def _run(recall: float, curve: list[tuple[int, float, float]], ending: str = "all epochs done") -> dict[str, Any]:
    return {
        "ending": ending,
        "points": [{"epoch": e, "seconds": s, "recall@10": r} for e, s, r in curve],
        "epochs": [
            {"draws": 10, "tries": 10, "given_up": 0},
            {"draws": 10, "tries": 400, "given_up": 5},
        ],
        "metrics": dict.fromkeys(METRICS, 0.5) | {"recall@10": recall},
        "intervals": {metric: [recall - 0.01, recall + 0.01] for metric in METRICS},
    }


def _curve(best: float, seconds: float) -> list[tuple[int, float, float]]:
    """Return a curve with its best at ``seconds``, half-way through, and half of it after a tenth of that time."""
    return [(1, seconds / 10, best / 2), (5, seconds, best), (10, 2 * seconds, best)]


def _document(vse_ens: dict[str, Any], warp: dict[str, Any], opt_auc: dict[str, Any]) -> dict[str, Any]:
    return {
        "data_sets": {"iaprtc12": {"title": "IAPR-TC12", "generated": False}},
        "models": {"iaprtc12": {"paper-vse-ens": vse_ens, "paper-warp": warp, "paper-opt-auc": opt_auc}},
        "paper": {
            "table1": {},
            "table2": {"iaprtc12": {"vse-ens": {"recall@10": 0.436}}},
            "table4": {},
            "speed_up": {"iaprtc12": 2.5},
        },
        "draws": [],
        "grid": {},
    }


def _about(found: list[Finding], words: str) -> Finding:
    (one,) = [finding for finding in found if words in finding.text]
    return one


def test_vse_ens_ahead_agrees() -> None:
    runs = _run(0.6, _curve(0.6, 1.0)), _run(0.5, _curve(0.5, 2.5)), _run(0.4, _curve(0.4, 9.0))
    found = findings_of(_document(*runs))
    accuracy = _about(found, "recall@10 is VSE-ens 0.600, WARP 0.500, Opt-AUC 0.400")
    assert accuracy.verdict == "agrees"
    assert "20.0% better" in accuracy.text
    speed = _about(found, "within 1 % of its own best")
    assert speed.verdict == "agrees"
    assert "WARP trains 2.50 times as long as VSE-ens" in speed.text
    assert "The paper states 2.5 times" in speed.text


def test_a_rival_ahead_contradicts() -> None:
    runs = _run(0.5, _curve(0.5, 2.0)), _run(0.4, _curve(0.4, 1.0)), _run(0.6, _curve(0.6, 1.0))
    found = findings_of(_document(*runs))
    accuracy = _about(found, "recall@10 is Opt-AUC 0.600, VSE-ens 0.500")
    assert accuracy.verdict == "contradicts"
    assert "here Opt-AUC is, and VSE-ens is 16.7% below it" in accuracy.text
    assert _about(found, "WARP trains 0.50 times as long").verdict == "contradicts"


def test_overlapping_intervals_decide_nothing() -> None:
    runs = _run(0.505, _curve(0.5, 1.0)), _run(0.5, _curve(0.5, 1.0)), _run(0.4, _curve(0.4, 1.0))
    assert _about(findings_of(_document(*runs)), "overlap").verdict == "unclear"


@pytest.mark.parametrize(("ours", "verdict"), [(0.6, "contradicts"), (0.44, "agrees"), (0.3, "contradicts")])
def test_a_figure_of_the_paper_is_compared_with_the_interval(ours: float, verdict: str) -> None:
    runs = [_run(ours, _curve(ours, 1.0)) for _ in range(3)]
    assert _about(findings_of(_document(*runs)), "the paper reports a recall@10 of 0.436").verdict == verdict


def test_generated_data_is_not_compared_with_the_paper() -> None:
    runs = [_run(0.6, _curve(0.6, 1.0)) for _ in range(3)]
    document = _document(*runs)
    document["data_sets"]["iaprtc12"]["generated"] = True
    assert not [one for one in findings_of(document) if "the paper reports" in one.text]
    assert _about(findings_of(document), "IAPR-TC12 (synthetic), the paper's settings: recall@10").verdict == "unclear"


def test_a_model_that_still_rises_decides_nothing() -> None:
    rising = _run(0.6, [(1, 1.0, 0.1), (10, 10.0, 0.6)])
    assert still_rising(rising)
    found = findings_of(_document(rising, _run(0.5, _curve(0.5, 1.0)), _run(0.4, _curve(0.4, 1.0))))
    speed = _about(found, "VSE-ens still improved when training ended")
    assert speed.verdict == "unclear"


def test_warp_with_more_to_come_can_only_be_slower() -> None:
    rising = _run(0.5, [(1, 1.0, 0.1), (10, 10.0, 0.5)])
    runs = _run(0.6, _curve(0.6, 1.0)), rising, _run(0.4, _curve(0.4, 1.0))
    speed = _about(findings_of(_document(*runs)), "WARP still improved when training ended")
    assert "WARP trains 10.00 times as long" in speed.text
    assert speed.verdict == "agrees"


def test_a_run_that_ended_for_want_of_progress_has_settled() -> None:
    assert not still_rising(_run(0.6, [(1, 1.0, 0.1), (10, 10.0, 0.6)], "no improvement"))


def test_converged_is_the_first_point_within_one_per_cent_of_the_best() -> None:
    run = _run(0.5, [(1, 1.0, 0.4), (2, 2.0, 0.496), (3, 3.0, 0.5), (4, 4.0, 0.3)])
    assert convergence_point(run).epoch == 2


def test_a_common_level_is_nearly_the_best_of_the_worst() -> None:
    runs = {
        "vse-ens": _run(0.6, [(1, 1.0, 0.45), (2, 3.0, 0.6)]),
        "warp": _run(0.5, [(1, 2.0, 0.40), (2, 4.0, 0.5)]),
        "opt-auc": _run(0.4, [(1, 5.0, 0.2), (2, 9.0, 0.4)]),
    }
    own, common = speed_ups(runs) or (0.0, 0.0)
    assert own == pytest.approx(4.0 / 3.0)
    assert common == pytest.approx(2.0)
    assert improvement(runs, "recall@10") == pytest.approx(0.2)
    assert improvement({"vse-ens": runs["vse-ens"]}, "recall@10") is None


def test_tries_of_warp() -> None:
    run = _run(0.5, _curve(0.5, 1.0))
    assert tries_per_draw(run) == [1.0, 40.0]
    found = findings_of(_document(run, run, run))
    search = _about(found, "examines 1.0 labels per step in its first epoch and 40.0 in its last")
    assert search.verdict == "agrees"
    assert "50% of the searches" in search.text
