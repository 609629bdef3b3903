"""The search: what a trial measures, that nothing is lost, and what is refused."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.training_runs import finished, small_data
from vse_ens.annotator import Annotator
from vse_ens.errors import ConfigError, DataError, TrainingError
from vse_ens.presets import configure
from vse_ens.storage.atomic import reserve

pytest.importorskip("optuna", reason="Optuna is not installed: pip install 'vse-ens[tune]'")

from vse_ens.experiments.tune import Budget, Choices, Range, TrialResult, TuneResult, tune
from vse_ens.experiments.tune.result import best_trial, tuning_page
from vse_ens.experiments.tune.space import Space
from vse_ens.experiments.tune.study import StudyFile

SETTINGS = {"epochs": 3, "dimensions": 8, "metric": "auc"}
SPACE: Space = {"learning_rate": Range(0.01, 0.5, log=True), "regularization": Range(0.001, 0.1, log=True)}


class Listener:
    """Records its calls; ``on_epoch`` is called with the number of epochs of all trials so far."""

    def __init__(self, on_epoch: Callable[[int], None] = lambda _: None) -> None:
        self.had = -1
        self.epochs = 0
        self.results: list[TrialResult] = []
        self.bests: list[TrialResult | None] = []
        self._on_epoch = on_epoch

    def opened(self, finished: int, default_in_space: bool) -> None:
        self.had, self.default_in_space = finished, default_in_space

    def epoch(self, settings: Mapping[str, Any], epoch: int, value: float) -> None:
        self.epochs += 1
        self._on_epoch(self.epochs)

    def finished(self, result: TrialResult, best: TrialResult | None) -> None:
        self.results.append(result)
        self.bests.append(best)


def search(study: Path, trials: int, **options: Any) -> TuneResult:
    given = {"preset": "opt-auc", "settings": SETTINGS, "space": SPACE, **options}
    return tune(small_data(), study, given.pop("budget", Budget(trials=trials)), **given)


def essence(result: TuneResult) -> list[tuple[Any, ...]]:
    return [(one.settings, one.state, one.curve, one.metrics, one.is_default) for one in result.trials]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> TuneResult:
    """A search that nothing interrupted."""
    return search(tmp_path_factory.mktemp("whole") / "study.sqlite", 4)


def test_a_trial_measures_what_the_trainer_validates(whole: TuneResult) -> None:
    assert len(whole.trials) == 4
    first = whole.trials[0]
    preset = configure("opt-auc", **SETTINGS)
    assert first.is_default
    assert first.settings == {name: getattr(preset, name) for name in SPACE}
    for trial in whole.trials[:2]:
        trainer = finished(preset.override(**trial.settings, validate=True, refit=False), small_data())
        assert trial.metrics == trainer.best_validation
        assert trial.value == trainer.best_validation["auc"]  # type: ignore[index]
        assert trial.best_epoch == trainer.best_epoch
        assert list(trial.curve.values()) == [report.validation["auc"] for report in trainer.history]  # type: ignore[index]


def test_trials_are_in_the_space_and_the_best_is_the_best(whole: TuneResult) -> None:
    assert len({tuple(trial.settings.values()) for trial in whole.trials}) == 4
    for trial in whole.trials:
        assert 0.01 <= trial.settings["learning_rate"] <= 0.5
    assert whole.best.value == max(trial.value or 0 for trial in whole.trials if trial.state == "complete")
    assert whole.default_trial == whole.trials[0]


def test_a_search_that_is_continued_is_the_same_as_a_whole_one(whole: TuneResult, tmp_path: Path) -> None:
    for trials, had in ((1, 0), (3, 1), (4, 3), (2, 4)):
        listener = Listener()
        result = search(tmp_path / "study.sqlite", trials, listener=listener)
        assert listener.had == had
    assert essence(result) == essence(whole)


def test_a_process_that_dies_in_a_trial_loses_nothing(whole: TuneResult, tmp_path: Path) -> None:
    def die(epochs: int) -> None:
        if epochs == 5:
            raise SystemExit("died")

    with pytest.raises(SystemExit):
        search(tmp_path / "study.sqlite", 4, listener=Listener(die))
    assert essence(search(tmp_path / "study.sqlite", 4)) == essence(whole)


@pytest.mark.parametrize("begun", [0, 2])
def test_a_process_killed_while_asking_loses_no_trial(
    begun: int, whole: TuneResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings of a trial are stored one by one."""
    ask_whole = StudyFile.ask

    def ask(study: StudyFile, number: int) -> Any:
        if number == begun:
            study._distributions.popitem()
            ask_whole(study, number)
            raise SystemExit("died")
        return ask_whole(study, number)

    monkeypatch.setattr(StudyFile, "ask", ask)
    with pytest.raises(SystemExit):
        search(tmp_path / "study.sqlite", 4)
    monkeypatch.undo()
    assert essence(search(tmp_path / "study.sqlite", 4)) == essence(whole)


