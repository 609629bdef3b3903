from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from vse_ens.annotator import Annotator
from vse_ens.baselines.base import Baseline
from vse_ens.baselines.ease import Ease
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets import scenes as built_in
from vse_ens.errors import DataError
from vse_ens.experiments.compare.entries import Entry, parse_entries
from vse_ens.experiments.compare.results import METRICS, Comparison, EntryRun, RunStore
from vse_ens.experiments.compare.run import compare
from vse_ens.train.progress import Progress


@dataclass
class RecordingListener:
    """Stores the runs and errors it receives."""

    on_round: Callable[[Progress], None] = lambda _: None
    runs: list[EntryRun] = field(default_factory=list)
    errors: list[Exception | None] = field(default_factory=list)

    @contextmanager
    def running(self, entry: Entry) -> Iterator[Callable[[Progress], None]]:
        yield self.on_round

    def finished(self, run: EntryRun, error: Exception | None) -> None:
        self.runs.append(run)
        self.errors.append(error)


@pytest.fixture(scope="module")
def data() -> Annotations:
    return built_in.scenes(images=300, labels=60, seed=1)


def run(
    data: Annotations, models: str, folder: Path, listener: RecordingListener | None = None, **more: Any
) -> Comparison:
    entries = parse_entries(models, dimensions=8)
    return compare(
        data, entries, folder, listener or RecordingListener(), pairs="pairs.csv", command="vse compare", **more
    )


@pytest.fixture(scope="module")
def done(data: Annotations, tmp_path_factory: pytest.TempPathFactory) -> tuple[Comparison, Path]:
    folder = tmp_path_factory.mktemp("compare") / "rankings"
    return run(data, "vse-ens:epochs=12,vse-ens:epochs=2,popularity,ease", folder), folder


def test_all_have_the_same_footing(done: tuple[Comparison, Path], data: Annotations) -> None:
    comparison, _ = done
    train, test = data.leave_one_out(seed=0)
    reports = [result.report for result in comparison.results]
    assert {report.images for report in reports if report} == {test.pairs}
    assert comparison.info.split == {
        "protocol": "leave-one-out",
        "seed": 0,
        "images": 300,
        "labels": 60,
        "pairs": data.pairs,
        "train": train.pairs,
        "test": test.pairs,
    }


def test_a_model_is_as_good_as_when_it_is_trained_alone(done: tuple[Comparison, Path], data: Annotations) -> None:
    comparison, _ = done
    train, test = data.leave_one_out(seed=0)
    alone = Annotator("vse-ens", epochs=12, dimensions=8).fit(train).evaluate(test)
    report = comparison.results[0].report
    assert report is not None
    assert dict(report) == dict(alone)
    assert report.intervals == alone.intervals


def test_shown_metrics_are_computed_from_the_rankings(done: tuple[Comparison, Path]) -> None:
    comparison, folder = done
    assert Comparison.load(folder).to_dict() == comparison.to_dict()
    names = ["comparison.json", "ease.parquet", "popularity.parquet", "vse-ens-2.parquet", "vse-ens.parquet"]
    assert sorted(path.name for path in folder.iterdir()) == names
    # Other rankings, other metrics.
    info = RunStore(folder).read()
    info.runs[0] = EntryRun(**{**vars(info.runs[0]), "rankings": "popularity.parquet"})
    other = folder.parent / "other"
    other.mkdir()
    for path in folder.glob("*.parquet"):
        (other / path.name).write_bytes(path.read_bytes())
    RunStore(other).write(info)
    swapped = Comparison.load(other)
    first, popularity = swapped.results[0].report, swapped.results[2].report
    assert first is not None
    assert popularity is not None
    assert dict(first) == dict(popularity)


def test_the_document_has_what_the_design_promises(done: tuple[Comparison, Path]) -> None:
    document = done[0].to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    model, _, popularity, _ = document["models"]
    assert model["name"] == "vse-ens:epochs=12"
    assert model["state"] == "done"
    assert model["epochs"] == model["epochs_planned"] == 12
    assert model["draws"] == 12 * document["split"]["train"]
    assert model["draws_per_second"] == pytest.approx(model["draws"] / model["seconds"], rel=0.01)
    assert set(METRICS) <= set(model["metrics"])
    assert set(METRICS) <= set(model["intervals"])
    assert model["settings"]["dimensions"] == 8
    assert popularity["epochs"] is popularity["draws"] is None
    assert popularity["kind"] == "baseline"
    assert document["command"] == "vse compare"
    assert {"processor", "cores", "python", "vse-ens", "numpy"} <= set(document["machine"])


def test_a_curve_ends_with_the_figure_of_the_table(done: tuple[Comparison, Path]) -> None:
    for result in done[0].results:
        assert result.report is not None
        seconds = [second for second, _ in result.run.curve]
        assert seconds == sorted(seconds)
        assert result.run.curve[-1] == (result.run.seconds, pytest.approx(result.report["recall@10"]))
    assert len(done[0].results[2].run.curve) == 1


def test_measuring_curves_does_not_change_the_model(data: Annotations, tmp_path: Path) -> None:
    comparison = run(data, "opt-auc:epochs=400", tmp_path)
    (result,) = comparison.results
    seconds = [second for second, _ in result.run.curve]
    assert len(seconds) > 2
    assert all(later >= 1.29 * sooner for sooner, later in pairwise(seconds[:-1]))
    train, test = data.leave_one_out(seed=0)
    alone = Annotator("opt-auc", epochs=400, dimensions=8).fit(train).evaluate(test)
    assert result.report is not None
    assert dict(result.report) == dict(alone)


