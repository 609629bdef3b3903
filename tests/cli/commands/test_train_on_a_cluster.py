"""`vse train` on a real Ray cluster: the bytes of the same shards in one process."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.support.stored_models import contents
from tests.support.training_runs import small_data

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="no Ray to test with: pip install 'vse-ens[cluster]'"
    ),
    # Ray leaves sockets and files for the garbage collector to close.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
]


@pytest.mark.parametrize("folder", [False, True])
def test_vse_train_on_a_cluster_writes_the_same_model(cluster: Any, vse: Any, tmp_path: Path, folder: bool) -> None:
    pairs = tmp_path / "parts"
    pairs.mkdir()
    small_data().to_frame("polars").write_parquet(pairs / "1.parquet")
    pairs = pairs if folder else pairs / "1.parquet"
    settings = ("--preset", "vse-ens", "--dimensions", 8, "--epochs", 2, "--shards", 3)
    here = vse("train", pairs, "--out", tmp_path / "here", *settings)
    assert here.status == 0, here.err
    there = vse(
        "train",
        pairs,
        "--out",
        tmp_path / "there",
        *settings,
        "--cluster",
        "ray",
        "--address",
        cluster.address,
        "--json",
    )
    assert there.status == 0, there.err
    assert there.document["complete"]
    assert contents(tmp_path / "there") == contents(tmp_path / "here")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "parts", "there"]
