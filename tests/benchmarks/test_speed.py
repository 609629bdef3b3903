"""Benchmarks of speed: turns, the C++ reference, and scores."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from benchmarks.core.data_sets import zipf
from benchmarks.core.models import random_embeddings
from benchmarks.speed import default, effort_chart, labels, portable, samplers, workers
from benchmarks.speed.interleaved import TrainingTurns, Turn, best, cost, interleave
from benchmarks.speed.labels import Case
from benchmarks.speed.reference import Reference, uniform_negatives

from vse_ens.config import Config
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams

SMALL = Config(sampler="uniform", loss="logistic", dimensions=8)


def test_cost_includes_a_share_of_the_plan() -> None:
    slow = asdict(Turn(draws=100, seconds=2.0))
    fast = asdict(Turn(draws=100, seconds=1.0, plan_seconds=4.0, epoch_draws=1_000))
    assert best([slow, fast]) == fast
    assert cost(fast) == pytest.approx(0.01 + 0.004)


def test_candidates_alternate_after_an_uncounted_turn() -> None:
    taken: list[str] = []

    def contestant(name: str) -> Turn:
        taken.append(name)
        return Turn(1, 1.0)

    turns = interleave({"a": lambda: contestant("a"), "b": lambda: contestant("b")}, repeats=2)
    assert taken == ["a", "b"] * 3
    assert {name: len(listed) for name, listed in turns.items()} == {"a": 2, "b": 2}


def test_reference_negatives_are_labels_the_image_lacks() -> None:
    data = zipf(images=200, labels=12)
    images = np.arange(200)[::-1].copy()
    negatives = uniform_negatives(data, images, Streams(0))
    owners = np.repeat(images, data.labels_per_image[images])
    assert not any(n in data.label_numbers(int(i)) for i, n in zip(owners, negatives, strict=True))
    assert set(negatives.tolist()) == set(range(12))


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_reference_does_the_same_work_as_the_engine() -> None:
    data = zipf(images=2_000, labels=60)
    start = random_embeddings(data, SMALL.dimensions)
    with Workers(1) as worker:
        ours = TrainingTurns(SMALL, data, start, worker)
        theirs = Reference(SMALL, data, start)
        for _ in range(3):
            our_turn, their_turn = ours(), theirs()
            assert our_turn.draws == their_turn.draws == data.pairs
            assert our_turn.loss == pytest.approx(their_turn.loss, rel=0.03)


def test_turns_of_some_rounds_continue_the_epoch() -> None:
    data = zipf(images=2_000, labels=60)
    with Workers(1) as worker:
        training = TrainingTurns(SMALL, data, random_embeddings(data, SMALL.dimensions), worker, rounds=2)
        draws = 0
        while draws < data.pairs:
            turn = training()
            draws += turn.draws
            assert turn.draws < data.pairs
        assert draws == data.pairs
        assert training().draws < data.pairs


def test_speed_workers_and_labels_measure_and_score() -> None:
    raw = samplers.measure(samplers.Sizes(300, 200, dimensions=8, start_epochs=1, turns=1, others=(), other_turns=1))
    assert [check.limit for check in samplers.score(through_json(raw)).checks][-1] == 0.4
    raw = workers.measure(workers.Sizes(300, 200, dimensions=8, start_epochs=1, turns=1, kinds=("uniform", "context")))
    assert raw["skipped"] or workers.score(through_json(raw)).checks[0].limit == 1.6
    cases = (Case(200, 20), Case(200, 100)), (Case(100, 20, rounds=1), Case(400, 20, rounds=1))
    raw = labels.measure(labels.Sizes(*cases, dimensions=8, turns=1))
    assert [check.limit for check in labels.score(through_json(raw)).checks] == [2.0, 1.5]


def through_json(raw: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(raw, allow_nan=False))  # type: ignore[no-any-return]


def test_portable_counts_models_and_takes_medians() -> None:
    def model(digest: str) -> dict[str, Any]:
        return {"seconds": 1.0, "digest": digest, "cpu": "znver4"}

    models = {"what was found": model("x"), "kernels for znver4": model("x"), "`--portable`": model("y")}
    turns = {"as found": [1.0, 9.0, 2.0], "portable": [3.0, 3.0, 90.0]}
    raw = {"images": 10, "epochs": 1, "dimensions": 8, "few_images": 5, "models": models, "turns": turns}
    score = portable.score(raw)
    assert [check.value for check in score.checks] == [1, 1.5]
    assert [row[1] for row in score.tables[0].rows] == ["A", "A", "B"]
    models["`--portable`, with variables that ask for others"] = model("z")
    assert [check.verdict for check in portable.score(raw).checks] == ["**over limit**", "met"]
    assert portable.score({"skipped": ["Everything."]}).checks == []


def test_samplers_are_relative_to_uniform_of_the_same_turns() -> None:
    def turns(seconds: float) -> list[dict[str, Any]]:
        return [asdict(Turn(draws=1_000, seconds=seconds, epoch_draws=1_000))]

    raw = {
        "images": 1, "labels": 1, "pairs": 1, "dimensions": 8, "compiler": "",
        "turns": {"uniform": turns(1.0), "vse-ens": turns(2.0)},
        "other_turns": {"uniform": turns(4.0), "popularity": turns(5.0)},
    }  # fmt: skip
    rows = samplers.score(raw).tables[0].rows
    assert [(row[0], row[2]) for row in rows] == [
        ("uniform", "1.00"),
        ("vse-ens", "0.50"),
        ("uniform, in turns of four rounds", "1"),
        ("popularity", "0.8"),
    ]


def test_the_time_of_a_large_training_is_computed_from_its_parts() -> None:
    parts = {"epoch": 10.0, "validation": 2.0, "labels": 20, "pairs": 80}
    runs = {"before": parts | {"once": 30.0, "epochs": 20}, "now": parts | {"once": 8.0, "epochs": 6}}
    large = {"images": 1_000, "fewer_images": 100, "runs": runs}
    score = default.score(_stored({"large": large}))
    # 30 + 20 * 10 + 19 * 2, and 8 + 6 * 10 + 5 * 2
    assert [row[-1] for row in score.tables[0].rows] == ["268", "78"]
    assert "on 100 images of the same vocabulary" in score.notes[1]


def _stored(raw: dict[str, Any]) -> dict[str, Any]:
    """Return what was measured as one part of the benchmark `default`."""
    return {"parts": {"a part": {"raw": raw}}, "skipped": []}


def _runs(version: str, data_set: str, recalls: list[float], seconds: float) -> list[dict[str, Any]]:
    facts = {"version": version, "data_set": data_set, "cpu_seconds": seconds, "epochs": 9, "mrr": 0.3, "auc": 0.9}
    return [facts | {"seed": seed, "recall@10": recall} for seed, recall in enumerate(recalls)]


def test_a_default_below_the_version_before_fails() -> None:
    runs = [
        *_runs("slow", "corel5k", [0.50, 0.60], 10.0),
        *_runs("before", "corel5k", [0.50, 0.60], 1.0),
        *_runs("now", "corel5k", [0.492, 0.602], 5.0),  # by 0.6 standard errors
        *_runs("slow", "eurlex4k", [0.50, 0.60], 30.0),
        *_runs("before", "eurlex4k", [0.50, 0.60], 1.0),
        *_runs("now", "eurlex4k", [0.49, 0.58], 16.0),  # by three
    ]
    score = default.score(_stored({"runs": runs, "commit_slow": "db1807b07", "commit_before": "17799b1aa"}))
    checks = {check.name: check for check in score.checks}
    missed = [name for name, check in checks.items() if check.missed]
    assert [name for name in missed if checks[name].required] == ["eurlex4k: recall@10, now - before"]
    assert [name for name in missed if not checks[name].required] == [
        "corel5k: recall@10, now - slow",  # by more than half a standard error
        "eurlex4k: recall@10, now - slow",
        "CPU seconds of 2 data sets in sum, now / slow",
    ]
    assert checks["eurlex4k: recall@10, now - before"].value == pytest.approx(-0.015)
    assert checks["CPU seconds of 2 data sets in sum, now / slow"].value == pytest.approx(21 / 40)
    odd, even = score.tables
    assert [row[:2] for row in odd.rows] == [
        ("corel5k", "slow, db1807b"), ("corel5k", "before, 17799b1"), ("corel5k", "now")
    ]  # fmt: skip
    assert {row[0] for row in even.rows} == {"eurlex4k"}
    assert set(default.ODD) | set(default.EVEN) == set(default.Sizes().data_sets)


def test_one_version_alone_has_no_checks() -> None:
    score = default.score(_stored({"runs": _runs("now", "corel5k", [0.5], 1.0)}))
    assert not score.checks
    assert score.tables[0].rows == [("corel5k", "now", "1.0", "9", "0.5000", "0.3000", "0.9000")]


def test_quick_default_and_thorough_are_compared_over_all_data_sets() -> None:
    runs = [
        run
        for version, seconds, recall in (("quick", 1.0, 0.4), ("now", 2.0, 0.5), ("thorough", 6.0, 0.6))
        for name in ("corel5k", "eurlex4k")
        for run in _runs(version, name, [recall, recall + 0.1], seconds)
    ]
    raw = _stored({"runs": runs})
    assert [row[:3] for row in default.score(raw).tables[-1].rows] == [
        ("`quick`", "2.0", "0.4500"), ("`context`", "4.0", "0.5500"), ("`thorough`", "12.0", "0.6500")
    ]  # fmt: skip
    assert "context: 4.0 s, 0.5500" in effort_chart.chart(raw)


@pytest.mark.slow
def test_a_large_training_is_measured_in_parts() -> None:
    found = default._run(default._LARGE, "", 600, 100, 300)
    assert found["epochs"] > 1
    assert min(found[part] for part in ("once", "epoch", "validation")) > 0.0
