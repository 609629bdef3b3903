"""The benchmark of images behind a label: the metrics by hand, the labels it draws, and a small run."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from benchmarks.accuracy import search

from vse_ens.data.annotations import Annotations, Split
from vse_ens.data.datasets.scenes import scenes

DATA = scenes(images=400, labels=50, seed=0)


def split_of(train: list[str], test: list[str]) -> Split:
    """Six images; those with the label x in either part, all with the label y."""
    images = [f"i{number}" for number in range(6)]
    both = Annotations.from_pairs([(image, "y") for image in images] + [(image, "x") for image in train + test])
    x = both.indices == both.labels.number("x")
    held_out = x & np.isin(both.image_numbers(), both.images.numbers(test))
    return Split(both.with_pairs(~held_out), both.with_pairs(held_out))


def test_metrics_of_a_case_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    split = split_of(train=["i0"], test=["i2", "i5"])
    values = np.array([9.0, 5.0, 4.0, 3.0, 2.0, 1.0])
    monkeypatch.setattr(search, "FOUND", 3)
    found = search.image_metrics(values, split, split.train.labels.number("x"))
    # Without image 0, which is known to have it: the second and the last of five.
    assert found["average_precision"] == pytest.approx((1 / 2 + 2 / 5) / 2)
    assert found["found"] == 0.5


def test_chance_is_the_mean_over_all_orders() -> None:
    precisions = []
    for places in permutations(range(6), 2):
        ranks = sorted(places)
        precisions.append(np.mean([(number + 1) / (rank + 1) for number, rank in enumerate(ranks)]))
    assert search.chance(2, 6) == pytest.approx(np.mean(precisions))
    assert search.chance(1, 1) == search.chance(4, 4) == 1.0


def test_equal_values_are_in_no_particular_order() -> None:
    split = DATA.leave_one_out(seed=0)
    labels = search.chosen_labels(split.test, 100)
    figures = [search.image_metrics(np.zeros(400), split, label) for label in labels.tolist()]
    raw = {name: [one[name] for one in figures] for name in ("average_precision", "chance")}
    assert search._corrected(raw).mean() == pytest.approx(0.0, abs=0.02)


def test_labels_are_drawn_among_those_with_enough_pairs() -> None:
    test = DATA.leave_one_out(seed=0).test
    every = search.chosen_labels(test, 100)
    assert every.tolist() == np.flatnonzero(test.images_per_label >= 5).tolist()
    few = search.chosen_labels(test, 4)
    assert len(few) == 4
    assert set(few) < set(every)
    assert few.tolist() != every[:4].tolist()


@pytest.mark.parametrize("method", ["ours", "EASE", "image kNN"])
def test_every_method_is_better_than_chance(method: str) -> None:
    raw = search.rank_images(DATA, method, most=10, budget=1.0, epochs=5)
    assert raw["labels"] == len(raw["average_precision"]) == 10
    assert np.mean(raw["average_precision"]) > 1.5 * np.mean(raw["chance"])
    assert 0.0 < np.mean(raw["found"]) <= 1.0


def test_small_run_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "real", lambda names: (dict.fromkeys(names, DATA), []))
    monkeypatch.setattr(search, "call", lambda function, *arguments, **_: json.loads(json.dumps(function(*arguments))))
    raw = search.measure(search.Sizes(("corel5k",), ("EASE", "image kNN"), labels=5))
    score = search.score(raw)
    assert not score.checks
    assert sorted(row[1] for row in score.tables[0].rows) == ["EASE", "image kNN"]
    assert score.tables[0].rows[0][0] == (
        f"corel5k (400 images; 5 labels, {raw['parts']['EASE on corel5k']['raw']['pairs']} pairs)"
    )


def test_the_default_is_compared_with_the_best_other() -> None:
    def part(precision: list[float], found: list[float]) -> dict[str, Any]:
        facts = {"images": 9, "labels": 2, "pairs": 12, "chance": [0.1, 0.1]}
        return {"raw": facts | {"average_precision": precision, "found": found}}

    parts = {
        "ours on corel5k": part([0.4, 0.7], [0.5, 0.5]),
        "EASE on corel5k": part([0.5, 0.5], [0.5, 0.7]),
        "image kNN on corel5k": part([0.1, 0.1], [0.0, 0.0]),
        "ours on absent": {"raw": {"skipped": "A reason."}},
    }
    score = search.score({"parts": parts, "skipped": ["A reason."]})
    assert [(check.name, round(check.value, 3), check.missed) for check in score.checks] == [
        ("corel5k: average precision, default minus the best other", 0.05, False),
        ("corel5k: found, default minus the best other", -0.1, True),
    ]
    ours, ease, knn = score.tables[0].rows
    assert ours[2:] == ("0.550", "0.500", "0.500 ± 0.327", "-")
    # Differences of -1/9 and 2/9: a mean of 1/18, and a standard deviation of 0.2357.
    assert ease[2:] == ("0.500", "0.600", "0.444 ± 0.000", "+0.056 ± 0.327")
    assert knn[4] == "0.000 ± 0.000"
