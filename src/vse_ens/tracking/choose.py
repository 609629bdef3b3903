"""A tracker from a text such as ``mlflow:http://localhost:5000``."""

from __future__ import annotations

from vse_ens.errors import ConfigError
from vse_ens.tracking.mlflow import MlflowTracker
from vse_ens.tracking.tensorboard import TensorBoardTracker
from vse_ens.tracking.tracker import Tracker
from vse_ens.tracking.wandb import WandbTracker


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
