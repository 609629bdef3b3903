"""What is foretold of learning label weights, against what is really made."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from tests.support.kernel_problems import random_annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.label_weights import closed_form, ram, sparse
from vse_ens.label_weights.learn import learn_label_weights
from vse_ens.label_weights.ram import expected_entries, learning_ram
from vse_ens.label_weights.sparse import list_lengths, sparse_label_weights
from vse_ens.model.weights import LabelWeights
from vse_ens.run.pool import LocalPool
from vse_ens.run.threads import Workers

DATA = scenes(4_000, 1_200)


def learnt(dense_labels: int, regularization: float = 10.0) -> LabelWeights:
    with Workers(1) as workers:
        return learn_label_weights(DATA, regularization, LocalPool(workers), dense_labels=dense_labels)


@pytest.mark.parametrize(
    ("dense_labels", "regularization"),
    [(0, 10.0), (10**6, 10.0), (10**6, 0.001)],
    ids=["sparse", "closed form in single precision", "closed form in double precision"],
)
def test_the_fullest_moment_and_the_result_are_foretold(
    dense_labels: int, regularization: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ram, "DENSE_LABELS", dense_labels)
    foretold = learning_ram(DATA)
    reserved = [0]  # for sums, and never written to: the system does not count it, the tracer does

    def watched(needed: np.ndarray, total: int) -> np.ndarray:
        lengths = list_lengths(needed, total)
        reserved.append(12 * int(lengths.sum()) - sum(foretold.peak[1:3]))
        return lengths

    monkeypatch.setattr(sparse, "list_lengths", watched)
    stored = learnt(dense_labels, regularization).nbytes  # kernels are compiled
    assert 0.95 * stored < foretold.stored < 1.05 * stored
    tracemalloc.start()
    learnt(dense_labels, regularization)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    peak -= reserved[-1]
    assert 0.85 * peak < sum(foretold.peak) < 1.15 * peak


def made(max_sums: int) -> tuple[int, int]:
    """The number of sums that are kept of G, and of weights."""
    found = []

    class Watched(LocalPool):
        def map(self, factory, settings, tasks):  # type: ignore[no-untyped-def]
            found.append(len(settings["values"]) if "values" in settings else 0)
            return super().map(factory, settings, tasks)

    with Workers(1) as workers:
        weights = sparse_label_weights(DATA, 10.0, 64, Watched(workers), max_sums=max_sums)
    return max(found), len(weights.values)


@pytest.mark.parametrize("max_sums", [10**9, 20_000])
@pytest.mark.parametrize("meetings", [10**9, 20_000], ids=["all labels", "a sample"])
def test_entries_are_counted_or_sampled(max_sums: int, meetings: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sums, weights = made(max_sums)
    monkeypatch.setattr(ram, "_SAMPLED_MEETINGS", meetings)
    found = expected_entries(DATA, 64, max_sums)
    error = 0.02 if meetings == 10**9 else 0.15
    assert found.sums == pytest.approx(sums, rel=error)
    assert found.weights == pytest.approx(weights, rel=error)


def test_labels_that_never_meet_have_no_entries() -> None:
    assert expected_entries(random_annotations(images=50, labels=30, most=1)) == (0, 0)


def test_the_matrix_is_freed_once_it_is_copied() -> None:
    labels = 600
    tracemalloc.start()
    closed_form.dense_label_weights(np.eye(labels), 10.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.1e9 * closed_form.ram_needed(labels)
