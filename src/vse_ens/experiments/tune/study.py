"""The study: an SQLite file of Optuna with all trials, which survives a killed process and is continued."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from vse_ens.errors import ConfigError, DataError, MissingPartError
from vse_ens.experiments.tune.space import Choices, Range, Space, contains, is_whole
from vse_ens.streams import Streams

try:
    import optuna
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
    from optuna.trial import FrozenTrial, Trial, TrialState
    from sqlalchemy.exc import SQLAlchemyError
except ImportError as missing:
    raise MissingPartError("vse tune needs the library Optuna: pip install 'vse-ens[tune]'") from missing

_NAME = "vse tune"
_IDENTITY = "identity"
# What must be the same when a study is continued, and what is said if it is not.
_OTHER = {
    "data": "of other pairs",
    "preset": "of another preset",
    "settings": "with other settings",
    "space": "of another space",
    "metric": "of another metric",
    "seed": "with another seed",
    "version": "of another version of vse-ens",
}
# A trial is pruned if its best epoch so far is below the median of the others at that epoch. The first trials, and the
# first epochs of each, are never pruned.
_NEVER_PRUNED, _EPOCHS_NOT_PRUNED = 5, 2
# Trials before the sampler learns from them.
_RANDOM_TRIALS = 8
# Fewer trials do not show which settings matter.
MIN_TRIALS_FOR_IMPORTANCE = 10
# Significant digits of the settings that are tried.
_DIGITS = 3

State = Literal["complete", "pruned"]


@dataclass(frozen=True)
class TrialResult:
    """A finished trial."""

    number: int
    """Its number among the finished trials, from 1."""
    trial: int
    """Its number in Optuna, which also counts trials that were begun again."""
    settings: dict[str, Any]
    state: State
    value: float | None
    """The metric on held-out labels in its best epoch; None if it could not be trained."""
    epochs: int
    best_epoch: int
    seconds: float
    metrics: dict[str, float] = field(default_factory=dict)
    """All metrics of the best epoch."""
    curve: dict[int, float] = field(default_factory=dict)
    """The metric after each epoch."""
    reason: str = ""
    """Why it could not be trained."""
    is_default: bool = False
    """Whether it has the settings of the preset."""


class StudyFile:
    """The trials of one search. One process at a time may use it, with several threads."""

    def __init__(self, path: Path, identity: Mapping[str, Any], space: Space, seed: int) -> None:
        self.path = path
        self._space = space
        self._streams = Streams(seed).child("tune")
        self._distributions = {name: _distribution(name, values) for name, values in space.items()}
        with self._errors():
            _check_file(path)
            optuna.logging.set_verbosity(optuna.logging.WARNING)
            # Threads wait for each other; so does a program that looks into the file, such as optuna-dashboard.
            storage = optuna.storages.RDBStorage(f"sqlite:///{path}", engine_kwargs={"connect_args": {"timeout": 60}})
            pruner = optuna.pruners.MedianPruner(_NEVER_PRUNED, n_warmup_steps=_EPOCHS_NOT_PRUNED + 1)
            self._study = optuna.create_study(
                storage=storage, study_name=_NAME, direction="maximize", pruner=pruner, load_if_exists=True
            )
            self._check_identity(identity)
            self._requeue_running()

    def _check_identity(self, identity: Mapping[str, Any]) -> None:
        stored = self._study.user_attrs.get(_IDENTITY)
        if stored is None:
            self._study.set_user_attr(_IDENTITY, dict(identity))
            return
        for name, value in identity.items():
            if stored.get(name) != value:
                both = "" if name in ("data", "space") else f" ({stored.get(name)!r}, not {value!r})"
                raise ConfigError(
                    f"{self.path} is a study {_OTHER[name]}{both}; continue it as it was begun, or choose another file"
                )

    def _requeue_running(self) -> None:
        """Queue the settings of trials that a killed process left, so that they are tried first."""
        for trial in self._trials(TrialState.RUNNING):
            self.requeue(trial.number)

    def enqueue_default(self, settings: Mapping[str, Any]) -> bool:
        """Queue the preset's own settings as the first trial; return False if they are not in the space."""
        if not contains(self._space, settings):
            return False
        if not self._study.get_trials(deepcopy=False):
            own = {name: settings[name] for name in self._space}
            with self._errors():
                self._study.enqueue_trial(own, user_attrs={"default": True})
        return True

    def ask(self, finished_or_running: int) -> Trial:
        """Start a trial. Its settings depend on the trials before it and on the seed, not on earlier processes."""
        seed = int(self._streams.child(finished_or_running).words(1)[0] >> 32)
        with self._errors():
            self._study.sampler = optuna.samplers.TPESampler(n_startup_trials=_RANDOM_TRIALS, seed=seed)
            return self._study.ask(self._distributions)

    def settings(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of a trial, in the order of the space, with few digits."""
        return {
            name: float(f"{params[name]:.{_DIGITS}g}")
            if isinstance(values, Range) and not is_whole(name)
            else params[name]
            for name, values in self._space.items()
        }

    def tell(self, trial: Trial, state: State, value: float | None, facts: Mapping[str, Any]) -> TrialResult:
        """Store the result of a trial."""
        with self._errors():
            for name, fact in facts.items():
                trial.set_user_attr(name, fact)
            if state == "complete":
                self._study.tell(trial, value)
            else:
                self._study.tell(trial, state=TrialState.PRUNED)
        return next(one for one in self.results() if one.trial == trial.number)

    def report(self, trial: Trial, epoch: int, value: float) -> bool:
        """Store the metric after an epoch; return whether the trial should be pruned."""
        with self._errors():
            trial.report(value, epoch)
            return bool(trial.should_prune())

    def requeue(self, number: int) -> None:
        """End a trial without a result and queue its settings again."""
        with self._errors():
            trial = self._study.get_trials(deepcopy=False)[number]
            settings = trial.system_attrs.get("fixed_params") or trial.params
            # A process that is killed while it asks leaves a part of the settings. The next trial asks with the same
            # random numbers, and gets all of them.
            waiting = [one.system_attrs.get("fixed_params") for one in self._trials(TrialState.WAITING)]
            if settings.keys() == self._space.keys() and settings not in waiting:  # a kill between the two steps
                self._study.enqueue_trial(settings, user_attrs={"default": trial.user_attrs.get("default", False)})
            self._study.tell(number, state=TrialState.FAIL)

    def results(self) -> list[TrialResult]:
        """Return all finished trials, in the order in which they were started."""
        with self._errors():
            found = self._trials(TrialState.COMPLETE, TrialState.PRUNED)
        return [self._result(number, trial) for number, trial in enumerate(found, start=1)]

    def importance(self) -> dict[str, float]:
        """Return how much each setting matters for a good result, in shares of 1, most first; empty for few trials."""
        complete = self._trials(TrialState.COMPLETE)
        if len(complete) < MIN_TRIALS_FOR_IMPORTANCE or len({trial.value for trial in complete}) < 2:
            return {}
        found = optuna.importance.get_param_importances(
            self._study, evaluator=optuna.importance.PedAnovaImportanceEvaluator(target_quantile=0.25)
        )
        return {name: float(value) for name, value in found.items()}

    def _trials(self, *states: TrialState) -> list[FrozenTrial]:
        return self._study.get_trials(deepcopy=False, states=states)

    def _result(self, number: int, trial: FrozenTrial) -> TrialResult:
        facts, curve = trial.user_attrs, trial.intermediate_values
        return TrialResult(
            number=number,
            trial=trial.number,
            settings=self.settings(trial.params),
            state="complete" if trial.state is TrialState.COMPLETE else "pruned",
            value=max(curve.values(), default=None),
            epochs=max(curve, default=0),
            best_epoch=max(curve, key=lambda epoch: curve[epoch], default=0),
            seconds=facts.get("seconds", 0.0),
            metrics=facts.get("metrics", {}),
            curve=dict(curve),
            reason=facts.get("reason", ""),
            is_default=facts.get("default", False),
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of the database into one sentence."""
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error, optuna.exceptions.StorageInternalError, RuntimeError) as error:
            cause = " ".join(str(getattr(error, "orig", None) or error).split())
            raise DataError(
                f"the study {self.path} cannot be used: {cause}; correct this, or choose another file"
            ) from error


def _check_file(path: Path) -> None:
    """Refuse a file that is something else, before tables are added to it."""
    if path.is_dir():
        raise DataError(f"the study {path} is a folder; give a file such as tuned.sqlite")
    if not path.exists() or not path.stat().st_size:
        return
    # Not read-only: SQLite takes back what a killed process left half written.
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True)) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and "studies" not in tables:
        raise DataError(f"{path} is a database of another program, not a study; choose another file")


def _distribution(name: str, values: Range | Choices) -> BaseDistribution:
    if isinstance(values, Choices):
        return CategoricalDistribution(values.choices)
    if is_whole(name):
        return IntDistribution(int(values.low), int(values.high), log=values.log)
    return FloatDistribution(values.low, values.high, log=values.log)
