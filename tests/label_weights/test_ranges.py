from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from vse_ens.label_weights import pairs
from vse_ens.label_weights.pairs import label_tasks, map_ranges
from vse_ens.run.threads import Workers


def starts(*images: int) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(images)]).astype(np.int64)


@pytest.mark.parametrize("labels", [0, 1, 512, 513, 2_000])
def test_tasks_are_all_labels_once(labels: int) -> None:
    tasks = label_tasks(starts(*[3] * labels))
    bounds = [0, *(task["last"] for task in tasks)]
    assert [(task["first"], task["last"]) for task in tasks] == list(pairwise(bounds))
    assert bounds[-1] == labels
    assert all(0 < last - first <= 512 for first, last in pairwise(bounds))


def test_labels_with_many_images_are_in_tasks_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "_TASK_PAIRS", 10)
    monkeypatch.setattr(pairs, "TASK_LABELS", 4)
    found = [(task["first"], task["last"]) for task in label_tasks(starts(5, 5, 1, 99, 0, 0, 0, 0, 0, 10, 1))]
    assert found == [(0, 2), (2, 3), (3, 4), (4, 8), (8, 10), (10, 11)]


@pytest.mark.parametrize(("first", "last"), [(0, 1), (3, 40), (0, 16), (5, 5)])
def test_pieces_are_all_labels_of_a_range_once_and_in_order(first: int, last: int) -> None:
    with Workers(2) as workers:
        met = map_ranges(workers, first, last, lambda start, end: list(range(start, end)))
    assert [label for piece in met for label in piece] == list(range(first, last))
