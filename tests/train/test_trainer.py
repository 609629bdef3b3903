"""Epochs: what is reported, what is kept, when it ends."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice

import numpy as np
import pytest

from tests.support.kernel_problems import annotations
from tests.support.training_runs import bytes_of, counted, finished, small_config, small_data, whole_preset
from vse_ens.config import METRICS
from vse_ens.data.datasets.scenes import scenes
from vse_ens.errors import DataError, TrainingError
from vse_ens.label_weights.learn import learn_label_weights
from vse_ens.model.embeddings import Embeddings
from vse_ens.model.model import Model
from vse_ens.run.pool import LocalPool
from vse_ens.run.threads import Workers
from vse_ens.train import validation
from vse_ens.train.trainer import Trainer
from vse_ens.train.validation import ValidationResult, Validator

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
    monkeypatch.setattr(Validator, "validate", lambda *_: ValidationResult(dict.fromkeys(METRICS, next(told)), 0.0))
    trainer = Trainer(
        small_config(sampler="uniform", validate=True, epochs=4, patience=3, metric="map"), small_data(), 1
    )
    models = [trainer._backend.tables.copy() for _ in trainer.epochs()]
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
    assert len(trainer.history) == max(trainer.best_epoch + 3, 6) < 100
    assert trainer.finished


def test_held_out_labels_are_not_trained_on() -> None:
    data = small_data()
    trainer = finished(small_config(sampler="uniform", validate=True), data)
    assert 0 < data.pairs - trainer.history[0].draws <= np.count_nonzero(data.labels_per_image >= 2)


def test_validation_needs_images_with_two_labels() -> None:
    with pytest.raises(DataError, match="no image has two labels"):
        Trainer(small_config(validate=True), annotations([[0], [1], [2]], 3)).prepare()


@pytest.mark.parametrize("validate", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "softmax"])
def test_divergence_stops_the_run_with_advice(loss: str, validate: bool) -> None:
    """Validation may be the first to notice, because only it reads the vectors of images."""
    settings = {"learning_rate": 10, "regularization": 10, "epochs": 100, "validate": validate}
    config = small_config(sampler="uniform", loss=loss, **settings)
    with pytest.raises(TrainingError, match=r"diverged in epoch \d+: .* lower the learning rate \(10\)"):
        finished(config, small_data())


@pytest.mark.parametrize("loss", ["hinge", "softmax"])
def test_vectors_of_odd_length_are_padded_with_zeros(loss: str) -> None:
    data = small_data()
    trainer = finished(small_config(sampler="vse-ens", loss=loss, dimensions=6), data)
    assert trainer.embeddings.dimensions == 6
    assert trainer._backend.tables.dimensions == 8
    assert not trainer._backend.tables.label_vectors[:, 6:].any()
    assert not trainer._backend.tables.image_vectors[:, 6:].any()
    two = finished(small_config(sampler="vse-ens", loss=loss, dimensions=6), data, workers=2)
    assert bytes_of(trainer.embeddings) == bytes_of(two.embeddings)


# --- trained anew on all pairs ---

TOLD = [(0.1, 5.0), (0.3, 40.0), (0.2, 80.0), (0.25, 80.0)]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of four epochs is best."""
    turns: Counter[Validator] = Counter()

    def validate(self: Validator, _: Embeddings) -> ValidationResult:
        value, weight = TOLD[turns[self]]
        turns[self] += 1
        return ValidationResult(dict.fromkeys(METRICS, value), weight)

    monkeypatch.setattr(Validator, "validate", validate)


def trial_models(trainer: Trainer) -> list[Embeddings]:
    """What the trial has after each of its epochs; the trainer is left at its end."""
    return [trainer._backend.tables.copy() for _ in islice(trainer.epochs(), len(TOLD))]


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize("tower", ["context", "context+id"])
def test_the_final_model_is_trained_on_all_pairs(tower: str) -> None:
    config, data = whole_preset(epochs=9, tower=tower, neighbors=False), small_data()
    trainer = finished(config, data)
    plain = finished(config.without_validation().override(epochs=2), data)
    assert [report.epoch for report in trainer.history] == [1, 2, 3, 4, 1, 2]
    assert counted(trainer.history[4:]) == counted(plain.history)
    assert [report.draws for report in trainer.history[4:]] == [data.pairs, data.pairs]
    assert max(report.draws for report in trainer.history[:4]) < data.pairs
    assert bytes_of(trainer.embeddings) == bytes_of(plain.embeddings)
    assert trainer.best_epoch == trainer.model_epochs == 2
    assert trainer.best_validation == dict.fromkeys(METRICS, 0.3)


