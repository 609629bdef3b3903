"""The port of the authors' Java against a plain account of what it does, step by step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from benchmarks.paper.stand_ins import Shape, stand_in

from benchmarks.paper import authors_java
from tests.support.kernel_problems import JIT
from vse_ens.data.annotations import Split
from vse_ens.kernels.jit import kernel
from vse_ens.kernels.random import next_below, next_uniform
from vse_ens.streams import Streams

LABELS = 20


@pytest.fixture(scope="module")
def split() -> Split:
    return stand_in(Shape(60, LABELS, 300, 50)).leave_one_out(0)


@kernel
def below(state: Any, bound: int) -> int:
    return next_below(state, bound)


@kernel
def uniform(state: Any) -> float:
    return next_uniform(state)


def discrete(weights: list[float], state: Any) -> int:
    """Draw as `Discrete` does: the alias method over all indices but the first and the last."""
    count = len(weights) - 2
    cells = {i: weights[i] * count for i in range(1, count + 1)}
    alias = {i: i for i in cells}
    poor, rich = [i for i in cells if cells[i] < 1.0], [i for i in cells if cells[i] >= 1.0]
    while poor and rich:
        needs, gives = poor.pop(), rich[-1]
        alias[needs] = gives
        cells[gives] -= 1.0 - cells[needs]
        if cells[gives] < 1.0:
            poor.append(rich.pop())
    i = 1 + below(state, count)
    return alias[i] if uniform(state) > cells[i] else i


def by_hand(name: str, steps: int, tables: Any, state: Any, other: Any, law: list[float]) -> None:
    settings, ids = authors_java.SETTINGS[name], len(tables.labels)
    for _ in range(steps):
        image = tables.trained[below(state, len(tables.trained))]
        own = [int(label) + 1 for label in tables.indices[tables.indptr[image] : tables.indptr[image + 1]]]
        v, positive, negative = tables.images[image], own[below(state, len(own))], 0
        if name == "warp":
            score = v @ tables.labels[positive]
            violating = [a for a in range(1, ids) if a not in own and v @ tables.labels[a] + 1.0 > score]
            test = tables.held_out[image] + 1
            fallback = [a for a in tables.fixed if a != 0 and a != test and a not in own]
            if not violating and not fallback:  # where the Java would draw forever
                continue
            negative = (violating or fallback)[0]
        elif name == "opt-auc":
            while negative == 0 or negative in own:
                negative = below(state, ids)
        else:
            weights = np.abs(v) * tables.variance
            factors = list(weights / weights.sum())
            while negative == 0 or negative in own:
                rank, f = discrete(law, other), discrete(factors, other)
                negative = tables.rankings[f][rank if v[f] > 0 else ids - rank - 1]
        p, n = tables.labels[positive].copy(), tables.labels[negative].copy()
        difference = v @ (p - n)
        slope = float(difference <= 1.0) if name == "vse-ens" else 1.0 / (1.0 + math.exp(difference))
        rate, decay = settings.learning_rate, settings.regularization
        v += rate * (slope * (p - n) - decay * v)
        tables.labels[positive] = p + rate * (slope * v - decay * p)
        tables.labels[negative] = n + rate * (-slope * v - decay * n)


@pytest.mark.parametrize("name", authors_java.SETTINGS)
def test_steps_are_those_of_the_plain_account(name: str, split: Split) -> None:
    steps = 400 if JIT else 40
    streams = Streams(3).child("test")
    mine, theirs = (authors_java.make_tables(split, streams) for _ in range(2))
    states = [(streams.child("Random").words(1), streams.child("Math").words(1)) for _ in range(2)]
    law = authors_java.rank_weights(LABELS, 1).tolist()
    for tables in (mine, theirs):
        tables.labels[:] *= 30.0  # so that some labels violate the margin and some do not
        tables.images[:] *= 30.0
        authors_java.refresh(tables)
    settings = authors_java.SETTINGS[name]
    authors_java.make_steps(settings.model, steps, mine, settings.learning_rate, settings.regularization, *states[0])
    by_hand(name, steps, theirs, *states[1], law)
    assert np.allclose(mine.images, theirs.images, rtol=1e-6, atol=1e-9)
    assert np.allclose(mine.labels, theirs.labels, rtol=1e-6, atol=1e-9)
    assert not np.allclose(mine.images, authors_java.make_tables(split, streams).images * 30.0)


def test_lambda_is_truncated_to_ranks() -> None:
    assert [authors_java.truncated_lambda(labels) for labels in (291, 999, 1_000, 5_018, 6_000)] == [0, 0, 1, 5, 6]


def test_law_of_ranks_is_in_steps_and_has_no_first_rank() -> None:
    """The quotient of two integers: exp of -0, -0, -1, -1, -1, ... for three ranks; position 0 is never drawn."""
    weights = authors_java.rank_weights(7, 3)
    expected = np.array([0, 1, *[math.exp(-1)] * 3, *[math.exp(-2)] * 3])
    assert weights == pytest.approx(expected / expected.sum())


def test_the_ends_of_a_distribution_are_never_drawn() -> None:
    weights = np.array([0.3, 0.2, 0.1, 0.1, 0.3])
    threshold, alias, work = np.zeros(5), np.zeros(5, np.int64), np.zeros(5, np.int64)
    authors_java.alias_of_inner(weights, threshold, alias, work)
    state = Streams(0).words(1)
    drawn = np.bincount([authors_java.draw_inner(threshold, alias, state) for _ in range(3_000)], minlength=5) / 3_000
    assert drawn[[0, 4]].tolist() == [0, 0]
    # 0.4 in all are not normalized: each of the three keeps its cell.
    assert drawn[1:4] == pytest.approx([1 / 3] * 3, abs=0.04)


def test_every_round_has_the_same_pairs(split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new `Random` with the same seed: a round begins with the state of the round before."""
    states: list[int] = []
    original = authors_java.make_steps

    def spy(model: int, steps: int, tables: Any, rate: float, decay: float, state: Any, other: Any) -> None:
        states.append(int(state[0]))
        original(model, steps, tables, rate, decay, state, other)

    monkeypatch.setattr(authors_java, "make_steps", spy)
    result = authors_java.train("opt-auc", split, 0, rounds=2)
    assert states[0] == states[1]
    assert (result["iterations"], len(result["points"])) == (2, 2)
    assert result["ending"] == "done"
    assert 0.0 < result["metrics"]["recall@10"] <= 1.0


def test_a_training_that_diverges_has_no_accuracy(split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    """On IAPR-TC12 WARP does so at the rate that its main sets."""
    settings = authors_java.SETTINGS["warp"]._replace(learning_rate=100.0)
    monkeypatch.setitem(authors_java.SETTINGS, "warp", settings)
    result = authors_java.train("warp", split, 0, rounds=2)
    assert (result["ending"], result["iterations"], result["points"], result["ranks"]) == ("diverged", 1, [], [])
