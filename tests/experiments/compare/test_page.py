from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.html_reading import Reader
from vse_ens.data.annotations import Annotations
from vse_ens.evaluate.rank import evaluate
from vse_ens.evaluate.rankings import Rankings
from vse_ens.experiments.compare.entries import parse_entries
from vse_ens.experiments.compare.page import comparison_page
from vse_ens.experiments.compare.results import (
    Comparison,
    ComparisonInfo,
    EntryRun,
    RunStore,
    format_seconds,
    format_speed,
    run_notes,
)
from vse_ens.experiments.compare.run import fit_baseline


@pytest.fixture(scope="module")
def rankings() -> Rankings:
    data = Annotations.from_pairs((f"i{n}", f"l{(n * m) % 7}") for n in range(30) for m in range(1, 4))
    split = data.leave_one_out()
    (entry,) = parse_entries("popularity")
    scorer, _ = fit_baseline(entry.method, split)  # type: ignore[arg-type]  # it is a baseline
    return evaluate(scorer, split.train, split.test)


def page(folder: Path, rankings: Rankings, *runs: EntryRun, budget: float | None = None) -> Reader:
    for run in runs:
        if run.rankings:
            rankings.save(folder / run.rankings)
    split: dict[str, Any] = {
        "protocol": "leave-one-out",
        "seed": 7,
        "images": 30,
        "labels": 7,
        "pairs": 90,
        "train": 60,
        "test": 30,
    }
    info = ComparisonInfo("a <b>.csv", split, budget, "vse compare 'a <b>.csv'", {"processor": "abacus"}, list(runs))
    RunStore(folder).write(info)
    return Reader(comparison_page(Comparison.load(folder)).html())


TRAINED = EntryRun(
    "vse-ens:epochs=9",
    "model",
    {"epochs": 9, "loss": "hinge"},
    "done",
    seconds=2.0,
    stopped="budget",
    epochs=4.5,
    epochs_planned=9,
    draws=3_000_000,
    curve=[(0.5, 0.25), (2.0, 0.5)],
    rankings="vse-ens.parquet",
)
FITTED = EntryRun(
    "popularity", "baseline", {}, "done", seconds=1e-5, curve=[(1e-5, 0.5)], rankings="popularity.parquet"
)
REFUSED = EntryRun("ease", "baseline", {}, "failed", error="ease needs <much> memory")


def test_a_page_shows_everything(tmp_path: Path, rankings: Rankings) -> None:
    text = page(tmp_path, rankings, TRAINED, FITTED, REFUSED, budget=1.5).text
    for words in (
        "3 models on a <b>.csv",
        "Each model had 1.5 seconds of training.",
        "recall@10",
        "stopped by the budget of 1.5 s at epoch 4.5 of 9",
        "1.5 M",
        "Warning: ease has no result. ease needs <much> memory",
        "Times below 0.01 s are drawn at that value: popularity.",
        "head: ",
        "leave-one-out, seed 7",
        "abacus",
        "epochs 9, loss hinge",
        "vse compare 'a <b>.csv'",
    ):
        assert words in text


def test_a_page_without_any_result_still_says_why(tmp_path: Path, rankings: Rankings) -> None:
    read = page(tmp_path, rankings, REFUSED)
    assert "1 model on a <b>.csv" in read.text
    assert "ease needs <much> memory" in read.text
    assert read.all("figure") == []


def test_notes_on_a_run() -> None:
    assert run_notes(TRAINED, 1.5) == ["stopped by the budget of 1.5 s at epoch 4.5 of 9"]
    assert run_notes(REFUSED, None) == ["failed: ease needs <much> memory"]
    assert run_notes(FITTED, None) == []
    slow = EntryRun("ease", "baseline", {}, "done", over_budget=True, seconds=9.0)
    assert run_notes(slow, 1.0) == ["took longer than the budget of 1 s"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "–"), (1e-6, "<0.001"), (0.00315, "0.00315"), (5.567, "5.57"), (12345.6, "12,346")]
)
def test_seconds_in_few_digits(seconds: float | None, text: str) -> None:
    assert format_seconds(seconds) == text


@pytest.mark.parametrize(("speed", "text"), [(None, "–"), (636302.1, "636,302"), (2_740_000.0, "2.7 M")])
def test_speeds_in_few_digits(speed: float | None, text: str) -> None:
    assert format_speed(speed) == text
