"""Epochs: what is reported, what is kept, when it ends."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

import numpy as np
import pytest

from kernels.problems import annotations
from train.runs import bytes_of, counted, finished, small_config, small_data, whole_preset
from vse_ens.config import METRICS
from vse_ens.errors import DataError, TrainingError
from vse_ens.memory.learn import learn_memory
from vse_ens.run.threads import Workers
from vse_ens.train.judge import Judge, Judgement
from vse_ens.train.trainer import Trainer

pytestmark = pytest.mark.usefixtures("short_rounds")


def test_leaves_a_usable_model_after_every_round() -> None:
    data = small_data()
    trainer = Trainer(small_config(sampler="vse-ens"), data, 1)
    seen = [bytes_of(trainer.embeddings)["label_vectors"]]
    for progress in trainer.rounds():
        scores = trainer.embeddings.scores(trainer.embeddings.vectors(np.arange(len(data.images))))
        assert np.isfinite(scores).all()
        seen.append(bytes_of(trainer.embeddings)["label_vectors"])
        assert progress.rounds_done <= progress.rounds
    assert len(set(seen)) == len(seen)
    assert len(seen) > 5


def test_reports_add_up() -> None:
    data = small_data()
    trainer = finished(small_config(sampler="vse-ens", epochs=3, learning_rate_decay=0.5), data)
    assert [report.epoch for report in trainer.history] == [1, 2, 3]
    assert [report.learning_rate for report in trainer.history] == [0.05, 0.025, 0.0125]
    for report in trainer.history:
        assert report.draws == data.pairs
        assert report.tries == report.draws - report.given_up + report.rejected
        assert 0 < report.violations <= report.draws
        assert 0.0 < report.refresh_share < 1.0
        assert report.loss > 0
        json.dumps(report.to_dict())
    assert trainer.finished
    assert trainer.best_epoch == 3
    assert trainer.best_validation is None


def test_stopping_between_rounds_and_going_on_changes_nothing() -> None:
    config, data = small_config(sampler="vse-ens"), small_data()
    trainer = Trainer(config, data, 1)
    while not trainer.finished:
        for _ in trainer.rounds():
            break
    whole = finished(config, data)
    assert bytes_of(trainer.embeddings) == bytes_of(whole.embeddings)
    assert counted(trainer.history) == counted(whole.history)


def test_validation_keeps_the_best_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    told = iter([0.1, 0.3, 0.2, 0.25])
    monkeypatch.setattr(Judge, "judge", lambda *_: Judgement(dict.fromkeys(METRICS, next(told)), 0.0))
    trainer = Trainer(
        small_config(sampler="uniform", validate=True, epochs=4, patience=3, metric="map"), small_data(), 1
    )
    models = [trainer._current.copy() for _ in trainer.epochs()]
    assert trainer.best_epoch == 2
    assert bytes_of(trainer.embeddings) == bytes_of(models[1])
    assert bytes_of(trainer.embeddings) != bytes_of(models[3])
    assert trainer.best_validation == dict.fromkeys(METRICS, 0.3)


def test_validation_measures_the_chosen_metric_after_every_epoch() -> None:
    trainer = finished(small_config(sampler="uniform", validate=True, epochs=4, patience=9, metric="auc"), small_data())
    values = [report.validation["auc"] for report in trainer.history if report.validation]
    assert len(values) == 4
    assert trainer.best_epoch == int(np.argmax(values)) + 1


def test_validation_stops_when_patience_is_over() -> None:
    config = small_config(sampler="uniform", validate=True, epochs=100, learning_rate=0.5, patience=3, metric="auc")
    trainer = finished(config, small_data())
    assert len(trainer.history) == trainer.best_epoch + 3 < 100
    assert trainer.finished


def test_held_out_labels_are_not_trained_on() -> None:
    data = small_data()
    trainer = finished(small_config(sampler="uniform", validate=True), data)
    assert 0 < data.pairs - trainer.history[0].draws <= np.count_nonzero(data.labels_per_image >= 2)


def test_validation_needs_images_with_two_labels() -> None:
    with pytest.raises(DataError, match="two or more labels"):
        Trainer(small_config(validate=True), annotations([[0], [1], [2]], 3))


@pytest.mark.parametrize("loss", ["hinge", "logistic", "softmax"])
def test_divergence_stops_the_run_with_advice(loss: str) -> None:
    config = small_config(sampler="uniform", loss=loss, learning_rate=10, regularization=10, epochs=100)
    with pytest.raises(TrainingError, match=r"diverged in epoch \d+: .* lower the learning rate \(10\)"):
        finished(config, small_data())


@pytest.mark.parametrize("loss", ["hinge", "softmax"])
def test_vectors_of_an_odd_length_are_trained_with_zeros_behind_them(loss: str) -> None:
    data = small_data()
    trainer = finished(small_config(sampler="vse-ens", loss=loss, dimensions=6), data)
    assert trainer.embeddings.dimensions == 6
    assert trainer._current.dimensions == 8
    assert not trainer._current.label_vectors[:, 6:].any()
    assert not trainer._current.image_vectors[:, 6:].any()
    two = finished(small_config(sampler="vse-ens", loss=loss, dimensions=6), data, workers=2)
    assert bytes_of(trainer.embeddings) == bytes_of(two.embeddings)


# --- trained anew on all pairs ---

TOLD = [(0.1, 5.0), (0.3, 40.0), (0.2, 80.0), (0.25, 80.0)]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of four epochs is best."""
    monkeypatch.setattr(
        Judge,
        "judge",
        lambda self, *_: Judgement(dict.fromkeys(METRICS, TOLD[next(self.__dict__.setdefault("turn", iter(range(9))))][0]), TOLD[1][1]),
    )
