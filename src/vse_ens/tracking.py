"""Trackers record a training: with MLflow, Weights & Biases or TensorBoard; no failure of a service ends it."""

from __future__ import annotations

import copy
import logging
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vse_ens.config import Config
from vse_ens.errors import ConfigError, MissingPartError, optional_library
from vse_ens.train.callbacks import Callback, FittedModel

_log = logging.getLogger(__name__)


class Tracker(Callback):
    """Records the settings, the metrics of every epoch and the model of a training.

    A failure at the start is an error. A later one is logged as a warning: the training continues and is recorded no
    further.
    """

    title: str
    """The name of the service, for messages."""

    def __init__(self) -> None:
        self._recording = False

    # --- what a service does ---

    def start(self, parameters: Mapping[str, Any]) -> None:
        """Start a run with all settings and the size of the data."""
        raise NotImplementedError

    def log(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Record metrics of an epoch."""
        raise NotImplementedError

    def save_model(self, save: Callable[[Path], None]) -> None:
        """Record the model; ``save`` writes its directory."""
        raise NotImplementedError

    def finish(self, failed: bool) -> None:
        """End the run."""
        raise NotImplementedError

    def library(self, module: str) -> Any:
        """Import a module of the service's library, which the extra of the same name installs."""
        extra = module.partition(".")[0]
        return optional_library(module, f"{self.title} is not installed; install it with", extra)

    # --- the protocol of callbacks ---

    def on_fit_start(self, config: Config, data: Mapping[str, int]) -> None:
        """Start a run."""
        parameters = config.to_dict() | {f"data.{name}": count for name, count in data.items()}
        try:
            self.start(parameters)
        except (ConfigError, MissingPartError):
            raise
        except Exception as error:
            raise ConfigError(
                f"{self.title} cannot record this training ({_sentence(error)}); correct this, or train without it"
            ) from error
        self._recording = True
        self._epoch = 0

    def on_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Record the metrics of an epoch."""
        self._epoch = epoch
        self._try(lambda: self.log(epoch, metrics))

    def on_fit_end(self, model: FittedModel) -> None:
        """Record the metrics of the epoch that was kept and the model, and end the run."""
        best = {f"best/{name}": value for name, value in (model.validation_ or {}).items()}
        best["best/epoch"] = float(model.training_["best_epoch"])
        self._try(lambda: self.log(max(self._epoch, 1), best))
        # A copy: the model must not remember a temporary directory as the place where it is saved.
        self._try(lambda: self.save_model(copy.copy(model).save))
        self._try(lambda: self.finish(failed=False))
        self._recording = False

    def on_fit_error(self, error: BaseException) -> None:  # noqa: ARG002  # the services record only that it failed
        """End the run as failed."""
        self._try(lambda: self.finish(failed=True))
        self._recording = False

    def _try(self, action: Callable[[], None]) -> None:
        if not self._recording:
            return
        try:
            action()
        except Exception as error:  # noqa: BLE001  # no fault of a service may end a training
            self._recording = False
            _log.warning(
                "%s failed (%s); the training continues and is recorded no further", self.title, _sentence(error)
            )


@contextmanager
def _saved(save: Callable[[Path], None]) -> Iterator[Path]:
    """Save a model to a temporary directory for the block."""
    with tempfile.TemporaryDirectory(prefix="vse-model-") as folder:
        path = Path(folder) / "model"
        save(path)
        yield path


def _sentence(error: Exception) -> str:
    """Return the first sentence of an error of another library, in one line."""
    text = " ".join(str(error).split()).partition(". ")[0].rstrip(".")
    return text[:300] or type(error).__name__


class MlflowTracker(Tracker):
    """Records to an MLflow server or database.

        model.fit(data, callbacks=[MlflowTracker("sqlite:///runs.db")])

    Args:
        uri: A tracking URI such as ``http://localhost:5000`` or ``sqlite:///runs.db``; a plain path is an SQLite file.
            Without it, what MLflow uses by itself: ``MLFLOW_TRACKING_URI`` or its default.
        experiment: The name of the experiment, made if there is none.
        artifacts: Where a new experiment keeps models, such as ``file:///data/models``; by default MLflow decides.

    MLflow does not allow ``@`` in names: recall@10 is ``recall_at_10`` there.
    """

    title = "MLflow"

    def __init__(self, uri: str | None = None, *, experiment: str = "vse-ens", artifacts: str | None = None) -> None:
        super().__init__()
        self.uri = uri if not uri or ":" in uri else f"sqlite:///{uri}"
        self.experiment = experiment
        self.artifacts = artifacts
        self.run_id = ""
        """The run of the last training."""

    def start(self, parameters: Mapping[str, Any]) -> None:
        """Start a run with all settings and the size of the data."""
        tracking = self.library("mlflow.tracking")
        entities = self.library("mlflow.entities")
        # A new database logs every one of its migrations.
        for name in ("alembic", "mlflow.store.db.utils"):
            logging.getLogger(name).setLevel(logging.WARNING)
        self._metric = entities.Metric
        self._client = tracking.MlflowClient(tracking_uri=self.uri)
        found = self._client.get_experiment_by_name(self.experiment)
        experiment = (
            self._client.create_experiment(self.experiment, artifact_location=self.artifacts)
            if found is None
            else found.experiment_id
        )
        self.run_id = self._client.create_run(experiment).info.run_id
        self._client.log_batch(
            self.run_id, params=[entities.Param(name, str(value)) for name, value in parameters.items()]
        )

    def log(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Record metrics of an epoch."""
        now = int(time.time() * 1000)
        self._client.log_batch(
            self.run_id,
            metrics=[self._metric(name.replace("@", "_at_"), value, now, epoch) for name, value in metrics.items()],
        )

    def save_model(self, save: Callable[[Path], None]) -> None:
        """Record the model directory as the artifact ``model``."""
        with _saved(save) as path:
            self._client.log_artifacts(self.run_id, str(path), "model")

    def finish(self, failed: bool) -> None:
        """End the run."""
        self._client.set_terminated(self.run_id, "FAILED" if failed else "FINISHED")


class TensorBoardTracker(Tracker):
    """Writes event files that ``tensorboard --logdir FOLDER`` shows; the model is saved in ``FOLDER/model``.

        model.fit(data, callbacks=[TensorBoardTracker("runs/first")])

    The settings are hyperparameters of the view HPARAMS. Give every training a folder of its own.
    """

    title = "TensorBoard"

    def __init__(self, folder: str | Path) -> None:
        super().__init__()
        self.folder = Path(folder)

    def start(self, parameters: Mapping[str, Any]) -> None:
        """Start an event file with all settings and the size of the data."""
        writers = self.library("tensorboard.summary.writer.event_file_writer")
        hparams = self.library("tensorboard.plugins.hparams.summary_v2")
        self._event = self.library("tensorboard.compat.proto.event_pb2").Event
        self._summary = self.library("tensorboard.compat.proto.summary_pb2").Summary
        self._writer = writers.EventFileWriter(str(self.folder))
        self._add(hparams.hparams_pb(dict(parameters)), 0)

    def log(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Record metrics of an epoch."""
        values = [self._summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
        self._add(self._summary(value=values), epoch)

    def save_model(self, save: Callable[[Path], None]) -> None:
        """Save the model in the folder of the run."""
        save(self.folder / "model")

    def finish(self, failed: bool) -> None:  # noqa: ARG002  # an event file has no such state
        """Close the event file."""
        self._writer.close()

    def _add(self, summary: Any, step: int) -> None:
        self._writer.add_event(self._event(summary=summary, step=step, wall_time=time.time()))
        self._writer.flush()


class WandbTracker(Tracker):
    """Records with Weights & Biases, offline by default: ``wandb sync`` sends a run later.

        model.fit(data, callbacks=[WandbTracker(project="holiday photos")])

    Args:
        project: The name of the project.
        mode: ``offline`` or ``online``; the second needs ``wandb login``.
        folder: The run is written to a new folder in ``folder/wandb``.
        options: Further arguments of ``wandb.init``, such as ``entity`` or ``tags``.
    """

    title = "Weights & Biases"

    def __init__(
        self, *, project: str = "vse-ens", mode: str = "offline", folder: str | Path = ".", **options: Any
    ) -> None:
        super().__init__()
        self.project = project
        self.mode = mode
        self.folder = folder
        self.options = options

    def start(self, parameters: Mapping[str, Any]) -> None:
        """Start a run with all settings and the size of the data."""
        self._wandb = self.library("wandb")
        # Not its console capture, which would take over standard output, and no code or state of a repository.
        settings = {"silent": True, "console": "off", "disable_git": True, "save_code": False}
        self._run = self._wandb.init(
            project=self.project,
            mode=self.mode,
            dir=str(self.folder),
            config=dict(parameters),
            settings=self._wandb.Settings(**settings),
            reinit="create_new",
            **self.options,
        )

    def log(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Record metrics of an epoch."""
        self._run.log(dict(metrics), step=epoch)

    def save_model(self, save: Callable[[Path], None]) -> None:
        """Record the model directory as an artifact of the type ``model``."""
        artifact = self._wandb.Artifact(f"model-{self._run.id}", type="model")
        with _saved(save) as path:
            for file in sorted(path.iterdir()):
                # Copied: the directory is gone before the files are sent.
                artifact.add_file(str(file), policy="mutable")
            self._run.log_artifact(artifact)

    def finish(self, failed: bool) -> None:
        """End the run."""
        self._run.finish(exit_code=int(failed))


def parse_tracker(text: str) -> Tracker:
    """Return the tracker of ``mlflow``, ``mlflow:URI``, ``wandb``, ``wandb:PROJECT`` or ``tensorboard:DIR``."""
    name, _, where = text.partition(":")
    if name == "mlflow":
        return MlflowTracker(where or None)
    if name == "wandb":
        return WandbTracker(project=where) if where else WandbTracker()
    if name == "tensorboard" and where:
        return TensorBoardTracker(where)
    raise ConfigError(f"track must be mlflow, mlflow:URI, wandb, wandb:PROJECT or tensorboard:DIR, got {text!r}")
