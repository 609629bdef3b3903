"""The real libraries with a local store: what a training records can be read back with them."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from tests.support.training_runs import SMALL, small_data
from vse_ens.annotator import Annotator
from vse_ens.tracking import MlflowTracker, TensorBoardTracker, WandbTracker

pytestmark = pytest.mark.tracking

SETTINGS = {**SMALL, "epochs": 3, "validate": True, "metric": "auc"}


def fitted(tracker: Any) -> Annotator:
    return Annotator("opt-auc", **SETTINGS).fit(small_data(), callbacks=[tracker])


def check_model(path: Path, model: Annotator) -> None:
    image = model.known_.images.id(1)
    assert Annotator.load(path).annotate(image) == model.annotate(image)


def losses(model: Annotator) -> list[tuple[int, float]]:
    return [(report.epoch, pytest.approx(report.loss)) for report in model.history_]


def recalls(model: Annotator) -> list[tuple[int, float]]:
    return [(one.epoch, pytest.approx(one.validation["recall@10"])) for one in model.history_ if one.validation]


def wandb_records(content: bytes) -> Iterator[bytes]:
    """Read an offline run, a log of LevelDB: blocks of 32 KiB of chunks, each with checksum, length and type."""
    place, record = 7, b""  # after the header
    while place + 7 <= len(content):
        left = 32_768 - place % 32_768
        if left < 7:
            place += left
            continue
        _, length, kind = struct.unpack_from("<IHB", content, place)
        if place + 7 + length > len(content):  # still being written
            return
        record += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # a whole record, or the last chunk of one
            yield record
            record = b""


# MLflow uses a loader strategy that SQLAlchemy 2.1 has deprecated.
@pytest.mark.unhurried
@pytest.mark.filterwarnings("ignore:The ``noload`` loader:DeprecationWarning")
def test_mlflow_with_an_sqlite_file(tmp_path: Path) -> None:
    tracking = pytest.importorskip("mlflow.tracking", reason="MLflow is not installed: pip install 'vse-ens[mlflow]'")
    tracker = MlflowTracker(str(tmp_path / "runs.db"), artifacts=(tmp_path / "artifacts").as_uri())
    model = fitted(tracker)
    client = tracking.MlflowClient(tracking_uri=f"sqlite:///{tmp_path}/runs.db")
    run = client.get_run(tracker.run_id)
    assert run.info.status == "FINISHED"
    assert run.data.params["learning_rate"] == str(model.config_.learning_rate)
    assert run.data.params["data.pairs"] == str(model.known_.pairs)
    assert run.data.metrics["best/epoch"] == model.training_["best_epoch"]

    def history(name: str) -> list[tuple[int, float]]:
        return [(one.step, one.value) for one in client.get_metric_history(tracker.run_id, name)]

    assert history("loss") == losses(model)
    assert history("validation/recall_at_10") == recalls(model)
    # Not by the client: that of MLflow 3.0 looks for artifacts in the default database.
    check_model(Path(url2pathname(urlsplit(run.info.artifact_uri).path)) / "model", model)


@pytest.mark.unhurried
def test_weights_and_biases_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed: pip install 'vse-ens[wandb]'")
    from wandb.proto.wandb_internal_pb2 import Record

    for name in ("WANDB_DATA_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    model = fitted(WandbTracker(project="photos", folder=tmp_path))
    [file] = tmp_path.glob("wandb/offline-run-*/*.wandb")
    deadline = time.monotonic() + 120  # for hangs only: earlier versions write the file after the run has ended
    while True:
        records = [Record.FromString(data) for data in wandb_records(file.read_bytes())]
        if any(record.HasField("exit") for record in records) or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    [run] = [record.run for record in records if record.HasField("run")]
    config = {item.key: json.loads(item.value_json) for item in run.config.update}
    assert run.project == "photos"
    assert config["learning_rate"] == model.config_.learning_rate
    assert config["data.pairs"] == model.known_.pairs
    rows = [
        {(item.key or "/".join(item.nested_key)): json.loads(item.value_json) for item in record.history.item}
        for record in records
        if record.HasField("history")
    ]
    assert [(row["_step"], row["loss"]) for row in rows] == losses(model)
    assert [(row["_step"], row["validation/recall@10"]) for row in rows] == recalls(model)
    assert rows[-1]["best/epoch"] == model.training_["best_epoch"]
    [artifact] = [record.request.log_artifact.artifact for record in records if record.HasField("request")] or [
        record.artifact for record in records if record.HasField("artifact")
    ]
    assert artifact.type == "model"
    folder = tmp_path / "copied"
    folder.mkdir()
    for entry in artifact.manifest.contents:
        (folder / entry.path).write_bytes(Path(entry.local_path).read_bytes())
    check_model(folder, model)
    assert [record.exit.exit_code for record in records if record.HasField("exit")] == [0]


def test_tensorboard(tmp_path: Path) -> None:
    events = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="TensorBoard is not installed: pip install 'vse-ens[tensorboard]'",
    )
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    model = fitted(TensorBoardTracker(tmp_path / "run"))
    found = events.EventAccumulator(str(tmp_path / "run"))
    found.Reload()

    def history(name: str) -> list[tuple[int, float]]:
        return [(one.step, one.value) for one in found.Scalars(name)]

    assert history("loss") == losses(model)
    assert history("validation/recall@10") == recalls(model)
    assert history("best/epoch") == [(3, model.training_["best_epoch"])]
    content = found.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    hparams = HParamsPluginData.FromString(content).session_start_info.hparams
    assert hparams["learning_rate"].number_value == model.config_.learning_rate
    assert hparams["data.pairs"].number_value == model.known_.pairs
    check_model(tmp_path / "run" / "model", model)
