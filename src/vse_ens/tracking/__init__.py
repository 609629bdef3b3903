"""Trackers: callbacks of `Annotator.fit` that record a training with MLflow, Weights & Biases or TensorBoard."""

from vse_ens.tracking.tracker import MlflowTracker as MlflowTracker
from vse_ens.tracking.tracker import TensorBoardTracker as TensorBoardTracker
from vse_ens.tracking.tracker import Tracker as Tracker
from vse_ens.tracking.tracker import WandbTracker as WandbTracker
from vse_ens.tracking.tracker import parse_tracker as parse_tracker
