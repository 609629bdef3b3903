"""A training as a run of Weights & Biases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vse_ens.tracking.tracker import Tracker, load_library, save_to_temporary


class WandbTracker(Tracker):
    """Records with Weights & Biases, offline unless told otherwise: ``wandb sync`` sends a run later.

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
        self._wandb = load_library("wandb", "wandb", self.title)
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

        def add(path: Path) -> None:
            for file in sorted(path.iterdir()):
                # Copied: the directory is gone before the files are sent.
                artifact.add_file(str(file), policy="mutable")
            self._run.log_artifact(artifact)

        save_to_temporary(save, add)

    def finish(self, failed: bool) -> None:
        """End the run."""
        self._run.finish(exit_code=int(failed))