def test_a_process_killed_while_it_queues_a_trial_again_doubles_none(
    whole: TuneResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(epochs: int) -> None:
        if epochs == 5:
            raise SystemExit("died")

    with pytest.raises(SystemExit):
        search(tmp_path / "study.sqlite", 4, listener=Listener(die))
    for _ in range(3):
        with monkeypatch.context() as patch:
            patch.setattr("optuna.Study.tell", lambda *_, **__: die(5))
            with pytest.raises(SystemExit):
                search(tmp_path / "study.sqlite", 4)
    assert essence(search(tmp_path / "study.sqlite", 4)) == essence(whole)


# A transaction that does not fit into the cache is partly in the file when the process ends.
_HALF_WRITTEN = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN")
connection.execute("CREATE TABLE half (a)")
for _ in range(200):
    connection.execute("INSERT INTO half VALUES (zeroblob(4000))")
os._exit(0)
"""


@pytest.mark.parametrize("trials", [0, 2])
def test_what_a_killed_process_left_half_written_is_taken_back(whole: TuneResult, tmp_path: Path, trials: int) -> None:
    path = tmp_path / "study.sqlite"
    if trials:
        search(path, trials)
    subprocess.run([sys.executable, "-c", _HALF_WRITTEN, str(path)], check=True)
    assert Path(f"{path}-journal").stat().st_size
    assert essence(search(path, 4)) == essence(whole)


def test_ctrl_c_ends_the_search_and_loses_nothing(whole: TuneResult, tmp_path: Path) -> None:
    def press(epochs: int) -> None:
        if epochs == 5:
            os.kill(os.getpid(), signal.SIGINT)

    result = search(tmp_path / "study.sqlite", 4, listener=Listener(press))
    assert result.interrupted
    assert len(result.trials) == 1
    assert result.settings(), "what was found so far is a result"
    assert essence(search(tmp_path / "study.sqlite", 4)) == essence(whole)


def test_the_listener_hears_of_every_trial_and_the_best_so_far(tmp_path: Path) -> None:
    listener = Listener()
    result = search(tmp_path / "study.sqlite", 3, listener=listener)
    assert listener.results == result.trials
    assert listener.bests == [best_trial(result.trials[:count]) for count in (1, 2, 3)]
    assert listener.epochs == sum(trial.epochs for trial in result.trials)


def test_two_workers_share_one_study(tmp_path: Path) -> None:
    result = search(tmp_path / "study.sqlite", 4, workers=2)
    assert [trial.number for trial in result.trials] == [1, 2, 3, 4]
    assert sum(trial.is_default for trial in result.trials) == 1


def test_a_trial_below_the_median_is_pruned_after_two_epochs(tmp_path: Path) -> None:
    study = StudyFile(tmp_path / "study.sqlite", {}, SPACE, 0)
    for number in range(5):
        trial = study.ask(number)
        assert not any(study.report(trial, epoch, number / 10) for epoch in (1, 2, 3)), "the first ones never are"
        study.tell(trial, "complete", number / 10, {})
    good, bad = study.ask(5), study.ask(6)
    assert not any(study.report(good, epoch, 0.25) for epoch in (1, 2, 3))
    assert [study.report(bad, epoch, 0.15) for epoch in (1, 2, 3)] == [False, False, True]


def test_a_pruned_trial_ends_at_once_and_is_never_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def report(study: StudyFile, trial: Any, epoch: int, value: float) -> bool:
        trial.report(value + (trial.number == 1), epoch)
        return trial.number == 1 and epoch == 2

    monkeypatch.setattr(StudyFile, "report", report)
    result = search(tmp_path / "study.sqlite", 3)
    assert [(trial.state, trial.epochs) for trial in result.trials] == [("complete", 3), ("pruned", 2), ("complete", 3)]
    assert result.best.number != 2
    assert result.to_dict()["counts"] == {"trials": 3, "complete": 2, "pruned": 1, "failed": 0}


def test_a_trial_that_diverges_is_a_result_and_not_the_end(tmp_path: Path) -> None:
    space = {"learning_rate": Choices((0.1, 10.0)), "regularization": Choices((0.003, 10.0))}
    result = search(tmp_path / "study.sqlite", 4, space=space)
    failed = [trial for trial in result.trials if trial.reason]
    assert failed
    assert all("diverged" in trial.reason and trial.state == "pruned" for trial in failed)
    assert not result.best.reason


def test_a_study_that_another_process_writes_is_refused(tmp_path: Path) -> None:
    study = tmp_path / "study.sqlite"
    with (
        reserve(study),
        pytest.raises(DataError, match=rf"another process is writing trials to {study}; .* choose another --study$"),
    ):
        search(study, 1)


def test_time_ends_a_search_and_no_trial_is_an_error(tmp_path: Path) -> None:
    result = search(tmp_path / "study.sqlite", 1, budget=Budget(minutes=1e-9))
    assert not result.trials
    with pytest.raises(TrainingError, match=r"no trial was finished; run the search again with more time: .*study"):
        _ = result.best


@pytest.mark.parametrize(
    ("other", "fault"),
    [
        ({"seed": 1}, r"with another seed \(0, not 1\)"),
        ({"preset": "vse-ens"}, r"of another preset \('opt-auc', not 'vse-ens'\)"),
        ({"settings": {**SETTINGS, "epochs": 5}}, r"with other settings \("),
        ({"metric": "map"}, r"of another metric \('auc', not 'map'\)"),
        ({"space": {"learning_rate": Range(0.1, 0.2)}}, "of another space;"),
    ],
)
def test_another_search_in_the_same_file_is_refused(whole: TuneResult, other: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError, match=f"is a study {fault}.* or choose another file"):
        search(whole.study, 4, **other)


def test_other_pairs_in_the_same_file_are_refused(whole: TuneResult) -> None:
    with pytest.raises(ConfigError, match="is a study of other pairs; continue it"):
        tune(
            small_data(features=True),
            whole.study,
            Budget(trials=4),
            preset="opt-auc",
            settings=SETTINGS,
            space=SPACE,
        )


def test_a_file_that_is_no_study_is_refused_and_not_changed(tmp_path: Path) -> None:
    text, folder, other = tmp_path / "notes.txt", tmp_path / "folder", tmp_path / "feedback.sqlite"
    text.write_text("not a database at all, and longer than a header of one hundred bytes" * 3)
    folder.mkdir()
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE feedback (label TEXT)")
    before = other.read_bytes()
    for path, fault in (
        (text, "notes.txt cannot be used: file is not a database"),
        (folder, "folder is a folder; give a file such as tuned.sqlite"),
        (other, "feedback.sqlite is a database of another program, not a study"),
    ):
        with pytest.raises(DataError, match=fault):
            search(path, 1)
    assert other.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [({}, "needs trials or minutes"), ({"trials": 0}, "trials must be"), ({"minutes": 0}, "minutes must be above 0")],
)
def test_a_search_needs_an_end(arguments: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        Budget(**arguments)


def test_the_preset_file_trains_as_the_best_trial_did(whole: TuneResult, tmp_path: Path) -> None:
    path = tmp_path / "tuned.toml"
    whole.write_preset(path)
    model = Annotator(str(path))
    expected = configure("opt-auc", **{**SETTINGS, **whole.best.settings, "epochs": whole.best.best_epoch})
    assert model.config() == expected
    model.fit(small_data())
    path.unlink()
    model.save(tmp_path / "model")
    loaded = Annotator.load(tmp_path / "model")
    assert (loaded.preset, loaded.config_) == ("opt-auc", model.config_)
    assert loaded.config() == expected


def test_a_preset_file_can_be_tuned_further(whole: TuneResult, tmp_path: Path) -> None:
    path = tmp_path / "tuned.toml"
    whole.write_preset(path)
    space = {"init_scale": Range(0.001, 0.1, log=True)}
    result = search(tmp_path / "study.sqlite", 1, preset=str(path), settings={"epochs": 2}, space=space)
    assert result.preset == "opt-auc"
    assert result.settings() == {**whole.settings(), "epochs": result.best.best_epoch, "init_scale": 0.003}


def test_the_report_shows_the_search(whole: TuneResult) -> None:
    html = tuning_page(whole, "pairs.csv", "vse tune pairs.csv").html()
    assert "4 trials of opt-auc on pairs.csv" in html
    assert f"<strong>{whole.best.value:.4f}</strong>" in html
    assert "needs at least 10 complete trials" in html
    assert html.count("by early stopping") == 1
    assert html.count("set by hand") == 2
    for name in SPACE:
        assert f">{name}</th>" in html
    shown = TuneResult(**{**vars(whole), "importance": {"learning_rate": 0.75, "regularization": 0.25}})
    assert "Importance of the settings" in tuning_page(shown, "pairs.csv", "vse tune pairs.csv").html()