@pytest.mark.usefixtures("told")
def test_scores_of_members_are_averaged() -> None:
    config, data = whole_preset(members=3, dimensions=6, neighbors=False, label_weights=False), small_data()
    trainer = Trainer(config, data, 1)
    steps = list(trainer.rounds())
    members = [*trainer._members, trainer._backend.tables]
    images = np.arange(len(data.images))
    scores = [Model(member).scores(images, data) for member in members]
    assert len(scores) == 3
    np.testing.assert_allclose(trainer.model.scores(images, data), np.mean(scores, axis=0), rtol=1e-4, atol=1e-6)
    assert not np.allclose(scores[0], scores[1])
    assert trainer.embeddings.dimensions == 18
    alone = finished(config.override(members=1), data).embeddings
    np.testing.assert_array_equal(alone.label_vectors, members[0].label_vectors[:, :6])
    final = [step for step in steps if step.final]
    assert {step.epochs for step in final} == {6}
    assert [step.epoch for step in final if step.report] == [1, 2, 3, 4, 5, 6]


@pytest.mark.usefixtures("told")
def test_label_weights_are_of_all_pairs_at_the_best_scale() -> None:
    data = small_data()
    trainer = finished(whole_preset(epochs=9), data)
    assert trainer.model.label_weights_scale == 40.0
    assert trainer.label_weights_regularization is not None
    with Workers(1) as workers:
        whole = learn_label_weights(data, trainer.label_weights_regularization, LocalPool(workers))
    assert trainer.model.label_weights is not None
    np.testing.assert_array_equal(trainer.model.label_weights.values, whole.values)


def test_label_weights_of_scale_0_are_not_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Validator, "validate", lambda *_: ValidationResult(dict.fromkeys(METRICS, 0.5), 0.0))
    asked, not_asked = (finished(whole_preset(label_weights=memory), small_data()) for memory in (True, False))
    assert asked.model.label_weights is not_asked.model.label_weights is None
    assert asked.label_weights_regularization is not None
    assert not_asked.label_weights_regularization is None


def test_label_weights_that_lose_their_scale_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    results = [ValidationResult(dict.fromkeys(METRICS, value), scale) for value, scale in ((0.1, 20.0), (0.2, 0.0))]
    monkeypatch.setattr(Validator, "validate", lambda *_: results.pop(0))
    trainer = Trainer(whole_preset(epochs=2), small_data(), 1)
    epochs = trainer.epochs()
    next(epochs)
    assert trainer.model.label_weights is not None
    for _ in epochs:
        pass
    assert trainer.model.label_weights is None


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize(("held_out", "refit"), [(2, True), (8, False)])
def test_few_held_out_labels_or_no_refit_train_once(
    held_out: int, refit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation, "_MAX_IMAGES", held_out)
    trainer = Trainer(whole_preset(refit=refit), small_data(), 1)
    models = trial_models(trainer)
    assert trainer.finished
    assert len(trainer.history) == 4
    assert bytes_of(trainer.embeddings) == bytes_of(models[1])


@pytest.mark.usefixtures("told")
def test_interrupted_in_the_trial_it_gives_the_best_so_far() -> None:
    trainer = Trainer(whole_preset(), small_data(), 1)
    models: list[Embeddings] = []
    for progress in trainer.rounds():
        if progress.report:
            models.append(trainer._backend.tables.copy())
        if models:
            assert bytes_of(trainer.embeddings) == bytes_of(models[:2][-1])
        assert not trainer.finished
        if len(models) == 3:
            break
    assert trainer.model.label_weights_scale == 40.0


@pytest.mark.usefixtures("told")
def test_an_interrupted_refit_gives_the_best_epoch_of_the_trial() -> None:
    trainer = Trainer(whole_preset(), small_data(), 1)
    best = bytes_of(trial_models(trainer)[1])
    seen = 0
    while not trainer.finished:
        assert bytes_of(trainer.embeddings) == best
        seen += len(list(islice(trainer.rounds(), 1)))
    assert seen > 3
    assert bytes_of(trainer.embeddings) != best


@pytest.mark.usefixtures("told")
def test_progress_tells_the_two_parts_apart() -> None:
    steps = list(Trainer(whole_preset(epochs=9), small_data(), 1).rounds())
    trial = [step for step in steps if not step.final]
    assert steps[: len(trial)] == trial
    assert {step.epochs for step in trial} == {9}
    assert {step.epochs for step in steps[len(trial) :]} == {2}
    assert [step.epoch for step in steps if step.report] == [1, 2, 3, 4, 1, 2]
    alone = list(Trainer(whole_preset(epochs=9, refit=False), small_data(), 1).rounds())
    assert {(step.final, step.epochs) for step in alone} == {(True, 9)}


@pytest.mark.parametrize("tower", ["context", "context+id", "id"])
def test_workers_do_not_change_what_the_whole_preset_gives(tower: str) -> None:
    for data in (small_data(), scenes(images=300, labels=60, seed=1)):
        one, two, three = (finished(whole_preset(tower=tower), data, workers) for workers in (1, 2, 3))
        assert one.history[-1].validation is None, "it was trained anew"
        for other in (two, three):
            assert bytes_of(one.model) == bytes_of(other.model)
            assert one.model.label_weights_scale == other.model.label_weights_scale
            assert counted(one.history) == counted(other.history)
            assert one.label_weights_regularization == other.label_weights_regularization
            assert one.best_validation == other.best_validation
    assert one.model.label_weights is not None
