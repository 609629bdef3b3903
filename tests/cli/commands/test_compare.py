from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Answer
from vse_ens.data.datasets import scenes as built_in


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scenes") / "pairs with spaces.csv"
    built_in.scenes(images=300, labels=60, seed=1).to_frame("polars").write_csv(path)
    return path


def test_table_goes_to_stdout_and_progress_to_stderr(vse: Callable[..., Answer], scenes: Path) -> None:
    answer = vse("compare", scenes, "--models", "vse-ens:epochs=3,popularity,ease", "--dimensions", 8)
    assert answer.status == 0
    heading = next(line for line in answer.out.splitlines() if line.startswith("model"))
    assert heading.split()[1:] == ["recall@5", "recall@10", "map", "mrr", "auc", "ndcg@10", "seconds", "draws/s"]
    assert "±" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80
    for number, name in enumerate(("vse-ens:epochs=3", "popularity", "ease"), start=1):
        assert f"{number} of 3: {name}" in answer.err


def test_report_is_made_again_from_its_rankings(vse: Callable[..., Answer], scenes: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    answer = vse("compare", scenes, "--models", "popularity,cooccurrence", "--seed", 3, "--out", out, "--json")
    assert answer.status == 0
    document = answer.document
    assert document["report"] == str(out)
    assert document["rankings"] == str(tmp_path / "report.rankings")
    assert document["split"]["seed"] == 3
    command = f"vse compare '{scenes}' --models popularity,cooccurrence --seed 3 --out {out} --json"
    assert document["command"] == command
    assert command.replace("'", "&#x27;") in out.read_text(encoding="utf-8")

    again = tmp_path / "again.html"
    repeated = vse("compare", "--from-rankings", tmp_path / "report.rankings", "--out", again, "--json").document
    assert repeated["models"] == document["models"]
    assert again.read_bytes() == out.read_bytes()


def test_rankings_may_be_kept_elsewhere(vse: Callable[..., Answer], scenes: Path, tmp_path: Path) -> None:
    answer = vse("compare", scenes, "--models", "popularity", "--rankings", tmp_path / "kept")
    assert answer.status == 0
    assert f"rankings: {tmp_path / 'kept'}" in answer.out.replace("\n", "")
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["comparison.json", "popularity.parquet"]


def test_one_that_fails_has_a_row_and_the_exit_code_is_1(vse: Callable[..., Answer], scenes: Path) -> None:
    answer = vse("compare", scenes, "--models", "ease:memory_limit=1e-9,popularity")
    assert answer.status == 1
    assert "failed" in answer.out
    assert "ease:memory_limit=1e-9: failed: ease needs about" in answer.out
    assert "popularity" in answer.out


def test_a_budget_is_told(vse: Callable[..., Answer], scenes: Path) -> None:
    answer = vse("compare", scenes, "--models", "opt-auc:epochs=100000", "--dimensions", 8, "--budget", 0.05)
    assert answer.status == 0
    assert "stopped by the budget of 0.05 s at epoch" in answer.out


@pytest.mark.parametrize(
    ("arguments", "status", "fault"),
    [
        ([], 2, "give a file of pairs, or a folder with --from-rankings"),
        (["pairs.csv", "--from-rankings", "x"], 2, "'PAIRS': cannot be combined with --from-rankings"),
        (["--from-rankings", "x", "--seed", "0"], 2, "'--seed': cannot be combined with --from-rankings"),
        (
            ["--from-rankings", "x", "--label-column", "0"],
            2,
            "'--label-column': cannot be combined with --from-rankings",
        ),
        (["pairs.csv", "--models", "pear"], 1, "models must be of context, quick"),
        (["pairs.csv", "--out", "."], 2, ". is a folder; give a file such as report.html"),
        (["--from-rankings", "nowhere"], 1, "nowhere has no comparison.json"),
    ],
)
def test_a_wrong_call_is_told_in_a_sentence(
    vse: Callable[..., Answer], arguments: list[str], status: int, fault: str
) -> None:
    answer = vse("compare", *arguments)
    assert answer.status == status
    assert fault in answer.err
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
