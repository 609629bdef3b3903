"""Whoever works on which labels, and wherever the pairs are: the same bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.label_ranges import CUTS, cut_labels, in_folder
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.partition.store import Partition
from vse_ens.label_weights import sparse
from vse_ens.label_weights.learn import learn_label_weights
from vse_ens.label_weights.pairs import PairSource, known_pairs, pair_settings, read_only
from vse_ens.model.weights import LabelWeights
from vse_ens.run.pool import LocalPool, Payload
from vse_ens.run.threads import Workers

LABELS = 105
FORMS: dict[str, dict[str, Any]] = {"dense": {}, "sparse": {"dense_labels": 0, "support": 12}}


@pytest.fixture(scope="module")
def data() -> Annotations:
    return scenes(600, LABELS)


@pytest.fixture(scope="module")
def pairs(data: Annotations, tmp_path_factory: pytest.TempPathFactory) -> Partition:
    return in_folder(data, tmp_path_factory.mktemp("parts"))


class CountingPool(LocalPool):
    """Counts tasks; passes on what another process would give: arrays that cannot be written to."""

    def __init__(self, workers: Workers) -> None:
        super().__init__(workers)
        self.tasks: list[int] = []

    def map(self, factory: str, settings: Payload, tasks: Any) -> Any:
        self.tasks.append(len(tasks))
        return map(_sent, super().map(factory, _sent(settings), [_sent(task) for task in tasks]))


def _sent(content: Payload) -> Payload:
    return {
        name: read_only(value.copy()) if isinstance(value, np.ndarray) else value for name, value in content.items()
    }


def learnt(data: PairSource, form: str, threads: int) -> tuple[LabelWeights, list[int]]:
    with Workers(threads) as workers:
        pool = CountingPool(workers)
        return learn_label_weights(data, 4.0, pool, **FORMS[form]), pool.tasks


def bytes_of(memory: LabelWeights) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in memory.arrays().items()}


@pytest.mark.parametrize("form", FORMS)
def test_tasks_and_place_of_the_pairs_do_not_change_a_byte(
    form: str, data: Annotations, pairs: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Workers(1) as workers:
        expected = learn_label_weights(data, 4.0, LocalPool(workers), **FORMS[form])
    assert expected.values.any()
    for tasks in CUTS:
        cut_labels(monkeypatch, LABELS, tasks)
        for known, threads in ((data, 1), (data, 3), (pairs, 1)):
            memory, counted = learnt(known, form, threads)
            assert set(counted) == {tasks}
            assert bytes_of(memory) == bytes_of(expected)


def test_lists_that_are_cut_are_cut_alike(data: Annotations, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for tasks in CUTS:
        cut_labels(monkeypatch, LABELS, tasks)
        with Workers(1) as workers:
            memory = sparse.sparse_label_weights(data, 4.0, 12, LocalPool(workers), row_power=0.5, max_sums=500)
        found.append(bytes_of(memory))
    assert found[0] == found[1] == found[2]
    assert found[0] != bytes_of(learnt(data, "sparse", 1)[0])


def test_pairs_are_sent_as_arrays_or_as_the_path_of_their_folder(data: Annotations, pairs: Partition) -> None:
    settings = pair_settings(data)
    assert settings["by_image"][0] is data.indptr
    assert settings["by_image"][1] is data.indices
    assert np.shares_memory(known_pairs(settings).by_label.indices, settings["by_label"][1])
    assert pair_settings(pairs) == {"folder": str(pairs.folder)}
