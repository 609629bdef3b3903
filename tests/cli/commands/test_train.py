from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vse_ens.annotator import Annotator
from vse_ens.config import METRICS
from vse_ens.data.datasets.scenes import scenes
from vse_ens.errors import ModelError
from vse_ens.model.checkpoint_store import save_state
from vse_ens.storage.atomic import partial_name, reserve

Vse = Callable[..., Any]
SETTINGS = ("--preset", "vse-ens", "--dimensions", 8, "--epochs", 3)


def test_the_document_tells_what_was_done(vse: Vse, pairs: Path, tmp_path: Path) -> None:
    document = vse("train", pairs, "--out", tmp_path / "model", *SETTINGS, "--set", "margin=0.5", "--json").document
    assert document["model"] == str(tmp_path / "model")
    assert (document["preset"], document["epochs"], document["complete"]) == ("vse-ens", 3, True)
    assert document["draws"] == 3 * 23
    assert document["draws_per_second"] > 0
    assert document["validation"] == {}
    assert document["config"]["margin"] == 0.5
    assert [report["epoch"] for report in document["history"]] == [1, 2, 3]
    assert {"loss", "violations", "tries_per_draw", "rejected", "given_up", "refresh_share"} <= set(
        document["history"][0]
    )
    assert len(Annotator.load(tmp_path / "model").annotate("img 00", top=3)) == 3
    assert not (tmp_path / "model.checkpoint").exists()


def test_model_that_cannot_be_saved_is_kept_in_temporary_files(
    vse: Vse, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    save = Annotator.save

    def fill(self: Annotator, path: Path) -> None:
        if Path(path) == tmp_path / "model":
            raise ModelError(f"{path} could not be written: No space left on device")
        save(self, path)

    monkeypatch.setattr(Annotator, "save", fill)
    answer = vse("train", pairs, "--out", tmp_path / "model", *SETTINGS)
    assert answer.status == 1
    rescued = re.search(r"the trained model is in (\S+): make space and move it to", " ".join(answer.err.split()))
    assert rescued, answer.err
    assert len(Annotator.load(rescued[1]).annotate("img 00", top=3)) == 3


def test_the_default_tells_what_it_found_out(vse: Vse, tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    scenes(images=200, labels=60, seed=1).to_frame("polars").write_csv(path)
    settings = ("--dimensions", 8, "--negatives", 4, "--epochs", 3)
    answer = vse("train", path, "--out", tmp_path / "model", *settings)
    assert answer.status == 0
    words = " ".join(answer.out.split())
    assert re.search(r"epochs 3 on all pairs, from the best of 3 epochs on \(best: \d\)", words)
    assert re.search(r"validation recall@5 0\.\d{4}, .*, overall 0\.\d{4}", words)
    assert re.search(r"label weights factor [\d.]+, chosen on held-out labels", words)

    document = vse("train", path, "--out", tmp_path / "again", *settings, "--json").document
    assert (document["preset"], document["epochs"]) == ("context", 3 + 3)
    assert document["label_weights_scale"] > 0.0
    assert set(document["validation"]) == set(METRICS)
    assert document["config"]["rank_scale"] > 0.0, "chosen from the data"
    assert document["config"]["label_pairs"] > 0
    tried = [report["validation"] is not None for report in document["history"]]
    assert tried == [True] * 3 + [False] * 3


def test_the_model_is_the_same_bytes_on_any_number_of_workers(vse: Vse, pairs: Path, tmp_path: Path) -> None:
    folders = [tmp_path / f"model {workers}" for workers in (1, 2, 3)]
    for workers, folder in enumerate(folders, 1):
        settings = (*SETTINGS, "--set", "slices=3", "--validate", "--workers", workers)
        assert vse("train", pairs, "--out", folder, *settings).status == 0
    first, *others = [{file.name: file.read_bytes() for file in folder.iterdir()} for folder in folders]
    assert len(first) == 7
    assert all(other == first for other in others)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (("--sampler", "best"), "sampler must be one of uniform, popularity, warp, vse-ens, naive, dns; got 'best'"),
        (("--loss", "warp"), "with sampler vse-ens use hinge, logistic or softmax"),
        (("--set", "depth=3"), "unknown setting 'depth'; the settings are balance, batch, "),
        (("--preset", "bpr"), "preset must be one of context, quick, thorough, vse-ens"),
        (("--workers", "0"), "workers must be at least 1, got 0"),
        (("--tower", "features"), "needs image features: --features FILE"),
        (("--preset", "vse-ens", "--learning-rate", "10", "--epochs", "50"), "lower the learning rate (10)"),
    ],
)
def test_bad_input_is_an_error_in_one_line(
    vse: Vse, pairs: Path, tmp_path: Path, settings: tuple[str, ...], sentence: str
) -> None:
    answer = vse("train", pairs, "--out", tmp_path / "model", "--dimensions", 8, *settings)
    assert answer.status == 1
    assert sentence in answer.err
    assert not (tmp_path / "model").exists()


def test_a_place_that_is_not_a_model_is_refused_before_the_work(vse: Vse, pairs: Path) -> None:
    answer = vse("train", pairs, "--out", pairs.parent, *SETTINGS)
    assert answer.status == 1
    assert "is not a model directory; choose another --out" in answer.err
    assert "epoch" not in answer.err


def test_unwritable_out_is_found_before_pairs_are_read(vse: Vse, pairs: Path, tmp_path: Path) -> None:
    answer = vse("train", tmp_path / "no pairs.csv", "--out", pairs / "model", *SETTINGS)
    assert answer.status == 1
    assert "could not be written: Not a directory" in answer.err
    answer = vse("update", tmp_path / "no model", pairs, "--out", pairs / "model")
    assert answer.status == 1
    assert "could not be written: Not a directory" in answer.err


