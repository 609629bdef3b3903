"""A training as a run of MLflow."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vse_ens.tracking.tracker import Tracker, load_library, save_to_temporary


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
        tracking = load_library("mlflow.tracking", "mlflow", self.title)
        entities = load_library("mlflow.entities", "mlflow", self.title)
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
        save_to_temporary(save, lambda path: self._client.log_artifacts(self.run_id, str(path), "model"))

    def finish(self, failed: bool) -> None:
        """End the run."""
        self._client.set_terminated(self.run_id, "FAILED" if failed else "FINISHED")
