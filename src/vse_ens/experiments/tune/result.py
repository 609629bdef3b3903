"""The result of a search: its trials, the best of them, the preset file made from it, and the HTML report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from vse_ens import __version__
from vse_ens.config import Config
from vse_ens.errors import TrainingError
from vse_ens.experiments.machine import describe_machine
from vse_ens.experiments.tune.space import Choices, Range, Space, space_dict
from vse_ens.experiments.tune.study import MIN_TRIALS_FOR_IMPORTANCE, TrialResult
from vse_ens.presets import preset_text
from vse_ens.report.charts import BarChart, Bars, LineChart, Series
from vse_ens.report.html import Block, Code, Facts, Page, Paragraph, Section
from vse_ens.report.tables import Cell, Column, Table, Value
from vse_ens.storage.atomic import write_text

# Curves in the chart of epochs: the best trials, and the preset itself.
_CURVES = 5


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


def tuning_page(result: TuneResult, pairs: str, command: str) -> Page:
    """Return the report: what was found, how the search went, what matters, all trials, and how to repeat it."""
    count = len(result.trials)
    page = Page(f"{count} trial{'s' if count > 1 else ''} of {result.preset} on {pairs}", _summary(result))
    page.add(
        Section("Settings found", _settings_table(result), Code(result.preset_text())),
        Section("The search", *_search(result)),
        Section("Which settings matter", *_importance(result)),
        Section("Epochs", *_epochs(result)),
        Section("All trials", _trials_table(result)),
        Section(
            "Method",
            Paragraph(
                "One label of some images was held out of the pairs, the same for all trials. A trial trains on the "
                f"other pairs with its own settings, measures {result.metric} on the held-out labels after every "
                "epoch, and counts with its best epoch. A trial that does worse than half of the others after as "
                "many epochs is pruned. Settings are proposed by the tree-structured Parzen estimator of Optuna. The "
                "same labels choose the settings and give the values here, so the best value is optimistic: measure "
                "the final model on other labels."
            ),
            Facts([("study", str(result.study)), ("seed", str(result.seed)), *_machine()]),
        ),
        Section("Repeat this search", Code(command)),
    )
    return page


def _machine() -> list[tuple[str, str]]:
    # The load is measured at the end, and the search itself is a part of it.
    return [(name, value) for name, value in describe_machine().items() if not name.startswith("load")]


def _summary(result: TuneResult) -> str:
    best, default = result.best, result.default_trial
    text = f"The best of {len(result.trials)} trials has a {result.metric} of {best.value:.4f} on held-out labels"
    if default is not None and default.value is not None:
        text += f"; the preset itself has {default.value:.4f}"
    return f"{text}."


def _settings_table(result: TuneResult) -> Table:
    before = result.default.to_dict()
    rows = [
        [name, _shown(before[name]), _shown(value), _searched(result, name)]
        for name, value in result.settings().items()
    ]
    return Table("The settings of the preset file", ["setting", "before", "found", "searched"], rows)


def _searched(result: TuneResult, name: str) -> str:
    values = result.space.get(name)
    if isinstance(values, Choices):
        return ", ".join(map(_shown, values.choices))
    if isinstance(values, Range):
        return f"{values.low:g} to {values.high:g}{', logarithmic' if values.log else ''}"
    return "by early stopping" if name == "epochs" and not result.default.validate else "set by hand"


def _search(result: TuneResult) -> list[Block]:
    done = [(trial.number, trial.value) for trial in result.trials if trial.state == "complete" and trial.value]
    numbers, values = [number for number, _ in done], [value for _, value in done]
    series = [
        Series("best so far", numbers, list(accumulate(values, max))),
        Series("complete trials", numbers, values),
    ]
    pruned = sum(trial.state == "pruned" for trial in result.trials)
    return [
        LineChart(f"{result.metric} by trial", "trial", result.metric, series),
        Paragraph(f"{len(done):,} trials were trained to their end, {pruned:,} were pruned and are not in the chart."),
    ]


def _importance(result: TuneResult) -> list[Block]:
    if not result.importance:
        return [Paragraph(f"This needs at least {MIN_TRIALS_FOR_IMPORTANCE} complete trials of different values.")]
    return [
        BarChart(
            "Importance of the settings",
            "share",
            list(result.importance),
            [Bars("importance", list(result.importance.values()))],
            format=".2f",
        ),
        Paragraph(
            "How much a setting decides whether a trial is among the best quarter (PED-ANOVA). The shares add up to 1. "
            "With few trials they are rough."
        ),
    ]


def _epochs(result: TuneResult) -> list[Block]:
    complete = [trial for trial in result.trials if trial.state == "complete" and trial.value is not None]
    shown = sorted(complete, key=lambda trial: -(trial.value or 0.0))[:_CURVES]
    default = result.default_trial
    if default is not None and default.curve and default not in shown:
        shown.append(default)
    series = [Series(_name(trial), list(trial.curve), list(trial.curve.values())) for trial in shown]
    return [LineChart(f"{result.metric} by epoch, of the best trials", "epoch", result.metric, series)]


def _trials_table(result: TuneResult) -> Table:
    names = list(result.space)
    rows: list[list[Value | Cell]] = [
        [
            Cell(_name(trial), note=trial.reason or ("pruned" if trial.state == "pruned" else "")),
            Cell(trial.value, best=trial.number == result.best.number),
            trial.epochs,
            trial.seconds,
            *(_shown(trial.settings[name]) for name in names),
        ]
        for trial in result.trials
    ]
    columns = [Column("trial"), Column(result.metric, ".4f"), Column("epochs"), Column("seconds", ".1f")]
    return Table("All trials, in the order of the search", [*columns, *names], rows)


def _name(trial: TrialResult) -> str:
    return f"{trial.number}{' (the preset)' if trial.is_default else ''}"


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
