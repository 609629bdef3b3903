"""The benchmark of the cluster sorts out pairs, and judges what was measured by the epochs a preset has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchmarks.scale import cluster


def turn(*seconds: float, shares: list[list[float]] | None = None, held: int = 100) -> dict[str, Any]:
    return {"epochs": [[1_000, one] for one in seconds], "peak_bytes": held, "shares": shares or [[8.0, 1.0, 1.0]]}


def test_pairs_are_made_and_sorted_out_once(tmp_path: Path) -> None:
    made = cluster.write_and_partition(str(tmp_path), 60, 50, 3)
    assert (made["images"], made["shards"]) == (60, 3)
    assert cluster.write_and_partition(str(tmp_path), 60, 50, 3)["pairs"] == made["pairs"]
    assert len(list((tmp_path / "parts").glob("*.parquet"))) == 8


def test_epochs_count_as_often_as_the_preset_has_them() -> None:
    # The first epoch compiles; of the others five exchange eight times, and all that follow once.
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


def test_what_cannot_be_measured_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "find_spec", lambda _: None)
    raw = cluster.measure(cluster.CLUSTER.quick)
    assert "pip install" in raw["skipped"][0]
    assert cluster.score(raw).checks == []
