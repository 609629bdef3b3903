"""A run continues from any checkpoint to the same bytes, and from no checkpoint that is not its own."""

from __future__ import annotations

import errno
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.support.stored_models import contents
from tests.support.training_runs import bytes_of, counted, finished, small_config, small_data, whole_preset
from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError, ModelError
from vse_ens.model.checkpoint_store import load_state, save_state
from vse_ens.model.cpu import cpu_kind
from vse_ens.storage.writer import HashedFile
from vse_ens.train import checkpoint as checkpoint_module
from vse_ens.train.checkpoint import Checkpoints, fingerprint
from vse_ens.train.trainer import Trainer

pytestmark = pytest.mark.usefixtures("short_rounds")

RUNS: dict[str, dict[str, Any]] = {
    "slices": {"sampler": "vse-ens"},
    "one slice": {"sampler": "vse-ens", "slices": 1},
    "batches": {"sampler": "uniform", "loss": "softmax"},
    "validated": {"sampler": "vse-ens", "validate": True, "epochs": 5, "learning_rate": 0.5, "metric": "auc"},
    "stopped early": {
        "sampler": "uniform",
        "validate": True,
        "epochs": 50,
        "learning_rate": 0.5,
        "patience": 2,
        "metric": "auc",
    },
    "decaying": {"sampler": "uniform", "learning_rate_decay": 0.5, "epochs": 3},
    "features": {"sampler": "uniform", "tower": "id+features"},
    "trained anew": {"sampler": "uniform", "validate": True, "refit": True, "epochs": 3, "metric": "auc"},
    "whole preset": whole_preset().to_dict(),
    "members": whole_preset(members=3, dimensions=6).to_dict(),
    "odd length": {"sampler": "vse-ens", "dimensions": 6, "validate": True, "epochs": 3},
}


