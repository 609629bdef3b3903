"""The rivals: each own implementation against a slow twin, the budget of tuning, parts and tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from benchmarks.core import parts as parts_module
from benchmarks.core.benchmark import Parts
from benchmarks.core.parts import chosen_parts, measure_parts
from benchmarks.core.results import Result
from benchmarks.peers import race
from benchmarks.rivals import chart, figures, run, weak_spots
from benchmarks.rivals.base import OURS, Rival
from benchmarks.rivals.dual_ease import DualEase, suited

from tests.support.fake_peers import FakePeer, two_groups
from vse_ens.baselines.ease import Ease
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.splits import leave_one_out
from vse_ens.data.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def data() -> Annotations:
    return scenes(150, 60)


@pytest.fixture(scope="module")
def groups() -> Annotations:
    return two_groups()


class Fake(FakePeer, Rival):
    """Knows most after epoch 3, with ``skill`` 1 alone."""


def test_settings_are_tuned_in_training_and_seeds_tested_once(data: Annotations) -> None:
    rival = Fake(data)
    found = run.tune_and_test(rival, data, (0, 1), budget=100.0)
    assert (found["settings"], found["epochs"], found["tried"]) == ({"skill": 1}, 3, 2)
    split = data.leave_one_out(seed=figures.SPLIT_SEED)
    *trials, first, second = rival.trained
    assert all(pairs < split.train.pairs for pairs, *_ in trials)
    assert (first, second) == tuple((split.train.pairs, {"skill": 1}, [3], seed) for seed in (0, 1))
    assert [fit["recall@10"] for fit in found["fits"]] == [1.0, 1.0]
    assert found["fits"][0]["bytes"] == 123
    assert sum(group["pairs"] for group in found["fits"][0]["groups"].values()) == split.test.pairs


def test_recall_of_groups_adds_up_to_all(data: Annotations) -> None:
    split = data.leave_one_out(seed=figures.SPLIT_SEED)
    fit = run.fit_and_test(run.RIVALS["EASE"], split, {"regularization": 10.0}, 1, 0)
    found = sum(group["pairs"] * group["recall@10"] for group in fit["groups"].values())
    assert found / split.test.pairs == pytest.approx(fit["recall@10"])
    assert set(fit["groups"]) == {"head", "middle", "tail"}


def test_a_rival_without_randomness_is_fitted_once(data: Annotations) -> None:
    rival = Fake(data)
    rival.deterministic = True  # type: ignore[misc]
    assert len(run.tune_and_test(rival, data, (0, 1, 2), budget=100.0)["fits"]) == 1


def test_tuning_stops_at_its_budget_and_leaves_falling_curves(
    data: Annotations, monkeypatch: pytest.MonkeyPatch
) -> None:
    split = leave_one_out(data, 0)
    rival = Fake(data)
    # skill 0 never rises: its first point is the best, and three more are looked at; skill 1 falls after epoch 3.
    points = []
    curve = race.curve
    monkeypatch.setattr(race, "curve", lambda *given, **named: _noted(points, curve(*given, **named)))
    assert race.tune(rival, split, 8, budget=100.0) == ({"skill": 1}, 3, 2)
    assert points == [1, 2, 3, 4, 1, 2, 3, 4, 5, 6]
    points.clear()
    race.tune(rival, split, 8)
    assert points == [1, 2, 3, 4, 5, 6, 8] * 2
    assert race.tune(rival, split, 8, budget=0.0) == ({"skill": 0}, 1, 1)


def _noted(points: list[int], curve: Iterator[Any]) -> Iterator[Any]:
    for point in curve:
        points.append(point["epoch"])
        yield point


def test_a_third_of_the_images_is_held_out_for_tuning(data: Annotations, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run.tuning_split(data).test.pairs == 50
    monkeypatch.setattr(run, "TUNING_IMAGES", 20)
    few = run.tuning_split(data)
    assert few.test.pairs <= 20
    assert np.count_nonzero(few.train.labels_per_image) == 20
    assert few.train.images == data.images


def test_dual_ease_gives_the_scores_of_ease(data: Annotations) -> None:
    rival = DualEase()
    ((_, fitted),) = rival.train(rival.load(data), {"regularization": 7.0}, [1], seed=0)
    images = np.arange(len(data.images))
    expected = Ease(regularization=7.0).fit(data).scores(images)
    known = np.zeros_like(expected, bool)
    known[data.image_numbers(), data.indices] = True
    np.testing.assert_allclose(fitted(images)[~known], expected[~known], atol=1e-4)


def test_ease_has_its_other_form_where_labels_far_outnumber_images(data: Annotations) -> None:
    ease, knn = run.RIVALS["EASE"], run.RIVALS["image kNN"]
    few = Vocabulary.from_ids(["only"], "image")
    wide = Annotations.from_numbers(few, data.labels, np.zeros(2, np.int64), np.arange(2))
    assert suited(ease, data) is ease
    assert isinstance(suited(ease, wide), DualEase)
    assert suited(knn, wide) is knn


# Parts.


def fake_parts(log: list[str]) -> Parts[Any]:
    def measure(sizes: Any, part: str) -> dict[str, Any]:
        del sizes
        log.append(part)
        return {"skipped": "no library"} if part == "c on x" else {"value": len(log)}

    return Parts(
        lambda _: ["a on x", "b on x", "c on x", "a on y"], measure, lambda part: ["errors"] * (part[0] == "a")
    )


def test_a_run_goes_on_with_parts_that_are_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts_module, "digests", lambda names: dict.fromkeys(names, "old"))
    log: list[str] = []
    kept: list[Result] = []
    parts = fake_parts(log)
    with pytest.raises(KeyboardInterrupt):
        measure_parts(parts, None, keep=lambda found: _stop_after(kept, found, 2))
    assert log == ["a on x", "b on x"]
    whole = measure_parts(parts, None, stored=kept[-1], keep=kept.append)
    assert log == ["a on x", "b on x", "c on x", "a on y"]
    assert list(whole.raw["parts"]) == log
    assert whole.raw["skipped"] == ["no library"]
    assert whole.sources == {"errors": "old"}
    measure_parts(parts, None, stored=whole)
    assert log[4:] == ["c on x"]  # what was skipped is tried again


def test_chosen_parts_are_measured_again_and_mixed_code_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    parts = fake_parts(log)
    monkeypatch.setattr(parts_module, "digests", lambda names: dict.fromkeys(names, "old"))
    whole = measure_parts(parts, None)
    monkeypatch.setattr(parts_module, "digests", lambda names: dict.fromkeys(names, "new"))
    again = measure_parts(parts, None, ["a on y"], whole)
    assert log[4:] == ["a on y"]
    assert again.sources == {"errors": "various"}
    assert measure_parts(parts, None, ["a"], again).sources == {"errors": "new"}
    assert log[5:] == ["a on x", "a on y"]


def test_an_unknown_part_is_an_error() -> None:
    with pytest.raises(ValueError, match="no part 'z'"):
        chosen_parts(["a on x"], ["z"], {})
    assert chosen_parts(["item kNN on x", "b on x"], ["item kNN"], {}) == ["item kNN on x"]


def _stop_after(kept: list[Result], found: Result, count: int) -> None:
    kept.append(found)
    if len(kept) == count:
        raise KeyboardInterrupt


# Tables and the chart.


def fit(recall: float, seed: int = 0) -> dict[str, Any]:
    metrics = dict.fromkeys(figures.METRICS, recall)
    group = {"head": {"pairs": 5, "recall@10": recall}}
    return (
        {"seed": seed, "seconds": 2.0, "answer_seconds": 0.001, "bytes": 5e6, "groups": group}
        | metrics
        | {"coverage@10": 0.5}
    )


def stored() -> dict[str, Any]:
    def part(*fits: dict[str, Any]) -> dict[str, Any]:
        facts = {"images": 9, "labels": 5, "budget": 30.0, "remark": "", "tried": 3, "tuning_seconds": 7.0}
        return {"raw": facts | {"fits": list(fits)}}

    parts = {
        f"{OURS} on corel5k": part(fit(0.6), fit(0.62), fit(0.64)),
        "EASE on corel5k": part(fit(0.63)),
        f"{OURS} on iaprtc12": part(fit(0.7)),
        "EASE on iaprtc12": part(fit(0.5)),
        "absent on corel5k": {"raw": {"skipped": "A reason."}},
    }
    return {"parts": parts, "skipped": ["A reason."]}


def test_tables_name_the_rival_that_is_ahead() -> None:
    ahead, corel, iapr = figures.score(stored()).tables
    assert ahead.rows[0] == ("corel5k", "recall@10", "EASE", "0.6300", "-0.0100", "0.0115", "**rival ahead**")
    assert [row[-1] for row in ahead.rows[4:]] == [""] * 4
    assert [row[0] for row in corel.rows] == ["EASE", "**`context`, the default**"]
    assert corel.rows[0][1:3] == ("**0.6300**", "**0.6300**")
    assert corel.rows[1][1] == "0.6200 ± 0.0200"
    assert corel.rows[0][5:] == ("0.630 / - / -", "50%", "2 s", "1 ms", "5.0 MB", "3 in 7 s")
    assert iapr.columns[0] == "iaprtc12, 9 images, 5 labels"


def test_parts_that_are_missing_are_counted() -> None:
    total = len(run.RIVALS) * 7
    assert f"{total - 4} of {total} parts are not measured yet" in run.score(stored()).notes[-1]


def test_summary_and_chart_have_every_method() -> None:
    table = figures.summary(stored(), str.upper)
    assert table.columns == ("", "COREL5K", "IAPRTC12")
    assert table.rows == [
        ("**`context`, the default**", "0.620 / 0.620", "**0.700 / 0.700**"),
        ("EASE", "**0.630 / 0.630**", "0.500 / 0.500"),
    ]
    root = ET.fromstring(chart.chart(stored()))
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"EASE", "context, the default", "Corel5k", "IAPR TC-12"} <= texts


def test_a_missing_library_is_a_reason(monkeypatch: pytest.MonkeyPatch, data: Annotations) -> None:
    class Absent(Fake):
        name = "absent"
        module = "no_such_library.models"
        install = '"vse-ens[rivals]"'

    monkeypatch.setattr(run, "RIVALS", {"fake": Fake(data), "absent": Absent(data)})
    monkeypatch.setattr(run, "real", lambda names: (dict.fromkeys(names, data), []))
    monkeypatch.setattr(run, "call", lambda function, *arguments, **_: json.loads(json.dumps(function(*arguments))))
    raw = run.measure(run.Sizes(("corel5k",), ("fake", "absent"), seeds=(0,)))
    assert raw["skipped"] == ['absent: needs "vse-ens[rivals]"; install it with: pip install "vse-ens[rivals]"']
    assert raw["parts"]["fake on corel5k"]["raw"]["fits"][0]["recall@10"] == 1.0


# The libraries, where they are installed.


@pytest.mark.parametrize("name", [name for name in run.RIVALS if name not in (OURS, "popularity")])
@pytest.mark.filterwarnings("ignore")
def test_rival_learns_the_groups_and_repeats_itself(name: str, groups: Annotations) -> None:
    rival = run.RIVALS[name]
    if rival.missing():
        pytest.skip('needs "vse-ens[rivals]"')
    split = groups.leave_one_out(seed=0)
    tuned = rival.tune(run.tuning_split(split.train), budget=0.5)
    found = [run.fit_and_test(rival, split, tuned.settings, max(tuned.epochs, 20), seed=0) for _ in range(2)]
    # By chance 10 of 35; one who knows the group finds 10 of 15.
    assert 0.5 < found[0]["recall@10"] < 0.8
    assert found[0]["recall@10"] == pytest.approx(found[1]["recall@10"], abs=0.02)
    assert found[0]["bytes"] > 0


# Weak spots.


def test_shapes_are_what_they_say(data: Annotations) -> None:
    made = {spot.name: next(spot.splits(data, 1)) for spot in weak_spots.SPOTS}
    albums, one_known, one_label, tiny, rare, turned = made.values()
    assert len(turned.train.images) == len(data.labels)
    assert turned.train.pairs + turned.test.pairs == data.pairs
    for image in range(len(turned.train.images)):
        label = int(turned.test.indices[turned.test.indptr[image]]) if turned.test.labels_per_image[image] else None
        assert label is None or data.labels.id(image) in data.labels_of(data.images.id(label))
    assert albums.train.labels_per_image.mean() > 4 * data.labels_per_image.mean()
    tested = np.flatnonzero(one_known.test.labels_per_image)
    assert (one_known.train.labels_per_image[tested] == 1).all()
    assert 0.6 < (one_label.train.labels_per_image == 1).mean() <= 1.0
    assert len(tiny.train.images) == 150
    seen = rare.train.images_per_label[rare.test.indices]
    assert ((seen >= 2) & (seen <= 5)).all()


def test_weak_spots_measure_and_score(data: Annotations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weak_spots, "real", lambda names: (dict.fromkeys(names, data), []))
    monkeypatch.setattr(weak_spots, "scenes", lambda *_: data)
    names = tuple(spot.name for spot in weak_spots.SPOTS[:3])
    raw = weak_spots.measure(weak_spots.Sizes(names, repetitions=1, methods=("EASE", "popularity")))
    (table,) = weak_spots.score(json.loads(json.dumps(raw))).tables
    assert [row[1] for row in table.rows] == ["EASE", "popularity"] * 3
    case = {"images": 1, "labels": 1, "pairs": 1, "test": 4, "labels_per_image": [1, 2, 3]}
    methods = {OURS: [fit(0.5) | {"test": 3}, fit(0.9) | {"test": 1}], "EASE": [fit(0.7) | {"test": 4}]}
    (table,) = weak_spots.score({"parts": {"x": {"raw": case | {"methods": methods}}}, "skipped": []}).tables
    assert table.rows[0][2] == "0.6000"
    assert table.rows[0][-1] == "**-0.1000** / **-0.1000**"


def test_weak_spots_skip_only_methods_without_their_library(data: Annotations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weak_spots, "real", lambda names: (dict.fromkeys(names, data), []))
    monkeypatch.setattr(type(run.RIVALS["item kNN"]), "missing", lambda _: "item kNN needs a library.")
    raw = weak_spots.measure(
        weak_spots.Sizes((weak_spots.SPOTS[1].name,), repetitions=1, methods=("item kNN", "popularity"))
    )
    score = weak_spots.score(json.loads(json.dumps(raw)))
    assert [row[1] for row in score.tables[0].rows] == ["popularity"]
    assert score.notes[1:] == ["Left out: item kNN needs a library."]
