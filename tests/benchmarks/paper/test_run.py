"""The whole reproduction at toy sizes: what is done, what is kept, and what the page says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from benchmarks.paper.cost import Grid
from benchmarks.paper.data_sets import DataSet
from benchmarks.paper.numbers import MODELS, PAPER
from benchmarks.paper.run import Effort, reproduce
from benchmarks.paper.stand_ins import Shape, stand_in
from benchmarks.paper.training import Limits

from vse_ens.data.io.write import write_parquet

pytestmark = pytest.mark.slow

TOY = Effort(
    "toy",
    {"iaprtc12": 0.02, "nuswide": 0.001, "openimages": 0.002},
    Limits(points=3, seconds=0.1, scores=20_000),
    Grid((100,), (50, 200), at_labels=50),
    seeds=2,
    trials=2,
    java_rounds=1,
)


class CountingListener:
    """Counts trainings, and stops the run after some of them where asked."""

    def __init__(self, stop_after: int = 0) -> None:
        self.trainings: list[str] = []
        self.steps = 0
        self._stop_after = stop_after

    def stage(self, title: str, iterations: int) -> None:
        assert iterations > 0

    def iterations(self, done: int) -> None:
        self.steps = done

    def message(self, text: str) -> None:
        if "recall@10" in text:
            self.trainings.append(text)
            if len(self.trainings) == self._stop_after:
                raise KeyboardInterrupt


class Text(HTMLParser):
    """The words of a page, and the addresses it would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.addresses: list[str] = []

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]


