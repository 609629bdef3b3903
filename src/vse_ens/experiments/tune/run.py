"""The search: trials on labels held out of the training data, pruned by epoch, until the budget is used up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from vse_ens import __version__
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError, InsufficientMemoryError, TrainingError
from vse_ens.experiments.tune.result import TuneResult, best_trial
from vse_ens.experiments.tune.space import SPACES, Space, check_space, space_dict
from vse_ens.experiments.tune.study import StudyFile, TrialResult
from vse_ens.presets import configure, is_preset_file, read_preset_file
from vse_ens.run.interrupt import Interrupt
from vse_ens.storage.atomic import reserve
from vse_ens.system import available_cores
from vse_ens.train.checkpoint import fingerprint
from vse_ens.train.trainer import Trainer

if TYPE_CHECKING:
    from optuna.trial import Trial


class TuneListener(Protocol):
    """Receives the progress of a search, from several threads, one call at a time."""

    def opened(self, finished: int, default_in_space: bool) -> None:
        """Handle the start: the number of trials that the study has already."""

    def epoch(self, settings: Mapping[str, Any], epoch: int, value: float) -> None:
        """Handle an epoch of a trial that runs."""

    def finished(self, result: TrialResult, best: TrialResult | None) -> None:
        """Handle the end of a trial, with the best one so far."""


@dataclass(frozen=True)
class Budget:
    """When a search ends: after a time, or when the study has a number of trials."""

    trials: int | None = None
    minutes: float | None = None

    def __post_init__(self) -> None:
        if self.trials is None and self.minutes is None:
            raise ConfigError("a search needs trials or minutes; give one of them")
        if self.trials is not None and self.trials < 1:
            raise ConfigError(f"trials must be at least 1, got {self.trials}")
        if self.minutes is not None and not self.minutes > 0:
            raise ConfigError(f"minutes must be above 0, got {self.minutes}")


def tune(
    data: Annotations,
    study: str | Path,
    budget: Budget,
    *,
    preset: str = "context",
    settings: Mapping[str, Any] | None = None,
    space: Space | None = None,
    metric: str | None = None,
    seed: int = 0,
    workers: int = 1,
    listener: TuneListener | None = None,
) -> TuneResult:
    """Search for better settings of a preset on labels held out of ``data``, which must not have the test labels.

    Args:
        data: The pairs.
        study: An SQLite file; if it exists, the search in it is continued.
        budget: When to end.
        preset: The preset to start from: a name or a preset file.
        settings: Settings that all trials have in place of those of the preset.
        space: The settings to search; by default those of ``SPACES``.
        metric: The metric to maximize; by default that of the preset.
        seed: The seed of the search, the held-out labels and all trainings.
        workers: Trials at a time, as threads that share the cores; with one, the search is repeatable.
        listener: Receives the progress.

    Ctrl-C ends the search after the current round of every trial; trials that did not finish are started again later.
    """
    base, fixed = preset, dict(settings or {})
    if is_preset_file(preset):
        file = read_preset_file(preset)
        base, fixed = file.base, {**file.settings, **fixed}
    if workers < 1:
        raise ConfigError(f"workers must be at least 1, got {workers}")
    default = configure(base, **fixed, seed=seed)
    if space is None:
        space = {name: values for name, values in SPACES[base].items() if name not in fixed}
    check_space(space, base, fixed)
    measured = metric or default.metric
    default.override(metric=measured)  # refuses an unknown metric
    identity = {
        "data": fingerprint(data),
        "preset": base,
        "settings": fixed,
        "space": space_dict(space),
        "metric": measured,
        "seed": seed,
        "version": __version__,
    }
    path = Path(study)
    started = time.monotonic()
    with reserve(path, doing="writing trials to", option="--study"):
        file_of_trials = StudyFile(path, identity, space, seed)
        has_default = file_of_trials.enqueue_default(default.to_dict())

        def config(chosen: Mapping[str, Any]) -> Config:
            # Early stopping finds the epoch; what is learned from all pairs afterwards is not measured.
            found = configure(base, **{**fixed, **chosen}, seed=seed)
            return found.override(validate=True, refit=False, metric=measured)

        search = _Search(file_of_trials, data, config, budget, workers, listener)
        if listener:
            listener.opened(len(file_of_trials.results()), has_default)
        interrupted = search.run()
        return TuneResult(
            study=path,
            preset=base,
            fixed=fixed,
            metric=measured,
            seed=seed,
            space=space,
            default=default,
            trials=file_of_trials.results(),
            importance=file_of_trials.importance(),
            seconds=time.monotonic() - started,
            interrupted=interrupted,
        )


@dataclass
class _Search:
    """Runs trials in threads until the budget is used up, Ctrl-C or an error."""

    study: StudyFile
    data: Annotations
    config: Callable[[Mapping[str, Any]], Config]
    budget: Budget
    workers: int
    listener: TuneListener | None

    def __post_init__(self) -> None:
        self._threads = max(1, available_cores() // self.workers)
        self._lock = threading.Lock()
        self._interrupt = Interrupt()
        self._running = 0
        self._errors: list[BaseException] = []
        minutes = self.budget.minutes
        self._deadline = float("inf") if minutes is None else time.monotonic() + 60 * minutes

    def run(self) -> bool:
        """Run trials; return whether Ctrl-C ended them."""
        threads = [
            threading.Thread(target=self._work, name=f"vse-tune-{number}", daemon=True)
            for number in range(self.workers)
        ]
        with self._interrupt:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)  # a signal is handled in between
        if self._errors:
            raise self._errors[0]
        return self._interrupt.requested

    def _is_over(self) -> bool:
        return self._interrupt.requested or bool(self._errors) or time.monotonic() >= self._deadline

    def _work(self) -> None:
        try:
            while (trial := self._ask()) is not None:
                self._run_trial(trial)
        except BaseException as error:  # noqa: BLE001  # raised again by the thread that waits
            self._errors.append(error)

    def _ask(self) -> Trial | None:
        with self._lock:
            begun = len(self.study.results()) + self._running
            if self._is_over() or (self.budget.trials is not None and begun >= self.budget.trials):
                return None
            self._running += 1
            return self.study.ask(begun)

    def _run_trial(self, trial: Trial) -> None:
        settings = self.study.settings(trial.params)
        config, began = self.config(settings), time.monotonic()
        values: list[float] = []
        reason, should_prune = "", False
        try:
            trainer = Trainer(config, self.data, self._threads)
            for step in trainer.rounds():
                if step.report and step.report.validation:
                    values.append(step.report.validation[config.metric])
                    if self.listener:
                        with self._lock:
                            self.listener.epoch(settings, len(values), values[-1])
                    should_prune = self.study.report(trial, len(values), values[-1])
                # Between epochs only Ctrl-C and the time end a trial.
                if should_prune or self._is_over():
                    break
        except (TrainingError, InsufficientMemoryError) as error:  # it diverged or needs too much RAM: a bad trial
            reason = str(error)
        finished = not reason and trainer.finished
        pruned = bool(reason) or (should_prune and not finished)
        with self._lock:
            self._running -= 1
            if not finished and not pruned:
                self.study.requeue(trial.number)
                return
            facts = {"seconds": round(time.monotonic() - began, 3), "reason": reason}
            if not reason:
                facts["metrics"] = trainer.best_validation
            result = self.study.tell(trial, "pruned" if pruned else "complete", max(values, default=None), facts)
            if self.listener:
                self.listener.finished(result, best_trial(self.study.results()))
