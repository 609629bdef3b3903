"""Other libraries: tuning, curves, the time to the same recall, and the libraries themselves where installed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from benchmarks.core import readme
from benchmarks.core.results import Result
from benchmarks.peers import race
from benchmarks.peers.base import Trained
from benchmarks.peers.libraries import CornacBpr
from benchmarks.peers.ours import DEFAULT, DefaultPeer

from tests.support.fake_peers import FakePeer, two_groups
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.presets import configure


@pytest.fixture(scope="module")
def data() -> Annotations:
    return scenes(150, 60)


def test_points_grow_by_a_factor_to_the_last_epoch() -> None:
    assert race.points(1) == [1]
    assert race.points(12) == [1, 2, 3, 4, 5, 6, 8, 10, 12]
    assert len(race.points(256)) < 25


def test_settings_and_epochs_are_chosen_on_training_labels(data: Annotations) -> None:
    peer = FakePeer(data)
    found = race.tune_and_train(peer, data, seeds=(0, 1))
    assert found["settings"] == {"skill": 1}
    assert found["epochs"] == 3
    assert found["tried"] == 2
    assert [[point["epoch"] for point in one] for one in found["runs"]] == [[1, 2, 3], [1, 2, 3]]
    split = data.leave_one_out(seed=0)
    trials, finals = peer.trained[:2], peer.trained[2:]
    assert all(pairs < split.train.pairs for pairs, *_ in trials)
    assert [(pairs, seed) for pairs, _, _, seed in finals] == [(split.train.pairs, 0), (split.train.pairs, 1)]
    assert found["runs"][0][-1]["recall@10"] == 1.0


def test_one_setting_is_not_tuned(data: Annotations) -> None:
    peer = FakePeer(data)
    peer.grid = ({"skill": 1},)  # type: ignore[misc]
    found = race.tune_and_train(peer, data, seeds=(0,), epochs=2)
    assert len(peer.trained) == 1
    assert (found["epochs"], found["tuning_seconds"]) == (2, 0.0)


def test_time_is_cpu_time_of_training_alone(data: Annotations, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(np.cumsum([0.0, 2.0, 100.0, 3.0, 100.0, 4.0, 100.0]).tolist())
    monkeypatch.setattr(race.time, "process_time", lambda: next(clock))
    points = race.curve(FakePeer(data), data.leave_one_out(seed=0), {"skill": 1}, [1, 2, 3], seed=0)
    assert [point["seconds"] for point in points] == [2.0, 5.0, 9.0]


def test_curve_ends_where_scores_are_not_finite(data: Annotations) -> None:
    class Diverging(FakePeer):
        def train(self, *arguments: Any) -> Iterator[Trained]:
            yield next(super().train(*arguments))
            for epoch in (2, 3):
                yield epoch, lambda images: np.full((len(images), len(data.labels)), np.nan, np.float32)

    split = data.leave_one_out(seed=0)
    assert [point["epoch"] for point in race.curve(Diverging(data), split, {"skill": 1}, [1, 2, 3], 0)] == [1]


def run(*points: tuple[float, float]) -> list[dict[str, float]]:
    return [
        {"epoch": number, "seconds": seconds, "recall@10": recall, "mrr": recall / 2}
        for number, (seconds, recall) in enumerate(points, 1)
    ]


def method(*runs: list[dict[str, float]], **settings: float) -> dict[str, Any]:
    return {"settings": settings, "epochs": 3, "tried": 6 if settings else 1, "tuning_seconds": 7.4, "runs": list(runs)}


def stored() -> dict[str, Any]:
    methods = {
        DEFAULT: method(run((1.0, 0.5), (2.0, 0.6)), run((1.0, 0.5), (3.0, 0.9)), run((1.0, 0.1), (2.0, 0.2))),
        "slow": method(run((4.0, 0.4), (5.0, 0.55)), rate=0.1),
        "diverged": method([], rate=0.1),
    }
    return {"sets": {"iaprtc12": {"images": 9, "labels": 5, "methods": methods}}, "skipped": []}


def test_every_method_is_timed_to_the_recall_of_every_other() -> None:
    ends, targets = race.score(stored()).tables
    assert ends.rows == [
        ("iaprtc12", DEFAULT, "", "0.6000", "0.3000", "2 s", "-"),
        ("iaprtc12", "slow", "rate 0.1", "0.5500", "0.2750", "5 s", "7 s, 6 settings"),
    ]
    assert targets.columns == ("data", "recall@10", DEFAULT, "slow")
    assert targets.rows == [
        ("iaprtc12", "0.5500: slow", "2 s", "5 s"),
        ("iaprtc12", f"0.6000: {DEFAULT}", "2 s", "-"),
    ]


def test_chart_of_readme_shows_the_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {"date": "2026-01-01", "cores": 1, "cpu": "A"}
    load = readme.load
    monkeypatch.setattr(
        readme, "load", lambda name: Result(facts, 1.0, stored(), {}) if name == "peers" else load(name)
    )
    texts = {element.text for element in ET.fromstring(readme.chart()).iter("{http://www.w3.org/2000/svg}text")}
    assert {"context, the default", "slow", "IAPR TC-12", "CPU seconds of training"} <= texts
    assert not {"warp", "diverged", "Open Images sample"} & texts
    assert readme.charted_methods()[0].curves["iaprtc12"] == [(1.0, 0.5), (2.0, 0.6)]


def test_absent_libraries_and_data_are_skipped(monkeypatch: pytest.MonkeyPatch, data: Annotations) -> None:
    class Absent(FakePeer):
        name = "absent"
        module = "no_such_library.models"
        install = '"vse-ens[peers]"'

    monkeypatch.setattr(race, "PEERS", {"fake": FakePeer(data), "absent": Absent(data)})
    monkeypatch.setattr(race, "real", lambda names: ({"corel5k": data}, ["A reason."]))
    monkeypatch.setattr(race, "call", lambda function, *arguments, **_: json.loads(json.dumps(function(*arguments))))
    raw = race.measure(race.Sizes(("corel5k",), ("fake", "absent"), seeds=(0,)))
    assert list(raw["sets"]["corel5k"]["methods"]) == ["fake"]
    assert raw["skipped"] == [
        "A reason.",
        'absent: needs "vse-ens[peers]"; install it with: pip install "vse-ens[peers]"',
    ]
    assert race.score(raw).tables[0].rows[0][:3] == ("corel5k", "fake", "skill 1")


def test_default_reports_every_epoch_and_its_final_model(data: Annotations) -> None:
    peer = DefaultPeer(configure("context", epochs=3))
    split = data.leave_one_out(seed=0)
    points = list(race.curve(peer, split, {}, (), seed=0))
    assert [point["epoch"] for point in points][:3] == [1, 2, 3]
    assert points[-1]["recall@10"] > 0.2


LIBRARIES = [name for name, peer in race.PEERS.items() if not peer.module.startswith("vse_ens")]


@pytest.fixture(scope="module")
def groups() -> Annotations:
    return two_groups()


@pytest.mark.parametrize("name", [*LIBRARIES, "EASE"])
@pytest.mark.filterwarnings("ignore")
def test_library_learns_the_groups_and_repeats_itself(name: str, groups: Annotations) -> None:
    peer = race.PEERS[name]
    if peer.missing():
        pytest.skip(peer.missing())
    split = groups.leave_one_out(seed=0)
    peer.prepare(split.train)
    settings = peer.grid[-1]
    epochs = race.points(min(peer.epochs, 100))
    found = [list(race.curve(peer, split, settings, epochs, seed=0)) for _ in range(2)]
    # By chance 10 of 35; one who knows the group finds 10 of 15.
    assert 0.5 < found[0][-1]["recall@10"] < 0.8
    assert [point["recall@10"] for point in found[0]] == [point["recall@10"] for point in found[1]]


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.filterwarnings("ignore")
def test_library_goes_on_where_it_was(name: str, groups: Annotations) -> None:
    peer = race.PEERS[name]
    if peer.missing():
        pytest.skip(peer.missing())
    *_, (epoch, scores) = peer.train(peer.load(groups), peer.grid[-1], (99, 100), seed=0)
    assert epoch == 100
    images = np.arange(len(groups.images))
    found, own = scores(images), np.arange(40) // 20 == images[:, None] % 2
    # One epoch alone would not tell the groups apart.
    assert found[own].mean() > found[~own].mean() + found.std()


def test_labels_without_a_pair_come_last() -> None:
    peer = CornacBpr()
    if peer.missing():
        pytest.skip(peer.missing())
    whole = Annotations.from_pairs([("a", "x"), ("a", "y"), ("b", "z"), ("b", "w")])
    known = whole.with_pairs(np.array([True, True, False, True]))
    ((_, scores),) = peer.train(peer.load(known), peer.grid[0], [1], seed=0)
    found = scores(np.array([0, 1]))
    missing = int(np.flatnonzero(known.images_per_label == 0)[0])
    assert found.shape == (2, 4)
    assert (found.argmin(axis=1) == missing).all()
    assert np.isfinite(found).all()
