"""Counted and solved by the workers of a real cluster: the bytes of one process."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.label_ranges import cut_labels, in_folder
from vse_ens.data.datasets.scenes import scenes
from vse_ens.label_weights.learn import learn_label_weights
from vse_ens.label_weights.pairs import PairSource
from vse_ens.run.pool import LocalPool, Pool
from vse_ens.run.threads import Workers
from vse_ens.train.pair_selection import frequent_label_pairs

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="no Ray to test with: pip install 'vse-ens[cluster]'"
    ),
    # Ray leaves sockets and files for the garbage collector to close.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
]

LABELS = 105


@pytest.fixture
def pool(cluster: Any) -> Iterator[Pool]:
    """Two workers, each in a process of its own."""
    from vse_ens.run.ray.pool import RayPool

    with RayPool(cluster.address, workers=2) as pool:
        yield pool


def everything(data: PairSource, pool: Pool) -> list[bytes]:
    """Both forms of the memory and the combinations."""
    sparse: dict[str, Any] = {"dense_labels": 0, "support": 12}
    memories = [learn_label_weights(data, 4.0, pool, **form) for form in ({}, sparse)]
    arrays = [array for memory in memories for array in memory.arrays().values()]
    return [array.tobytes() for array in (*arrays, frequent_label_pairs(data, 500, pool))]


def test_the_bytes_are_those_of_one_process(pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = scenes(600, LABELS)
    with Workers(2) as workers:
        expected = everything(data, LocalPool(workers))
    assert all(expected)
    cut_labels(monkeypatch, LABELS, 7)
    assert everything(data, pool) == expected
    assert everything(in_folder(data, tmp_path), pool) == expected
