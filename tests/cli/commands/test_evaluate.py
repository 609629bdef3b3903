from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.local_cluster import stand_in
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.io.write import write_parquet
from vse_ens.evaluate.rankings import Rankings
from vse_ens.evaluate.report import summarize

Vse = Callable[..., Any]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small model and the pairs held out from it."""
    folder = tmp_path_factory.mktemp("trained")
    split = scenes(images=300, seed=0).leave_one_out()
    write_parquet({folder / "train.parquet": split.train, folder / "test.parquet": split.test})
    Annotator("vse-ens", epochs=3, dimensions=8).fit(split.train).save(folder / "model")
    return folder


def test_json_is_what_the_library_finds(vse: Vse, trained: Path) -> None:
    answer = vse("evaluate", trained / "model", trained / "test.parquet", "--json")
    assert (answer.status, answer.err) == (0, "")
    split = scenes(images=300, seed=0).leave_one_out()
    expected = Annotator.load(trained / "model").evaluate(split.test)
    document = answer.document
    assert document["metrics"] == expected.metrics
    assert document["intervals"] == {name: list(ends) for name, ends in expected.intervals.items()}
    assert document["images"] == expected.images
    assert (document["model"], document["test"]) == (str(trained / "model"), str(trained / "test.parquet"))
    wanted = {"precision@5", "recall@5", "precision@10", "recall@10", "map", "auc", "auc@10", "ndcg@10", "mrr", "hit@1"}
    assert wanted <= document["metrics"].keys()


def test_metrics_are_shown_as_a_table(vse: Vse, trained: Path) -> None:
    answer = vse("evaluate", trained / "model", trained / "test.parquet", "--top", 3, "--top", 20)
    assert (answer.status, answer.err) == (0, "")
    assert "held-out labels, ranked among" in answer.out.splitlines()[0]
    names = [line.split()[0] for line in answer.out.splitlines() if line]
    assert {"recall@3", "recall@20", "coverage@20", "map", "auc", "head", "tail"} <= set(names)
    assert "recall@10" not in names


def test_a_page_shows_whether_hits_are_what_they_say(vse: Vse, model: Path, tmp_path: Path) -> None:
    test = Annotations.from_pairs([("img_0000001", _lacking(model, "img_0000001"))])
    write_parquet({tmp_path / "test.parquet": test})
    answer = vse("evaluate", model, tmp_path / "test.parquet", "--page", tmp_path / "page.html")
    assert (answer.status, answer.err) == (0, "")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Are hits right?" in page
    assert "vse evaluate " in page


def _lacking(model: Path, image: str) -> str:
    return Annotator.load(model).annotate(image, top=1)[0].label


def test_rankings_are_kept(vse: Vse, trained: Path, tmp_path: Path) -> None:
    path = tmp_path / "rankings.parquet"
    options = ("--json", "--save-rankings", path, "--memory", 1, "--workers", 1, "--seed", 3)
    document = vse("evaluate", trained / "model", trained / "test.parquet", *options).document
    report = summarize(Rankings.load(path), seed=3)
    assert report.metrics == document["metrics"]
    assert {name: list(ends) for name, ends in report.intervals.items()} == document["intervals"]


def test_images_are_scored_by_the_labels_in_a_file(vse: Vse, tmp_path: Path) -> None:
    split = scenes(images=300, labels=60, seed=0).new_images(share=0.2)
    revealed, test = tmp_path / "revealed.parquet", tmp_path / "test.parquet"
    write_parquet({revealed: split.revealed, test: split.test})
    model = Annotator(epochs=3, dimensions=8, negatives=4).fit(split.train)
    model.save(tmp_path / "model")
    answer = vse("evaluate", tmp_path / "model", test, "--known", revealed, "--json")
    assert (answer.status, answer.err) == (0, "")
    assert answer.document["metrics"] == model.evaluate(split.test, known=split.revealed).metrics
    assert answer.document["unknown_images"] == 0
    strangers = vse("evaluate", tmp_path / "model", test, "--json").document
    assert strangers["metrics"]["recall@10"] < answer.document["metrics"]["recall@10"]

    told = vse("evaluate", tmp_path / "model", test, "--known", tmp_path / "reveald.parquet")
    assert told.status == 1
    assert "reveald.parquet does not exist; did you mean" in told.err
    told = vse("evaluate", tmp_path / "model", test, "--known", test)
    assert told.status == 1
    assert "is both held out and known" in told.err


def test_a_cluster_finds_the_same(vse: Vse, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    test = tmp_path / "test.parquet"
    write_parquet({test: Annotations.from_pairs([("img_0000001", _lacking(model, "img_0000001"))])})

    def measured(*options: object) -> tuple[str, bytes, str]:
        page, rankings = tmp_path / "page.html", tmp_path / "rankings.parquet"
        answer = vse("evaluate", model, test, "--page", page, "--save-rankings", rankings, *options)
        assert (answer.status, answer.err) == (0, "")
        before, _, after = page.read_text(encoding="utf-8").partition("vse evaluate ")
        return answer.out, rankings.read_bytes(), before + after.partition("<")[2]  # all but the command

    expected = measured()
    started = stand_in(monkeypatch)
    assert measured("--cluster", "ray", "--address", "a:1", "--workers", 2) == expected
    assert started == [("ray", "a:1", 2)] * 2  # the ranks, and what confidences are worth
    answer = vse("evaluate", model, test, "--cluster", "spark")
    assert (answer.status, "--cluster must be ray" in answer.err) == (2, True)


def test_the_options_of_reading_reach_the_reader(vse: Vse, trained: Path, tmp_path: Path) -> None:
    path = tmp_path / "test.csv"
    path.write_text("what;where\nzebra crossing;img_0000001\nsky;nowhere\n", encoding="utf-8")
    options = ("--image-column", "where", "--label-column", "what", "--separator", ";")
    document = vse("evaluate", trained / "model", path, *options, "--json").document
    assert (document["images"], document["unknown_images"]) == (2, 1)


@pytest.mark.parametrize(
    ("model", "test", "sentence"),
    [
        ("modle", "test.parquet", "modle"),
        ("model", "tset.parquet", "tset.parquet does not exist"),
        ("model", "train.parquet", "is both held out and known from training"),
    ],
)
def test_bad_input_is_an_error_in_one_line(model: str, test: str, sentence: str, vse: Vse, trained: Path) -> None:
    answer = vse("evaluate", trained / model, trained / test)
    assert (answer.status, answer.out) == (1, "")
    assert sentence in answer.err
    assert answer.err.count("\n") == 1


def test_a_list_of_no_labels_is_bad_usage(vse: Vse, trained: Path) -> None:
    answer = vse("evaluate", trained / "model", trained / "test.parquet", "--top", 0)
    assert answer.status == 2
    assert "--top must be" in answer.err