@pytest.mark.unhurried
@pytest.mark.parametrize("run", RUNS)
def test_goes_on_from_any_round_to_the_same_bytes(run: str, tmp_path: Path) -> None:
    config, data = small_config(**RUNS[run]), small_data(features=run == "features")
    whole = finished(config, data)
    final = [progress.final for progress in Trainer(config, data, 1).rounds()]
    rounds, trial = len(final), final.index(True)
    assert rounds > 5
    assert (trial > 0) is config.refit
    for stop in sorted({0, 1, 2, 3, max(trial - 1, 0), trial, trial + 1, (trial + rounds) // 2, rounds - 1, rounds}):
        trainer = Trainer(config, data, 1)
        for _ in islice(trainer.rounds(), stop):
            pass
        Checkpoints(tmp_path / "run", data).write(trainer)
        resumed = Trainer(config, data, 2)
        assert Checkpoints(tmp_path / "run", data).resume(resumed)
        assert bytes_of(resumed.model) == bytes_of(trainer.model)
        for _ in resumed.rounds():
            pass
        assert bytes_of(resumed.model) == bytes_of(whole.model), f"after {stop} of {rounds} rounds"
        assert resumed.model.label_weights_scale == whole.model.label_weights_scale
        assert resumed.label_weights_regularization == whole.label_weights_regularization
        assert counted(resumed.history) == counted(whole.history)
        assert resumed.best_epoch == whole.best_epoch
        assert resumed.best_validation == whole.best_validation


def test_a_checkpoint_of_a_checkpoint(tmp_path: Path) -> None:
    config, data = small_config(sampler="vse-ens", validate=True), small_data()
    checkpoints = Checkpoints(tmp_path / "run", data)
    trainer = Trainer(config, data, 1)
    while not trainer.finished:
        for _ in islice(trainer.rounds(), 1):
            pass
        checkpoints.write(trainer)
        trainer = Trainer(config, data, 1)
        assert checkpoints.resume(trainer)
    assert bytes_of(trainer.embeddings) == bytes_of(finished(config, data).embeddings)


def test_without_a_checkpoint_there_is_nothing_to_resume(tmp_path: Path) -> None:
    trainer = Trainer(small_config(), small_data(), 1)
    assert Checkpoints(tmp_path / "none", small_data()).resume(trainer) is False


def test_other_settings_are_refused(tmp_path: Path) -> None:
    config, data = small_config(sampler="uniform"), small_data()
    Checkpoints(tmp_path / "run", data).write(Trainer(config, data, 1))
    other = Trainer(replace(config, regularization=0.5), data, 1)
    with pytest.raises(ConfigError, match=r"run was started with regularization 0.01, not 0.5; resume with the same"):
        Checkpoints(tmp_path / "run", data).resume(other)


def test_other_data_is_refused(tmp_path: Path) -> None:
    config, data = small_config(sampler="uniform"), small_data()
    Checkpoints(tmp_path / "run", data).write(Trainer(config, data, 1))
    fewer = data.with_pairs(np.arange(data.pairs) > 0)
    with pytest.raises(ConfigError, match=r"run is a checkpoint of other data; resume with the pairs"):
        Checkpoints(tmp_path / "run", fewer).resume(Trainer(config, fewer, 1))


def test_another_kind_of_cpu_is_refused_unless_it_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, data = small_config(sampler="uniform"), small_data()
    Checkpoints(tmp_path / "run", data).write(Trainer(config, data, 1))
    kind = cpu_kind()
    monkeypatch.setattr(checkpoint_module, "cpu_kind", lambda: "elbrus")
    with pytest.raises(ConfigError) as refused:
        Checkpoints(tmp_path / "run", data).resume(Trainer(config, data, 1))
    assert str(refused.value) == (
        f"{tmp_path / 'run'} was computed as {kind}, and this CPU computes as elbrus, so that the last bits would "
        "differ; resume on a CPU of that kind, or add --allow-mixed-cpus"
    )
    mixed = Checkpoints(tmp_path / "run", data, allow_mixed_cpus=True)
    trainer = Trainer(config, data, 1)
    assert mixed.resume(trainer)
    mixed.write(trainer)
    assert load_state(tmp_path / "run").state["cpus"] == sorted([kind, "elbrus"])
    with pytest.raises(ConfigError, match="was computed as "):
        Checkpoints(tmp_path / "run", data).resume(Trainer(config, data, 1))


def test_a_portable_run_goes_on_portably(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, data = small_config(sampler="uniform"), small_data()
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_module, "cpu_kind", lambda: "x86-64-v3, NumPy X86_V3, OpenBLAS Haswell")
        Checkpoints(tmp_path / "run", data).write(Trainer(config, data, 1))
    monkeypatch.setattr(checkpoint_module, "cpu_kind", lambda: "x86-64-v3 (x86-64-v3), NumPy X86_V3, OpenBLAS Zen")
    with pytest.raises(ConfigError, match=r"the last bits would differ; add --portable$"):
        Checkpoints(tmp_path / "run", data).resume(Trainer(config, data, 1))


def test_a_checkpoint_that_does_not_name_its_cpu_is_resumed(tmp_path: Path) -> None:
    config, data = small_config(sampler="uniform"), small_data()
    arrays, state = Trainer(config, data, 1).state()
    save_state(tmp_path / "run", arrays, {**state, "data": fingerprint(data)})
    assert Checkpoints(tmp_path / "run", data).resume(Trainer(config, data, 1))


def test_checkpoints_are_written_when_due(tmp_path: Path) -> None:
    config, data = small_config(sampler="uniform"), small_data()
    trainer = Trainer(config, data, 1)
    rare, often = Checkpoints(tmp_path / "rare", data, seconds=3600.0), Checkpoints(tmp_path / "often", data, seconds=0)
    for checkpoints in (rare, often):
        checkpoints.after_round(trainer)
    assert not rare.path.exists()
    assert often.path.exists()


class Clock:
    """A clock that moves only on demand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(checkpoint_module.time, "monotonic", lambda: self.now)


@pytest.mark.parametrize(("cost", "pause"), [(0.0, 2.0), (0.1, 2.0), (0.5, 10.0), (30.0, 600.0)])
def test_writing_takes_at_most_a_twentieth_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cost: float, pause: float
) -> None:
    """The pause after a checkpoint is two seconds, or twenty times as long as writing it took."""
    clock, written = Clock(monkeypatch), []
    trainer = Trainer(small_config(sampler="uniform"), small_data(), 1)

    def write(*_: Any) -> None:
        written.append(clock.now)
        clock.now += cost

    monkeypatch.setattr(checkpoint_module, "save_state", write)
    checkpoints = Checkpoints(tmp_path / "run", small_data())
    checkpoints.after_round(trainer)
    assert written == [], "the first is due after two seconds"
    clock.now += 2.0
    checkpoints.after_round(trainer)
    assert len(written) == 1
    clock.now += pause - 0.01
    checkpoints.after_round(trainer)
    assert len(written) == 1
    clock.now += 0.02
    checkpoints.after_round(trainer)
    assert len(written) == 2


def test_a_full_disk_does_not_end_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock, config, data = Clock(monkeypatch), small_config(sampler="uniform"), small_data()
    trainer = Trainer(config, data, 1)
    checkpoints = Checkpoints(tmp_path / "run", data)
    checkpoints.write(trainer)
    before = contents(tmp_path / "run")
    write = HashedFile.write
    full = True

    def fill(self: HashedFile, content: Any) -> int:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(self, content)

    monkeypatch.setattr(HashedFile, "write", fill)
    for _ in islice(trainer.rounds(), 3):
        clock.now += 100.0
        checkpoints.after_round(trainer)
    [warning] = caplog.messages
    assert "run could not be written: No space left on device" in warning
    assert warning.endswith("training continues without a new checkpoint")
    assert contents(tmp_path / "run") == before, "the last checkpoint is kept"
    full = False
    clock.now += 100.0
    checkpoints.after_round(trainer)
    assert contents(tmp_path / "run") != before
    full = True
    clock.now += 100.0
    checkpoints.after_round(trainer)
    assert len(caplog.messages) == 2, "a new failure is a new warning"


def test_a_checkpoint_that_cannot_be_made_ends_the_training(tmp_path: Path) -> None:
    class Broken(Trainer):
        def state(self) -> Any:
            return {}, {"best": float("nan")}

    checkpoints = Checkpoints(tmp_path / "run", small_data(), seconds=0.0)
    with pytest.raises(ModelError, match="must be plain JSON"):
        checkpoints.after_round(Broken(small_config(sampler="uniform"), small_data(), 1))


SPOILED: dict[str, Any] = {
    "a type": lambda arrays, state: arrays.update(
        {"current.label_vectors": arrays["current.label_vectors"].astype("f8")}
    ),
    "a row less": lambda arrays, state: arrays.update({"current.label_bias": arrays["current.label_bias"][:-1]}),
    "a column less": lambda arrays, state: arrays.update({"best.label_vectors": arrays["best.label_vectors"][:, :-1]}),
    "no inputs": lambda arrays, state: arrays.pop("current.input_vectors"),
    "fewer inputs": lambda arrays, state: arrays.update(
        {"current.input_vectors": arrays["current.input_vectors"][:-1]}
    ),
    "an extra": lambda arrays, state: arrays.update({"current.more": np.zeros(3)}),
    "a pair out of range": lambda arrays, state: arrays["current.label_pairs"].__setitem__(0, (0, 10**6)),
    "a negative pair": lambda arrays, state: arrays["best.label_pairs"].__setitem__(0, (-1, 3)),
    "no vectors": lambda arrays, state: [arrays.pop(name) for name in list(arrays) if name.startswith("current.")],
    "no state": lambda arrays, state: state.clear(),
    "no backend": lambda arrays, state: state.update(backend=None),
    "a negative round": lambda arrays, state: state.update(round=-3),
    "an epoch of text": lambda arrays, state: state.update(epoch="1"),
    "no config": lambda arrays, state: state.update(config=3),
    "a history of numbers": lambda arrays, state: state.update(history=[1, 2]),
}


@pytest.mark.parametrize("what", SPOILED)
def test_a_sealed_checkpoint_of_another_run_is_refused(what: str, tmp_path: Path) -> None:
    config, data = whole_preset(), small_data()
    trainer = Trainer(config, data, 1)
    for _ in islice(trainer.rounds(), 12):
        pass
    arrays, state = trainer.state()
    assert "best.label_vectors" in arrays
    assert len(arrays["current.label_pairs"])
    state = {**state, "data": fingerprint(data)}
    SPOILED[what](arrays, state)
    save_state(tmp_path / "run", arrays, state)
    with pytest.raises(ModelError, match=r"run is damaged: .*; delete the checkpoint and start without --resume"):
        Checkpoints(tmp_path / "run", data).resume(Trainer(config, data, 1))


@pytest.mark.parametrize("settings", [{"engine": "serial", "slices": 0, "label_bias": False}, {"slices": 2}])
def test_rankings_of_a_checkpoint_out_of_range_are_refused(settings: dict[str, Any], tmp_path: Path) -> None:
    config = small_config(sampler="vse-ens", **settings)
    data = small_data()
    trainer = Trainer(config, data, 1)
    for _ in islice(trainer.rounds(), 2):
        pass
    arrays, state = trainer.state()
    for rankings in (arrays["engine.rankings"] + len(data.labels), arrays["engine.rankings"][:, :-1]):
        save_state(tmp_path / "run", arrays | {"engine.rankings": rankings}, {**state, "data": fingerprint(data)})
        resumed = Trainer(config, data, 1)
        assert Checkpoints(tmp_path / "run", data).resume(resumed)
        with pytest.raises(ModelError, match=r"the checkpoint is damaged: the array 'rankings' must"):
            next(iter(resumed.rounds()))


def renamed(data: Annotations, images: str = "", labels: str = "") -> Annotations:
    """The same pairs of other ids."""
    return replace(
        data,
        images=Vocabulary.from_ids([images + one for one in data.images], "image"),
        labels=Vocabulary.from_ids([labels + one for one in data.labels], "label"),
    )


def test_a_fingerprint_sees_ids_pairs_and_features() -> None:
    data = small_data()
    dense = np.zeros((len(data.images), 3), np.float32)
    dense[0, 1] = 2.0
    moved = np.roll(dense, 1, axis=1)
    variants = [
        data,
        renamed(data, images="x"),
        renamed(data, labels="x"),
        replace(data, images=Vocabulary.from_ids([*list(data.images)[:-1], "zzz"], "image")),
        data.with_pairs(np.arange(data.pairs) > 0),
        data.with_features(dense),
        data.with_features(moved),
        data.with_features(sparse.csr_array(dense)),
        data.with_features(sparse.csr_array(moved)),
    ]
    # The same number of labels of each image, the same labels in a row, and ids at the first place.
    variants += [
        Annotations.from_pairs(pairs)
        for pairs in (
            [("a", "x"), ("b", "x"), ("b", "y"), ("c", "z")],
            [("a", "y"), ("b", "x"), ("b", "y"), ("c", "z")],
            [("a", "x"), ("a", "y"), ("b", "z")],
            [("a", "x"), ("b", "y"), ("b", "z")],
            [("A", "x"), ("b", "y"), ("b", "z")],
        )
    ]
    assert len({fingerprint(variant) for variant in variants}) == len(variants)
    assert fingerprint(data) == fingerprint(small_data())
