"""The result of a search: its trials, the best of them, and the preset file made from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vse_ens import __version__
from vse_ens.config import Config
from vse_ens.errors import TrainingError
from vse_ens.experiments.tune.space import Space, space_dict
from vse_ens.experiments.tune.study import TrialResult
from vse_ens.presets import preset_text
from vse_ens.storage.atomic import write_text


def best_trial(trials: Sequence[TrialResult]) -> TrialResult | None:
    """Return the complete trial with the highest value; the first of equals."""
    complete = [trial for trial in trials if trial.state == "complete" and trial.value is not None]
    return max(complete, key=lambda trial: trial.value or 0.0, default=None)


@dataclass(frozen=True)
class TuneResult:
    """All trials of a study and what they show."""

    study: Path
    preset: str
    fixed: dict[str, Any]
    """Settings that all trials have in place of those of the preset."""
    metric: str
    seed: int
    space: Space
    default: Config
    """The settings that the search started from."""
    trials: list[TrialResult]
    importance: dict[str, float]
    """How much each setting matters for a good result, in shares of 1; empty for few trials."""
    seconds: float
    """The time of this run of the search."""
    interrupted: bool

    @property
    def best(self) -> TrialResult:
        """The best trial."""
        found = best_trial(self.trials)
        if found is not None:
            return found
        failed = [trial.reason for trial in self.trials if trial.reason]
        if failed:
            raise TrainingError(f"no trial of {self.study} could be trained: {failed[-1]}; search other settings")
        raise TrainingError(
            f"no trial was finished; run the search again with more time: {self.study} has the settings to try first"
        )

    @property
    def default_trial(self) -> TrialResult | None:
        """The trial with the settings of the preset, if the space has them."""
        return next((trial for trial in self.trials if trial.is_default), None)

    def settings(self) -> dict[str, Any]:
        """Return the settings of the preset file: those found, in place of those of the preset.

        A preset that holds out no labels has no early stopping: it trains for as many epochs as the best trial needed.
        """
        found = {**self.fixed, **self.best.settings}
        return found if self.default.validate else {**found, "epochs": self.best.best_epoch}

    def preset_text(self) -> str:
        """Return the text of the preset file."""
        best, default = self.best, self.default_trial
        comment = (
            f"Found by vse tune {__version__} in {len(self.trials)} trials: {self.metric} {best.value:.4f} on held-out"
        )
        comment += f" labels{'' if default is None else f', the preset itself {default.value:.4f}'}."
        return preset_text(self.preset, self.settings(), comment)

    def write_preset(self, path: str | Path) -> None:
        """Write the preset file, for `vse train --preset` and `Annotator`."""
        write_text(Path(path), self.preset_text())

    def to_dict(self) -> dict[str, Any]:
        """Return the result ready for JSON."""
        default = self.default_trial
        return {
            "study": str(self.study),
            "preset": self.preset,
            "metric": self.metric,
            "seed": self.seed,
            "space": space_dict(self.space),
            "settings": self.settings(),
            "best": _trial_dict(self.best),
            "default": None if default is None else _trial_dict(default),
            "importance": self.importance,
            "counts": {
                "trials": len(self.trials),
                "complete": sum(trial.state == "complete" for trial in self.trials),
                "pruned": sum(trial.state == "pruned" and not trial.reason for trial in self.trials),
                "failed": sum(bool(trial.reason) for trial in self.trials),
            },
            "trials": [_trial_dict(trial) for trial in self.trials],
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
        }


def _trial_dict(trial: TrialResult) -> dict[str, Any]:
    return asdict(trial) | {"curve": list(trial.curve.items())}
