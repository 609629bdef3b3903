"""Callbacks hear of the start, every epoch and the end; they may stop a training and cannot lose its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.training_runs import SMALL, bytes_of, small_data
from vse_ens.annotator import Annotator
from vse_ens.config import Config
from vse_ens.errors import ConfigError
from vse_ens.train.callbacks import Callback, FittedModel

VALIDATED = {**SMALL, "epochs": 4, "validate": True, "refit": True, "metric": "auc"}


class Recorder(Callback):
    """Records its calls."""

    def __init__(self, stop_at: int = 0, fail_in: str = "") -> None:
        self.told: list[Any] = []
        self.metrics: list[Mapping[str, float]] = []
        self._stop_at, self._fail_in = stop_at, fail_in

    def on_fit_start(self, config: Config, data: Mapping[str, int]) -> None:
        self.told.append(("start", config.sampler, dict(data)))
        self._fail("start")

    def on_epoch(self, epoch: int, metrics: Mapping[str, float]) -> bool:
        self.told.append(epoch)
        self.metrics.append(metrics)
        self._fail(f"epoch {epoch}")
        return np.bool_(epoch == self._stop_at)  # type: ignore[return-value]  # what a comparison of arrays gives

    def on_fit_end(self, model: FittedModel) -> None:
        self.told.append("end")
        self._fail("end")

    def on_fit_error(self, error: BaseException) -> None:
        self.told.append(f"error: {error}")
        self._fail("error")

    def _fail(self, where: str) -> None:
        if where == self._fail_in:
            raise RuntimeError(f"no {where}")


def test_a_callback_is_told_of_every_epoch_of_both_phases() -> None:
    data, one, two = small_data(), Recorder(), Recorder()
    model = Annotator("opt-auc", **VALIDATED).fit(data, callbacks=[one, two])
    epochs = len(model.history_)
    assert model.training_["best_epoch"] < epochs, "the final training on all pairs is reported, too"
    size = {"images": len(data.images), "labels": len(data.labels), "pairs": data.pairs}
    assert one.told == [("start", "uniform", size), *range(1, epochs + 1), "end"]
    assert two.told == one.told
    for report, metrics in zip(model.history_, one.metrics, strict=True):
        assert metrics["loss"] == report.loss
        shown = {name: value for name, value in metrics.items() if name.startswith("validation/")}
        assert shown == {f"validation/{name}": value for name, value in (report.validation or {}).items()}
    assert not model.interrupted_


def test_callbacks_do_not_change_the_model() -> None:
    model = Annotator("opt-auc", **SMALL).fit(small_data(), callbacks=[Recorder()])
    assert bytes_of(model.model_) == bytes_of(Annotator("opt-auc", **SMALL).fit(small_data()).model_)


def test_a_callback_may_stop_a_training_which_can_be_resumed(tmp_path: Path) -> None:
    settings, checkpoint = {**SMALL, "epochs": 5}, tmp_path / "checkpoint"
    stopping, other = Recorder(stop_at=2), Recorder()
    stopped = Annotator("opt-auc", **settings).fit(small_data(), callbacks=[stopping, other], checkpoint=checkpoint)
    assert stopped.interrupted_
    assert stopped.training_["epochs"] == 2
    assert stopping.told[-2:] == other.told[-2:] == [2, "end"]
    again = Recorder()
    model = Annotator("opt-auc", **settings).fit(small_data(), callbacks=[again], checkpoint=checkpoint, resume=True)
    assert again.told[1:] == [3, 4, 5, "end"]
    assert bytes_of(model.model_) == bytes_of(Annotator("opt-auc", **settings).fit(small_data()).model_)


def test_a_callback_that_raises_does_not_lose_the_checkpoint(tmp_path: Path) -> None:
    settings, checkpoint = {**SMALL, "epochs": 5}, tmp_path / "checkpoint"
    other = Recorder()
    with pytest.raises(RuntimeError, match="no epoch 3"):
        Annotator("opt-auc", **settings).fit(
            small_data(), callbacks=[Recorder(fail_in="epoch 3"), other], checkpoint=checkpoint
        )
    assert other.told[1:] == [1, 2, "error: no epoch 3"]
    again = Recorder()
    Annotator("opt-auc", **settings).fit(small_data(), callbacks=[again], checkpoint=checkpoint, resume=True)
    assert again.told[1:] == [4, 5, "end"], "nothing is trained twice"


def test_the_model_is_there_if_the_end_raises() -> None:
    model, other = Annotator("opt-auc", **SMALL), Recorder()
    with pytest.raises(RuntimeError, match="no end"):
        model.fit(small_data(), callbacks=[Recorder(fail_in="end"), other])
    assert other.told[-1] == "end"
    assert model.annotate(labels=[model.known_.labels.id(0)])


def test_an_error_of_the_training_is_told_and_raised() -> None:
    failing, other = Recorder(fail_in="error"), Recorder(fail_in="start")
    with pytest.raises(RuntimeError, match="no start") as raised:
        Annotator("opt-auc", **SMALL).fit(small_data(), callbacks=[failing, other])
    assert failing.told[-1] == other.told[-1] == "error: no start"
    assert raised.value.__notes__ == ["Recorder.on_fit_error raised RuntimeError: no error"]


def test_other_objects_are_refused_before_the_training() -> None:
    with pytest.raises(ConfigError, match=r"callbacks must be objects of vse_ens.train.callbacks.Callback, got 7"):
        Annotator("opt-auc", **SMALL).fit(small_data(), callbacks=[7])  # type: ignore[list-item]
