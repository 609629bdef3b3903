from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vse_ens.annotator import Annotator
from vse_ens.data.datasets.scenes import scenes

pytest.importorskip("optuna", reason="Optuna is not installed: pip install 'vse-ens[tune]'")

Vse = Callable[..., Any]
SETTINGS = ("--preset", "opt-auc", "--set", "epochs=2", "--set", "dimensions=8")


@pytest.fixture(scope="module")
def some_pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pairs") / "pairs.csv"
    scenes(images=100, labels=60, seed=1).to_frame("polars").write_csv(path)
    return path


def test_a_search_from_pairs_to_a_model(vse: Vse, some_pairs: Path, tmp_path: Path) -> None:
    out, report = tmp_path / "tuned.toml", tmp_path / "tuned.html"
    answer = vse("tune", some_pairs, *SETTINGS, "--trials", 2, "--out", out, "--report", report, "--json")
    assert answer.status == 0
    document = answer.document
    assert document["counts"] == {"trials": 2, "complete": 2, "pruned": 0, "failed": 0}
    assert (document["out"], document["study"]) == (str(out), str(tmp_path / "tuned.sqlite"))
    assert document["best"]["value"] == max(trial["value"] for trial in document["trials"])
    assert document["default"]["number"] == 1
    assert [line.split(":")[0] for line in answer.err.splitlines()] == ["trial 1", "trial 2"]
    assert "best 0." in answer.err
    assert "Repeat this search" in report.read_text(encoding="utf-8")

    trained = vse("train", some_pairs, "--preset", out, "--out", tmp_path / "model", "--json").document
    settings = {name: trained["config"][name] for name in document["settings"]}
    assert settings == document["settings"]
    assert trained["preset"] == str(out)
    assert Annotator.load(tmp_path / "model").preset == "opt-auc"

    more = vse("tune", some_pairs, *SETTINGS, "--trials", 3, "--out", out)
    assert more.err.startswith("note: continuing a study with 2 trials\ntrial 3: ")
    assert "preset file  " in more.out
    assert "opt-auc      recall@10 0." in more.out
    compared = vse("compare", some_pairs, "--models", f"{out},popularity", "--json").document
    assert [model["name"] for model in compared["models"]] == [str(out), "popularity"]


@pytest.mark.parametrize(
    ("arguments", "status", "fault"),
    [
        (["--out", "tuned.json"], 2, "tuned.json must end in .toml, such as tuned.toml"),
        (["--out", "t.toml", "--trials", 0], 2, "--trials must be at least 1, got '0'"),
        (["--out", "t.toml", "--minutes", 0], 1, "--minutes must be above 0, got 0.0"),
        (["--out", "t.toml", "--preset", "best"], 1, "--preset must be one of context, quick"),
        (["--out", "t.toml", "--preset", "none.toml"], 1, "the preset file none.toml cannot be read: No such file"),
        (["--out", "t.toml", "--metric", "f1"], 1, "--metric must be one of"),
        (["--out", "t.toml", "--space", "none.toml"], 1, "the space none.toml cannot be read: No such file"),
        (["--out", "t.toml", "--set", "loss"], 2, "'loss' is not NAME=VALUE"),
    ],
)
def test_a_wrong_call_is_told_in_a_sentence(
    vse: Vse, some_pairs: Path, arguments: list[Any], status: int, fault: str
) -> None:
    answer = vse("tune", some_pairs, *arguments)
    assert (answer.status, answer.out) == (status, "")
    assert fault in answer.err
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1


def test_search_without_a_finished_trial_writes_no_preset(vse: Vse, some_pairs: Path, tmp_path: Path) -> None:
    answer = vse("tune", some_pairs, *SETTINGS, "--minutes", 1e-9, "--out", tmp_path / "tuned.toml")
    assert answer.status == 1
    assert answer.err.startswith("error: no trial was finished; run the search again with more time: ")
    assert not (tmp_path / "tuned.toml").exists()


def test_a_training_can_be_tracked(vse: Vse, some_pairs: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed: pip install 'vse-ens[tensorboard]'")
    track = f"tensorboard:{tmp_path / 'run'}"
    answer = vse("train", some_pairs, *SETTINGS, "--out", tmp_path / "model", "--track", track, "--json")
    assert json.loads(answer.out)["complete"]
    assert list((tmp_path / "run").glob("events*"))
    assert Annotator.load(tmp_path / "run" / "model").config_ == Annotator.load(tmp_path / "model").config_
    refused = vse("train", some_pairs, *SETTINGS, "--out", tmp_path / "other", "--track", "neptune")
    assert refused.status == 1
    assert refused.err.startswith("error: --track must be mlflow, mlflow:URI, wandb")
