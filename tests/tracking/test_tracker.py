"""What all trackers share, with a service that records its calls."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.training_runs import SMALL, small_data
from vse_ens.annotator import Annotator
from vse_ens.errors import ConfigError, MissingPartError
from vse_ens.tracking import MlflowTracker, TensorBoardTracker, Tracker, WandbTracker, parse_tracker

VALIDATED = {**SMALL, "validate": True, "metric": "auc"}


class Service(Tracker):
    title = "Service"

    def __init__(self, folder: Path, fail_in: str = "") -> None:
        super().__init__()
        self.folder, self.fail_in = folder, fail_in
        self.told: list[Any] = []

    def start(self, parameters: Mapping[str, Any]) -> None:
        self._tell("start", parameters)

    def log(self, epoch: int, metrics: Mapping[str, float]) -> None:
        self._tell(f"epoch {epoch}", metrics)

    def save_model(self, save: Callable[[Path], None]) -> None:
        save(self.folder / "model")
        self._tell("model", None)

    def finish(self, failed: bool) -> None:
        self._tell("finish", failed)

    def _tell(self, what: str, content: Any) -> None:
        self.told.append((what, content))
        if what == self.fail_in:
            raise OSError(f"no {what}.\nSecond sentence")


def test_settings_metrics_and_the_model_are_recorded(tmp_path: Path) -> None:
    data, service = small_data(), Service(tmp_path)
    model = Annotator("opt-auc", **VALIDATED).fit(data, callbacks=[service])
    assert [what for what, _ in service.told] == ["start", "epoch 1", "epoch 2", "epoch 2", "model", "finish"]
    assert service.told[0][1] == model.config_.to_dict() | {
        "data.images": len(data.images),
        "data.labels": len(data.labels),
        "data.pairs": data.pairs,
    }
    best = service.told[3][1]
    assert best["best/epoch"] == model.training_["best_epoch"]
    assert best["best/auc"] == model.history_[model.training_["best_epoch"] - 1].validation["auc"]  # type: ignore[index]
    assert service.told[-1] == ("finish", False)
    assert Annotator.load(tmp_path / "model").config_ == model.config_
    assert not hasattr(model, "_saved"), "the model does not remember the tracker's copy"


def test_a_service_that_fails_at_the_start_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        Annotator("opt-auc", **SMALL).fit(small_data(), callbacks=[Service(tmp_path, fail_in="start")])
    assert str(raised.value) == "Service cannot record this training (no start); correct this, or train without it"


@pytest.mark.parametrize("where", ["epoch 1", "model", "finish"])
def test_a_service_that_fails_later_does_not_end_the_training(
    where: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service = Service(tmp_path, fail_in=where)
    with caplog.at_level(logging.WARNING):
        model = Annotator("opt-auc", **SMALL).fit(small_data(), callbacks=[service])
    assert model.training_["complete"]
    assert service.told[-1][0] == where, "it is not called again"
    [record] = caplog.records
    assert record.getMessage() == f"Service failed (no {where}); the training continues and is recorded no further"


def test_a_training_that_fails_is_recorded_as_failed(tmp_path: Path) -> None:
    first, second = Service(tmp_path), Service(tmp_path, fail_in="start")
    with pytest.raises(ConfigError):
        Annotator("opt-auc", **SMALL).fit(small_data(), callbacks=[first, second])
    assert first.told[-1] == ("finish", True)
    assert len(second.told) == 1, "one that did not start does not end"


def test_a_text_names_a_tracker() -> None:
    server, file, default = (parse_tracker(f"mlflow{more}") for more in (":http://localhost:5000", ":runs.db", ""))
    assert isinstance(server, MlflowTracker)
    assert isinstance(file, MlflowTracker)
    assert isinstance(default, MlflowTracker)
    assert (server.uri, file.uri, default.uri) == ("http://localhost:5000", "sqlite:///runs.db", None)
    offline = parse_tracker("wandb:holidays")
    assert isinstance(offline, WandbTracker)
    assert (offline.project, offline.mode) == ("holidays", "offline")
    board = parse_tracker("tensorboard:runs/1")
    assert isinstance(board, TensorBoardTracker)
    assert board.folder == Path("runs/1")


@pytest.mark.parametrize("text", ["neptune", "tensorboard", "", "mlflows:x"])
def test_a_text_that_names_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="track must be mlflow, mlflow:URI, wandb, wandb:PROJECT or tensorboard:DIR"):
        parse_tracker(text)


def test_a_missing_library_is_named_with_its_install_command() -> None:
    tracker = Tracker()
    tracker.title = "Nothing"
    with pytest.raises(
        MissingPartError, match=r"Nothing is not installed; install it with: pip install 'vse-ens\[no_library\]'"
    ):
        tracker.library("no_library.client")
