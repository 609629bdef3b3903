"""Trackers: callbacks of `Annotator.fit` that record a training with MLflow, Weights & Biases or TensorBoard."""

from vse_ens.tracking.choose import parse_tracker as parse_tracker
from vse_ens.tracking.mlflow import MlflowTracker as MlflowTracker
from vse_ens.tracking.tensorboard import TensorBoardTracker as TensorBoardTracker
from vse_ens.tracking.tracker import Tracker as Tracker
from vse_ens.tracking.wandb import WandbTracker as WandbTracker