def test_a_budget_stops_training_after_the_round(data: Annotations, tmp_path: Path) -> None:
    listener = RecordingListener()
    comparison = run(data, "opt-auc:epochs=100000,ease", tmp_path, listener, budget=0.1)
    model, ease = comparison.results
    assert model.run.stopped == "budget"
    assert model.run.epochs is not None
    assert 0 < model.run.epochs < 100000
    assert model.run.seconds is not None
    assert 0.1 <= model.run.seconds < 60
    assert model.report is not None
    assert ease.run.stopped == ""
    assert not comparison.failed
    assert not comparison.interrupted
    assert [one.name for one in listener.runs] == ["opt-auc:epochs=100000", "ease"]


def test_a_model_that_ends_within_the_budget_is_not_stopped(data: Annotations, tmp_path: Path) -> None:
    (result,) = run(data, "vse-ens:epochs=1", tmp_path, budget=60.0).results
    assert result.run.stopped == ""
    assert result.run.epochs == 1


def test_a_baseline_over_the_budget_is_marked(data: Annotations, tmp_path: Path) -> None:
    (result,) = run(data, "ease", tmp_path, budget=1e-9).results
    assert result.run.over_budget
    assert result.report is not None


def test_one_that_fails_does_not_lose_the_others(
    data: Annotations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Baseline, data: Annotations) -> None:
        raise RuntimeError("no such luck")

    listener = RecordingListener()
    limited = "ease:memory_limit=0.0000001"
    monkeypatch.setattr("vse_ens.baselines.base.Popularity.fit", broken)
    comparison = run(data, f"{limited},popularity,cooccurrence", tmp_path, listener)
    refused, bug, good = comparison.results
    assert refused.run.state == bug.run.state == "failed"
    assert refused.run.error.startswith("ease needs about ")
    assert "RuntimeError: no such luck" in bug.run.error
    assert refused.report is bug.report is None
    assert good.report is not None
    assert comparison.failed
    assert [type(error) for error in listener.errors[1:]] == [RuntimeError, type(None)]
    assert comparison.best("map") == good.report["map"]


def test_ctrl_c_keeps_what_is_done_and_leaves_out_the_rest(data: Annotations, tmp_path: Path) -> None:
    def press(step: Progress) -> None:
        if step.epoch == 3:
            os.kill(os.getpid(), signal.SIGINT)

    comparison = run(data, "popularity,vse-ens:epochs=1000,ease", tmp_path, RecordingListener(press))
    popularity, model, ease = comparison.results
    assert popularity.run.state == model.run.state == "done"
    assert model.run.stopped == "interrupt"
    assert model.run.epochs is not None
    assert 2 < model.run.epochs <= 3
    assert model.report is not None
    assert ease.run.state == "not run"
    assert comparison.interrupted
    assert not comparison.failed


def test_ctrl_c_in_a_baseline_ends_the_comparison(
    data: Annotations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(self: Ease, data: Annotations) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Ease, "fit", press)
    comparison = run(data, "popularity,ease,cooccurrence", tmp_path)
    assert [result.run.state for result in comparison.results] == ["done", "not run", "not run"]
    assert comparison.interrupted


def test_a_new_comparison_takes_the_place_of_the_old_one(data: Annotations, tmp_path: Path) -> None:
    run(data, "popularity,cooccurrence", tmp_path)
    run(data, "popularity", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["comparison.json", "popularity.parquet"]


def test_a_folder_of_something_else_is_left_alone(data: Annotations, tmp_path: Path) -> None:
    (tmp_path / "holiday.txt").write_text("sea")
    with pytest.raises(DataError, match=r"is not empty and has no comparison\.json; choose another folder"):
        run(data, "popularity", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["holiday.txt"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (None, "has no comparison.json"),
        ("{", "comparison.json cannot be read"),
        ("[]", "comparison.json is damaged"),
        ("{}", "comparison.json is damaged"),
        ('{"format": 0}', "comparison.json is not of format 1"),
        ('{"format": 1, "runs": [{}]}', "comparison.json is damaged"),
    ],
)
def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path, text: str | None, fault: str) -> None:
    if text is not None:
        (tmp_path / "comparison.json").write_text(text)
    with pytest.raises(DataError, match=fault):
        Comparison.load(tmp_path)


def test_comparison_json_cannot_point_outside_its_folder(data: Annotations, tmp_path: Path) -> None:
    run(data, "popularity", tmp_path / "rankings")
    document = tmp_path / "rankings" / "comparison.json"
    document.write_text(document.read_text().replace("popularity.parquet", "../precious.parquet"))
    (tmp_path / "precious.parquet").touch()
    with pytest.raises(DataError, match="names rankings outside its folder"):
        run(data, "popularity", tmp_path / "rankings")
    assert (tmp_path / "precious.parquet").exists()


@pytest.mark.shared_data
def test_known_figures_on_real_data(shared_data: Path, tmp_path: Path) -> None:
    data = Annotations.read(shared_data / "iaprtc12" / "pairs.tsv.gz")
    ease, popularity = (one.report for one in run(data, "ease:regularization=50,popularity", tmp_path).results)
    assert ease is not None
    assert popularity is not None
    # From an independent implementation on another random split of the same kind.
    assert ease["recall@10"] == pytest.approx(0.637, abs=0.008)
    assert popularity["recall@10"] == pytest.approx(0.305, abs=0.006)
