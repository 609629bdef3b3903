from __future__ import annotations

import json
from typing import Any

from benchmarks.service import latency


def test_the_best_turn_and_the_best_process_count() -> None:
    turns = [{"median": 0.0009, "cpu": 0.001}, {"median": 0.0003, "cpu": 0.002}]
    runs = [{"seconds": 0.2, "cpu": 0.1}, {"seconds": 0.7, "cpu": 0.05}]
    raw: dict[str, Any] = {
        "images": 9,
        "labels": 9,
        "singles": 9,
        "turns": 2,
        "scenes": 9,
        "one": {"context": turns, "ids": turns[:1]},
        "commands": {"--help": runs, "annotate": runs},
    }
    score = latency.score(raw)
    assert [check.verdict for check in score.checks] == ["met", "**over limit**", "**over limit**", "met"]
    assert [row[1:] for row in score.tables[0].rows] == [
        ("0.30 ms", "1.00 ms"),
        ("0.90 ms", "1.00 ms"),
        ("0.20 s", "0.05 s"),
        ("0.20 s", "0.05 s"),
    ]


def test_single_images_are_measured_in_turns() -> None:
    settings = {"images": 60, "labels": 30, "singles": 4, "turns": 2, "scenes": 0, "commands": 0}
    for tower in ("context", "ids"):
        turns = json.loads(json.dumps(latency.measure_singles(tower, settings), allow_nan=False))
        assert len(turns) == 2
        assert all(turn["median"] > 0 for turn in turns)
