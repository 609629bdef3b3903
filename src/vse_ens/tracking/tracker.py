"""What all trackers share: the model directory as an artifact, and failures that do not end a training."""

from __future__ import annotations

import copy
import logging
import tempfile
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from vse_ens.config import Config
from vse_ens.errors import ConfigError, MissingPartError
from vse_ens.train.callbacks import Callback, FittedModel

_log = logging.getLogger(__name__)


class Tracker(Callback):
    """Records the settings, the metrics of every epoch and the model of a training.

    A failure at the start is an error. A later one is logged as a warning: the training goes on and is recorded no
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
                "%s failed (%s); the training goes on and is recorded no further", self.title, _sentence(error)
            )


def save_to_temporary(save: Callable[[Path], None], use: Callable[[Path], None]) -> None:
    """Save a model to a temporary directory for as long as ``use`` runs."""
    with tempfile.TemporaryDirectory(prefix="vse-model-") as folder:
        path = Path(folder) / "model"
        save(path)
        use(path)


def load_library(module: str, extra: str, title: str) -> Any:
    """Import an optional library."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPartError(f"{title} is not installed; install it with: pip install 'vse-ens[{extra}]'") from error


def _sentence(error: Exception) -> str:
    """Return the first sentence of an error of another library, in one line."""
    text = " ".join(str(error).split()).partition(". ")[0].rstrip(".")
    return text[:300] or type(error).__name__
