"""The serial engine: when it refreshes, the order of its pairs, and whole epochs against algorithm 1."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from tests.support.algorithm1 import Algorithm1, KernelRandom
from tests.support.kernel_problems import annotations, random_annotations
from tests.support.training_runs import bytes_of, counted, finished, small_data
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.pool import LocalPool
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.backend import make_backend
from vse_ens.train.checkpoint import Checkpoints
from vse_ens.train.engines import SerialEngine, SliceEngine, base, make_engine, serial
from vse_ens.train.incremental import IncrementalTrainer
from vse_ens.train.tables import initial_embeddings, padded
from vse_ens.train.trainer import Trainer


def serial_config(**settings: Any) -> Config:
    given = {"dimensions": 8, "epochs": 3, "learning_rate": 0.1, "init_scale": 0.3, "positives": "iid"}
    return Config(**{"engine": "serial", "label_bias": False, "redraw_positives": False, **given, **settings})


@pytest.fixture
def engine_of() -> Iterator[Any]:
    with Workers(2) as workers:

        def make(config: Config, data: Annotations) -> tuple[SerialEngine, Embeddings]:
            embeddings = padded(initial_embeddings(config, data))
            engine = make_engine(config, data, embeddings, workers)
            assert isinstance(engine, SerialEngine)
            return engine, embeddings

        yield make


def test_the_setting_chooses_the_engine() -> None:
    data = small_data()
    with Workers(1) as workers:
        for name, engine in (("serial", SerialEngine), ("fast", SliceEngine)):
            config = serial_config(engine=name, positives="by-image", redraw_positives=True)
            assert type(make_engine(config, data, initial_embeddings(config, data), workers)) is engine


# --- the refresh period ---


def rankings_after_each_draw(engine: SerialEngine, epochs: int, rate: float) -> Iterator[NDArray[Any]]:
    """Yield the rankings after every draw of several epochs; every round is one draw."""
    for epoch in range(epochs):
        plan = engine.plan(epoch, Streams(0).child("train", epoch))
        for number in range(plan.rounds):
            engine.run_round(plan, number, rate)
            yield engine.training.sampling.rankings[:-1].copy()


@pytest.mark.parametrize(
    ("labels", "period"),
    [(2, 1), (3, 3), (7, 13), (10, 23), (12, 29)],  # |A| ln |A| = 1.39, 3.30, 13.62, 23.03, 29.82
)
def test_rankings_change_every_a_ln_a_draws_and_only_then(
    labels: int, period: int, engine_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serial, "ROUND_DRAWS", 1)
    data = random_annotations(images=12, labels=labels, most=min(labels - 1, 4))
    assert data.pairs % period or period == 1, "epochs end between two refreshes"
    engine, embeddings = engine_of(serial_config(), data)
    rng = np.random.default_rng(0)
    changed, before = [], None
    for q, rankings in enumerate(rankings_after_each_draw(engine, 4, 0.1), start=1):
        # Vectors that differ completely after every draw: each refresh shows.
        embeddings.label_vectors[:] = rng.normal(size=embeddings.label_vectors.shape)
        if before is None or (rankings != before).any():
            changed.append(q)
        before = rankings
    draws = 4 * data.pairs
    assert draws > 2 * period
    assert changed == [q for q in range(1, draws + 1) if q == 1 or q in range(period, draws + 1, period)]


def test_rankings_are_those_of_the_vectors_at_the_refresh(engine_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serial, "ROUND_DRAWS", 1)
    engine, embeddings = engine_of(serial_config(), random_annotations(images=12, labels=7, most=4))
    rankings = rankings_after_each_draw(engine, 1, 0.1)
    start = embeddings.label_vectors.copy()
    for _ in range(12):
        found = next(rankings)
        assert (found == np.argsort(-start.T, axis=1, kind="stable")).all(), "until draw 12"
    before = embeddings.label_vectors.copy()
    assert (next(rankings) == np.argsort(-before.T, axis=1, kind="stable")).all(), "from draw 13 on"


def test_refresh_setting_scales_the_period(engine_of: Any) -> None:
    data = random_annotations(images=12, labels=7, most=4)
    periods = [engine_of(serial_config(refresh=refresh), data)[0].refresh_period for refresh in (1.0, 2.0, 1e-6)]
    assert periods == [13, 27, 1]


# --- whole epochs ---


@pytest.mark.parametrize(
    "settings",
    [
        {"sampler": "vse-ens"},
        {"sampler": "vse-ens", "positives": "shuffled", "redraw_positives": True},
        {"sampler": "warp", "loss": "warp", "redraw_positives": True},
        {"sampler": "uniform", "loss": "logistic", "redraw_positives": True},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_epochs_are_those_of_algorithm_1(
    settings: dict[str, Any], engine_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serial, "ROUND_DRAWS", 17)
    data = random_annotations(images=14, labels=9, most=4)
    config = serial_config(**settings)
    engine, embeddings = engine_of(config, data)
    sampling = engine.training.sampling
    slow = Algorithm1(config, data, embeddings.image_vectors, embeddings.label_vectors, KernelRandom(0, sampling))
    counts = np.zeros(5, np.int64)
    loss = 0.0
    for epoch in range(3):
        stream = Streams(0).child("train", epoch)
        plan = engine.plan(epoch, stream)
        assert plan.rounds > 1
        done = 0
        for number in range(plan.rounds):
            stats = engine.run_round(plan, number, 0.05)
            slow.random = KernelRandom(int(stream.child("round", number).words(1)[0]), sampling)
            draws = int(stats.counts[0])
            slow.run(draws, 0.05, plan.order[done : done + draws].tolist() if len(plan.order) else None)
            done += draws
            counts += stats.counts
            loss += stats.loss
        assert done == data.pairs
    assert len(slow.refreshed_at) > 5
    assert_allclose(embeddings.label_vectors, slow.labels, atol=1e-4)
    assert_allclose(embeddings.image_vectors, slow.images, atol=1e-4)
    assert counts.tolist() == slow.counts.tolist()
    assert loss == pytest.approx(slow.loss, rel=1e-4)


# --- positives ---


@pytest.mark.parametrize("positives", ["shuffled", "by-image"])
def test_an_epoch_has_every_pair_once(positives: str, engine_of: Any) -> None:
    data = annotations([[1, 2], [], [0], [0, 1, 3, 4], [2, 4]], 5)
    engine, _ = engine_of(serial_config(positives=positives), data)
    orders = [engine.plan(epoch, Streams(0).child("train", epoch)).order.tolist() for epoch in range(6)]
    assert all(sorted(order) == list(range(data.pairs)) for order in orders)
    assert len(set(map(tuple, orders))) > 1, "epochs differ"
    images = data.image_numbers()
    together = [len(np.flatnonzero(np.diff(images[order]))) + 1 == 4 for order in orders]
    assert all(together) if positives == "by-image" else not all(together)


def test_independent_positives_repeat_and_miss_pairs(engine_of: Any) -> None:
    data = random_annotations(images=60, labels=12, most=5)
    config = serial_config(sampler="uniform", loss="logistic", regularization=0.0, redraw_positives=True)
    missed = {}
    for positives in ("iid", "shuffled"):
        engine, embeddings = engine_of(config.override(positives=positives), data)
        before = embeddings.image_vectors.copy()
        plan = engine.plan(0, Streams(0))
        for number in range(plan.rounds):
            engine.run_round(plan, number, 0.05)
        missed[positives] = int((embeddings.image_vectors == before).all(axis=1).sum())
    assert missed["shuffled"] == 0
    # An image with c labels is missed with probability exp(-c).
    expected = np.exp(-data.labels_per_image).sum()
    assert 0.3 * expected < missed["iid"] < 2.5 * expected


# --- as a training ---


@pytest.mark.usefixtures("short_rounds")
@pytest.mark.parametrize("positives", ["iid", "shuffled", "by-image"])
def test_workers_do_not_change_the_model(positives: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "PARALLEL_RANKING", 0)
    config, data = serial_config(positives=positives), small_data()
    one, two, three = (finished(config, data, workers) for workers in (1, 2, 3))
    assert bytes_of(one.embeddings) == bytes_of(two.embeddings) == bytes_of(three.embeddings)
    assert counted(one.history) == counted(two.history) == counted(three.history)
    report = one.history[0]
    assert (report.draws, report.tries, report.given_up) == (data.pairs, data.pairs, 0)
    assert 0 < report.rejected < report.draws
    assert 0 < report.violations <= report.draws


def test_choices_change_the_model() -> None:
    runs = [
        {},
        {"positives": "shuffled"},
        {"positives": "by-image"},
        {"redraw_positives": True},
        {"refresh": 2.0},
        {"rank_scale": 0.01},
        {"seed": 1},
    ]
    models = {bytes_of(finished(serial_config(**run), small_data()).embeddings)["label_vectors"] for run in runs}
    assert len(models) == len(runs)


def test_a_run_stopped_after_any_round_resumes_to_equal_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also between two refreshes: the checkpoint holds the rankings of the last one."""
    monkeypatch.setattr(serial, "ROUND_DRAWS", 11)
    config, data = serial_config(epochs=2), random_annotations(images=14, labels=9, most=4)
    whole = bytes_of(finished(config, data).model)
    rounds = sum(1 for _ in Trainer(config, data, 1).rounds())
    assert rounds >= 6
    for stop in range(rounds + 1):
        trainer = Trainer(config, data, 1)
        for _ in islice(trainer.rounds(), stop):
            pass
        Checkpoints(tmp_path / "run", data).write(trainer)
        resumed = Trainer(config, data, 2)
        assert Checkpoints(tmp_path / "run", data).resume(resumed)
        for unfinished in (trainer, resumed):
            for _ in unfinished.rounds():
                pass
            assert bytes_of(unfinished.model) == whole, f"after {stop} of {rounds} rounds"


