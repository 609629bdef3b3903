"""The benchmarks of the cluster and of training by shards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.scale import cluster, shards


def turn(*seconds: float, shares: list[list[float]] | None = None, held: int = 100) -> dict[str, Any]:
    return {"epochs": [[1_000, one] for one in seconds], "peak_bytes": held, "shares": shares or [[8.0, 1.0, 1.0]]}


def test_files_are_written_once_and_partitioned(tmp_path: Path) -> None:
    made = cluster.write_and_partition(str(tmp_path), 60, 50, 3)
    assert (made["images"], made["shards"]) == (60, 3)
    assert cluster.write_and_partition(str(tmp_path), 60, 50, 3)["pairs"] == made["pairs"]
    assert len(list((tmp_path / "parts").glob("*.parquet"))) == 8


def test_epochs_are_weighted_as_in_the_preset() -> None:
    # The first epoch compiles. The first five epochs exchange eight times, all later ones once.
    threads, clusters = turn(*[9.0] + [1.0] * 7), turn(*[99.0] + [4.0] * 4 + [1.25] * 3, held=110)
    case = {
        "partition": {"seconds": 1.0, "peak_bytes": 1, "images": 10, "labels": 100, "pairs": 1_000, "shards": 4},
        "threads": [threads, threads],
        "cluster": [clusters, turn(*[99.0] * 8)],
    }
    raw = {"shards": 4, "dimensions": 8, "cases": {"vse-ens": case, "vse-ens, a quarter of the images": case}}
    score = cluster.score(raw)
    assert score.checks[0].value == pytest.approx(160 / (5 * 4.0 + 155 * 1.25))
    assert score.checks[-1].value == 1.0
    assert score.tables[0].rows[0][6] == "80 / 10 / 10"


def test_missing_requirements_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "find_spec", lambda _: None)
    raw = cluster.measure(cluster.CLUSTER.quick)
    assert "pip install" in raw["skipped"][0]
    assert cluster.score(raw).checks == []


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
