"""The benchmark of training by shards."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.scale import shards


def test_shards_measure_and_score() -> None:
    case = shards.Case("vse-ens", {"dimensions": 4, "epochs": 1}, images=60, labels=60)
    raw = through_json(shards.measure(shards.Sizes((case,), held_out=10)))
    assert [len(found) for found in raw["cases"][0]["found"].values()] == [2, 2, 2]
    raw["cases"][0]["found"] = {"1": [0.5, 0.7], "4": [0.5, 0.8], "16": [0.3, 0.6]}
    score = shards.score(raw)
    assert [round(check.value, 3) for check in score.checks] == [1.083, 0.75]
    assert score.tables[0].rows[0][-2:] == ("0.5000 / 0.8000 (+8.3%)", "0.3000 / 0.6000 (-25.0%)")


def through_json(raw: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(raw, allow_nan=False))  # type: ignore[no-any-return]