def _read(folder: Path) -> Any:
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def small_paper() -> Iterator[None]:
    """A paper whose IAPR-TC12 is small: the file below has its images and labels, and a hundred pairs more."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PAPER["table1"], "iaprtc12", {"images": 300, "labels": 40, "train": 1_200, "test": 280})
        yield


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, small_paper: None) -> tuple[Path, dict[str, Any]]:
    """One run with a real file for IAPR-TC12."""
    folder = tmp_path_factory.mktemp("reproduction")
    write_parquet({folder / "iaprtc12.parquet": stand_in(Shape(300, 40, 1_300, 280), seed=5)})
    document = reproduce(
        folder, CountingListener(), effort=TOY, paths={"iaprtc12": folder / "iaprtc12.parquet"}, workers=2
    )
    return folder, document


def test_everything_is_done_and_written(done: tuple[Path, dict[str, Any]]) -> None:
    folder, document = done
    assert document["complete"]
    assert _read(folder) == json.loads(json.dumps(document))
    groups = {name: sorted(runs) for name, runs in document["runs"].items()}
    stand_in_groups = ["deviation", "uncapped"]
    fixed, tuned = ["deviation", "variance"], ["early", "early-variance", "tuned", "tuned-variance"]
    assert groups == {
        "iaprtc12": sorted([*fixed, *tuned, "cut", "java", "laws", "samplers", "uncapped"]),
        "nuswide": stand_in_groups,
        "openimages": stand_in_groups,
    }
    for group in (*fixed, *tuned):
        models = document["runs"]["iaprtc12"][group]["models"]
        assert set(models) == set(MODELS) | ({"uniform"} if group in tuned else set())
        assert all(len(model["runs"]) == 2 for model in models.values())
        assert set(document["runs"]["iaprtc12"][group]["differences"]) >= {"vse-ens - warp", "warp - opt-auc"}
    assert set(document["runs"]["iaprtc12"]["laws"]["models"]) == {"geometric", "linear"}
    assert {(one["sampler"], one["labels"]) for one in document["cost"]} == {
        (sampler, labels) for sampler in (*MODELS, "naive") for labels in (50, 200)
    }


def test_every_part_says_where_it_comes_from(done: tuple[Path, dict[str, Any]]) -> None:
    folder, document = done
    assert set(document["parts"]) == {path.stem for path in (folder / "parts").iterdir()}
    for provenance in document["parts"].values():
        assert set(provenance) == {
            "commit", "date", "processor", "python", "numba", "load", "others", "wall_seconds"
        }  # fmt: skip
    runs = document["runs"]["iaprtc12"]["tuned"]["models"]["warp"]["runs"]
    assert [run["provenance"]["others"] for run in runs] == [
        document["parts"][f"iaprtc12-tuned-warp-seed{seed}"]["others"] for seed in (0, 1)
    ]


def test_a_part_that_is_left_out_is_said(tmp_path: Path) -> None:
    effort = replace(TOY, left_out=("other data",), shortlist={"vse-ens": [{"rank_scale": 0.25}]})
    document = reproduce(tmp_path, CountingListener(), effort=effort, data_sets=("openimages",), workers=1)
    assert (document["complete"], document["runs"]) == (True, {})
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "these parts were left out: other data" in text
    assert "VSE-ens: 0.25" in text


def test_stored_parts_can_be_assembled_without_the_rest(tmp_path: Path) -> None:
    options: dict[str, Any] = {"data_sets": ("openimages",), "workers": 1}
    reproduce(tmp_path, CountingListener(), effort=TOY, **options)
    (tmp_path / "parts" / "openimages-deviation-warp-seed0.json").unlink()
    (tmp_path / "parts" / "cost.json").unlink()
    listener = CountingListener()
    document = reproduce(tmp_path, listener, effort=replace(TOY, stored_only=True), **options)
    assert listener.trainings == []
    assert document["missing"] == {"other data": "1 of 4", "cost of a step": "1 of 1"}
    assert not document["complete"]
    assert set(document["runs"]["openimages"]["deviation"]["models"]) == {"vse-ens", "opt-auc"}
    assert "other data: 1 of 4" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_results_of_other_code_are_not_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"effort": TOY, "data_sets": ("openimages",), "workers": 1}
    reproduce(tmp_path, CountingListener(), **options)
    monkeypatch.setattr("benchmarks.paper.jobs.engine_digest", lambda: "another engine")
    listener = CountingListener()
    reproduce(tmp_path, listener, **options)
    assert len(listener.trainings) == 4


def test_seeds_have_splits_of_their_own_which_models_share() -> None:
    data_set = DataSet("iaprtc12", stand_in(Shape(300, 40, 1_300, 280), seed=5), None)
    assert data_set.split(0) is data_set.split(0)
    assert data_set.split(0).test != data_set.split(1).test
    images = [data_set.split(seed).test.image_numbers().tolist() for seed in (0, 1)]
    assert images[0] == images[1], "the same images, so that differences can be paired"


def test_early_stopping_takes_settings_and_iteration_of_the_best_point(done: tuple[Path, dict[str, Any]]) -> None:
    _, document = done
    for model, tried in document["tuning"]["iaprtc12"].items():
        best = max(tried, key=lambda one: one["best recall@10"])
        assert best["best recall@10"] >= best["recall@10"]
        early = document["runs"]["iaprtc12"]["early"]["models"][model]
        assert best["settings"].items() <= early["settings"].items()
        assert {run["stopped_at"] for run in early["runs"]} == {best["best_iteration"]}


def test_settings_are_tuned_on_real_data_within_the_budget(done: tuple[Path, dict[str, Any]]) -> None:
    _, document = done
    assert list(document["tuning"]) == ["iaprtc12"]
    for model, tried in document["tuning"]["iaprtc12"].items():
        assert len(tried) == 2
        best = max(tried, key=lambda one: one["recall@10"])
        used = document["runs"]["iaprtc12"]["tuned"]["models"][model]["settings"]
        assert best["settings"].items() <= used.items()


def test_the_page_has_the_order_of_the_paper_and_every_finding(done: tuple[Path, dict[str, Any]]) -> None:
    folder, document = done
    page = Text()
    page.feed((folder / "report.html").read_text(encoding="utf-8"))
    words = "".join(page.words)
    assert all(address.startswith("#") for address in page.addresses)
    headings = ("Figure 1: ", "Section 3: ", "Figure 2: ", "Table 1: ", "Table 2: ", "Table 3: ", "Table 4: ")
    main = words[words.rindex("Verdicts on the paper.") :]
    positions = [main.index(heading) for heading in headings]
    assert positions == sorted(positions)
    for printed in ("paper 0.4364", "paper 138.55 %", "paper 24.83 h", "about 2,100", "O(Tk)", "paper 5.02×"):
        assert printed in words, printed
    for finding in document["verdicts"]:
        assert finding["statement"] in words
        assert finding["evidence"] in words
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "## Table 4: training time" in text
    assert "paper 24.83 h" in text


def test_finished_parts_are_not_done_again(done: tuple[Path, dict[str, Any]]) -> None:
    folder, document = done
    listener = CountingListener()
    again = reproduce(folder, listener, effort=TOY, paths={"iaprtc12": folder / "iaprtc12.parquet"}, workers=1)
    assert listener.trainings == []
    assert again["runs"] == document["runs"]
    assert again["cost"] == document["cost"]


def test_a_stopped_run_keeps_its_parts_and_continues(tmp_path: Path) -> None:
    options: dict[str, Any] = {"effort": TOY, "data_sets": ("openimages",), "workers": 1}
    stopped = CountingListener(stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        reproduce(tmp_path, stopped, **options)
    assert not _read(tmp_path)["complete"]
    assert "not complete" in (tmp_path / "report.html").read_text(encoding="utf-8")
    kept = sorted(path.name for path in (tmp_path / "parts").iterdir())
    assert len(kept) == 2, "the training that was running is not kept"
    resumed = CountingListener()
    document = reproduce(tmp_path, resumed, **options)
    assert document["complete"]
    assert len(resumed.trainings) == 2
    assert not set(stopped.trainings) & set(resumed.trainings)


def test_damaged_and_other_parts_are_done_again(tmp_path: Path) -> None:
    options: dict[str, Any] = {"effort": TOY, "data_sets": ("openimages",), "workers": 1}
    reproduce(tmp_path, CountingListener(), **options)
    part = tmp_path / "parts" / "openimages-deviation-vse-ens-seed0.json"
    part.write_text("{", encoding="utf-8")
    listener = CountingListener()
    reproduce(tmp_path, listener, **options)
    assert [text.split(":")[0] for text in listener.trainings] == ["Open Images, deviation, vse-ens, seed 0"]
    listener = CountingListener()
    reproduce(tmp_path, listener, **options, fresh=True)
    assert len(listener.trainings) == 4


def test_a_longer_limit_repeats_only_what_ran_out_of_time(tmp_path: Path) -> None:
    tiny = replace(TOY, fractions={"openimages": 0.0002})
    options: dict[str, Any] = {"data_sets": ("openimages",), "workers": 1}
    reproduce(tmp_path, CountingListener(), effort=replace(tiny, limits=replace(TOY.limits, seconds=1e-6)), **options)
    for seconds, repeated in ((1e-9, 0), (1e3, 4), (1.0, 0)):
        listener = CountingListener()
        effort = replace(tiny, limits=replace(TOY.limits, seconds=seconds))
        document = reproduce(tmp_path, listener, effort=effort, **options)
        assert len(listener.trainings) == repeated
    runs = document["runs"]["openimages"]["deviation"]["models"]
    assert {model["runs"][0]["ending"] for model in runs.values()} == {"done"}