FOREIGN = {
    "model/model.json": "is not a model directory: its model.json was not written by vse-ens",
    "model/README.md/thesis.tex": "is not a model directory; choose another --out",
    "model.checkpoint/thesis.tex": "is not a checkpoint directory; choose another --out",
    "model.checkpoint/state.json": "is not a checkpoint directory: its state.json was not written by vse-ens",
    "model.checkpoint.shards/thesis.tex": "contains 'thesis.tex', which is not part of a training and would be lost",
    "model.checkpoint.shards/pairs/thesis.tex": "contains 'pairs/thesis.tex', which is not part of a training",
    "model.checkpoint.shards/training/rows-1/thesis.tex": "contains 'training/rows-1/thesis.tex', which is not part of",
}


@pytest.mark.parametrize("file", FOREIGN)
def test_a_file_that_no_training_wrote_is_named_and_kept(vse: Vse, tmp_path: Path, file: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    answer = vse("train", tmp_path / "no pairs.csv", "--out", tmp_path / "model", *SETTINGS)
    assert answer.status == 1
    assert FOREIGN[file] in answer.err, "found before the pairs are read"
    assert (tmp_path / file).read_text() == "mine"
    assert sorted(tmp_path.rglob("*")) == before


def test_second_training_of_one_model_is_refused(vse: Vse, pairs: Path, tmp_path: Path) -> None:
    with reserve(tmp_path / "model"):  # as the first does from start to end
        (tmp_path / "model.checkpoint").mkdir()
        before = sorted(tmp_path.rglob("*"))
        for command in (("train", pairs), ("update", tmp_path / "other", pairs)):
            answer = vse(*command, "--out", tmp_path / "model")
            assert answer.status == 1
            assert f"another process is training {tmp_path / 'model'}; wait until it has finished" in answer.err
        assert sorted(tmp_path.rglob("*")) == before


def test_the_model_is_reserved_until_its_checkpoint_is_removed(
    vse: Vse, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []

    def note(method: str) -> None:
        original = getattr(Annotator, method)

        def noting(self: Annotator, *arguments: Any, **options: Any) -> Any:
            held.append((tmp_path / ".model.run.lock").exists())
            return original(self, *arguments, **options)

        monkeypatch.setattr(Annotator, method, noting)

    for method in ("fit", "save", "remove_checkpoint"):
        note(method)
    assert vse("train", pairs, "--out", tmp_path / "model", *SETTINGS).status == 0
    assert held == [True, True, True]
    assert [path.name for path in tmp_path.iterdir() if path != pairs] == ["model"]


def test_leftovers_of_a_killed_run_are_removed_by_the_next(vse: Vse, pairs: Path, tmp_path: Path) -> None:
    save_state(tmp_path / "model.checkpoint", {}, {})
    shutil.copytree(tmp_path / "model.checkpoint", partial_name(tmp_path / "model.checkpoint"))
    for name in (".model.checkpoint.lock", ".model.checkpoint.run.lock", ".model.run.lock"):
        (tmp_path / name).write_text("")
    assert vse("train", pairs, "--out", tmp_path / "model", *SETTINGS).status == 0
    assert [path.name for path in tmp_path.iterdir() if path != pairs] == ["model"]


def test_nothing_to_resume_is_told(vse: Vse, pairs: Path, tmp_path: Path) -> None:
    answer = vse("train", pairs, "--out", tmp_path / "model", *SETTINGS, "--resume")
    assert answer.status == 0
    assert "has nothing to resume; trained from the start" in answer.err


def test_a_folder_of_parts_is_trained_by_shards(vse: Vse, tmp_path: Path) -> None:
    data = scenes(images=200, labels=60, seed=1)
    frame = data.to_frame("polars")
    (tmp_path / "parts").mkdir()
    frame[:300].write_parquet(tmp_path / "parts" / "1.parquet")
    frame[300:].write_parquet(tmp_path / "parts" / "2.parquet")
    settings = (*SETTINGS, "--shards", 3)
    answer = vse("train", tmp_path / "parts", "--out", tmp_path / "model", *settings, "--json")
    assert (answer.status, answer.document["config"]["shards"]) == (0, 3)
    frame.write_parquet(tmp_path / "pairs.parquet")
    vse("train", tmp_path / "pairs.parquet", "--out", tmp_path / "other", *settings)
    model, other = Annotator.load(tmp_path / "model"), Annotator.load(tmp_path / "other")
    assert model.known_.images == other.known_.images
    assert all((one == model.model_.arrays()[name]).all() for name, one in other.model_.arrays().items())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "other", "pairs.parquet", "parts"]


def test_options_that_a_cluster_lacks_are_refused(vse: Vse, pairs: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "model")
    for arguments, status, sentence in (
        ([pairs, *out, "--address", "localhost:1"], 1, "address needs a cluster"),
        ([pairs, *out, "--cluster", "spark"], 2, "--cluster must be ray, got 'spark'"),
        ([pairs, *out, "--shards", 100], 1, "shards must be at most the number of images, 10"),
        (
            [tmp_path, *out, "--feedback", "f.sqlite"],
            2,
            "features, --feedback and --rules need all pairs in one file",
        ),
        (["s3x://nowhere/parts", *out], 1, "s3x://nowhere/parts cannot be listed"),
    ):
        answer = vse("train", *arguments)
        assert (answer.status, answer.out) == (status, "")
        assert sentence in answer.err
        assert answer.err.count("\n") == 1