def test_labels_can_be_held_out() -> None:
    config = serial_config(validate=True, refit=True, epochs=4, metric="auc")
    trainer = finished(config, small_data())
    assert trainer.best_validation is not None
    assert all(np.isfinite(array).all() for array in trainer.embeddings.arrays().values())


def test_a_model_can_be_updated() -> None:
    old, known = random_annotations(20, 20, 3), random_annotations(30, 20, 3)
    embeddings = finished(serial_config(), old).embeddings
    update = IncrementalTrainer(serial_config(), embeddings, old, known, epochs=2, generation=1)
    last = list(update.rounds())[-1]
    assert last.report
    assert last.report.draws > 0


# --- settings ---


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"positives": "iid"}, "^positives iid needs engine serial; set engine too, or leave it out$"),
        ({"redraw_positives": False}, "^redraw_positives False needs engine serial"),
        ({"warp_cap": False, "sampler": "warp"}, "^warp_cap False needs engine serial"),
        ({"engine": "serial"}, "^engine serial needs label_bias False, not True; set engine to fast for True$"),
        ({"engine": "serial", "label_bias": False, "tower": "context"}, "^engine serial needs tower id, not context"),
        ({"engine": "serial", "label_bias": False, "loss": "softmax"}, "^engine serial needs loss hinge or warp or"),
        ({"engine": "serial", "label_bias": False, "sampler": "dns"}, "^engine serial needs sampler uniform or"),
        ({"engine": "serial", "label_bias": False, "slices": 2}, "^engine serial needs slices 0 or 1, not 2"),
        ({"engine": "serial", "label_bias": False, "shards": 2}, "^engine serial needs shards 1, not 2"),
    ],
)
def test_settings_that_exclude_each_other_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Config(**settings)


def test_a_cluster_needs_the_fast_engine() -> None:
    with Workers(1) as workers, pytest.raises(ConfigError, match="engine serial trains in one process"):
        make_backend(serial_config(), small_data(), 1, LocalPool(workers))
