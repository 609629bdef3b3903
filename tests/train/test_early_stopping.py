"""Early stopping, with no model and no disk in it."""

from __future__ import annotations

import math

from vse_ens.train.validation import EarlyStopping


def stops_at(values: list[float], patience: int) -> tuple[int, int]:
    """The epoch after which training stops, and the best one; both from 1."""
    stopping = EarlyStopping(patience)
    for epoch, value in enumerate(values, 1):
        stopping.update(epoch, value)
        if stopping.exhausted:
            return epoch, stopping.best_epoch
    return len(values), stopping.best_epoch


def test_stops_after_as_many_epochs_without_a_better_one() -> None:
    values = [0.1, 0.2, 0.3, 0.4, 0.3, 0.35, 0.39, 0.9]
    assert stops_at(values, patience=3) == (7, 4)
    assert stops_at([*values[:6], 0.41, 0.9], patience=3) == (8, 8)


def test_stops_at_the_earliest_after_twice_the_patience() -> None:
    assert stops_at([0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.9], patience=3) == (6, 1)
    assert stops_at([0.3, 0.2, 0.1, 0.1, 0.4, 0.1, 0.1, 0.1, 0.9], patience=3) == (8, 5)


def test_as_good_is_not_better() -> None:
    assert stops_at([0.2, 0.3, 0.3, 0.3, 0.4], patience=2) == (4, 2)


def test_a_patience_of_one_stops_at_once() -> None:
    assert stops_at([0.3, 0.2, 0.4], patience=1) == (2, 1)


def test_nan_is_never_the_best_value() -> None:
    assert stops_at([math.nan, 0.1, math.nan], patience=5) == (3, 2)


def test_tells_whether_an_epoch_is_the_best_so_far() -> None:
    stopping = EarlyStopping(3)
    assert [stopping.update(epoch, value) for epoch, value in enumerate([0.1, 0.2, 0.15, 0.2, 0.3], 1)] == [
        True,
        True,
        False,
        False,
        True,
    ]
