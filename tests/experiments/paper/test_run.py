"""The whole reproduction at toy sizes: what is done, what is kept, and what the page says."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from vse_ens.data.io.write import write_pairs
from vse_ens.experiments.paper.draws import Grid
from vse_ens.experiments.paper.learning_curve import Limits
from vse_ens.experiments.paper.numbers import KNOWN_NUMBERS
from vse_ens.experiments.paper.run import Effort, reproduce
from vse_ens.experiments.paper.stand_ins import Shape, stand_in
from vse_ens.train.progress import EpochReport

pytestmark = pytest.mark.slow

TOY = Effort(
    "toy",
    {"iaprtc12": 0.02, "nuswide": 0.001, "openimages": 0.002},
    Limits(points=3, seconds=0.1, scores=20_000),
    Grid((100,), (50, 200), at_labels=50),
)


class CountingListener:
    """Counts parts, and stops the run before one of them where asked."""

    def __init__(self, stop_at: int = 0) -> None:
        self.parts: list[str] = []
        self.epochs = 0
        self._stop_at = stop_at

    def part(self, name: str, number: int, of: int) -> None:
        if number == self._stop_at:
            raise KeyboardInterrupt
        self.parts.append(name)

    def epoch(self, report: EpochReport, epochs: int) -> None:
        self.epochs += 1

    def step(self, text: str) -> None:
        pass


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
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """One run with a real file for IAPR-TC12."""
    folder = tmp_path_factory.mktemp("reproduction")
    write_pairs(folder / "iaprtc12.parquet", stand_in(Shape(300, 40, 1_300, 280), seed=5))
    document = reproduce(
        folder, CountingListener(), effort=TOY, paths={"iaprtc12": folder / "iaprtc12.parquet"}, workers=1
    )
    return folder, document


def test_everything_is_done_and_written(done: tuple[Path, dict[str, Any]]) -> None:
    folder, document = done
    assert document["complete"]
    assert _read(folder) == json.loads(json.dumps(document))
    for runs in document["models"].values():
        assert sorted(runs) == ["opt-auc", "paper-opt-auc", "paper-vse-ens", "paper-warp", "vse-ens", "warp"]
        for run in runs.values():
            # One label per image is held out: a hit among ten is a recall of 1 and a precision of 1/10, and its rank
            # counts at least 1/10 in the mean average precision.
            metrics = run["metrics"]
            assert metrics["recall@10"] == pytest.approx(10 * metrics["precision@10"])
            assert 0.0 <= metrics["recall@5"] <= metrics["recall@10"] <= 10 * metrics["map"] <= 10.0
            assert run["points"]
    assert {(one["sampler"], one["labels"]) for one in document["draws"]} == {
        (sampler, labels) for sampler in ("uniform", "vse-ens", "warp", "naive") for labels in (50, 200)
    }


def test_real_and_synthetic_data_are_distinguished(done: tuple[Path, dict[str, Any]]) -> None:
    data = done[1]["data_sets"]
    assert (data["iaprtc12"]["generated"], data["iaprtc12"]["images"], data["iaprtc12"]["test"]) == (False, 300, 280)
    assert data["openimages"]["generated"]
    assert "smaller than the real data" in data["openimages"]["note"]


def test_the_page_stands_alone_and_says_what_was_found(done: tuple[Path, dict[str, Any]]) -> None:
    folder, document = done
    page = Text()
    page.feed((folder / "report.html").read_text(encoding="utf-8"))
    words = "".join(page.words)
    assert all(address.startswith("#") for address in page.addresses)
    for heading in ("Table 1", "Table 2", "Table 3", "Table 4", "Figure 1", "Figure 2"):
        assert f"{heading}: " in words
    assert "not available" in words
    assert "SYNTHETIC" in words
    assert "paper 0.4360" in words
    for finding in document["findings"]:
        assert finding["text"] in words


def test_finished_parts_are_not_done_again(done: tuple[Path, dict[str, Any]]) -> None:
    folder, document = done
    listener = CountingListener()
    again = reproduce(folder, listener, effort=TOY, paths={"iaprtc12": folder / "iaprtc12.parquet"}, workers=1)
    assert listener.epochs == 0
    assert again["models"] == document["models"]
    assert again["draws"] == document["draws"]


def test_a_stopped_run_leaves_what_is_done_and_goes_on_from_there(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        reproduce(tmp_path, CountingListener(stop_at=5), effort=TOY, workers=1)
    stopped = _read(tmp_path)
    assert not stopped["complete"]
    assert list(stopped["models"]["iaprtc12"]) == ["paper-vse-ens"]
    assert "not complete" in (tmp_path / "report.html").read_text(encoding="utf-8")

    with pytest.raises(KeyboardInterrupt):
        reproduce(tmp_path, CountingListener(stop_at=6), effort=TOY, workers=1)
    more = _read(tmp_path)["models"]["iaprtc12"]
    assert list(more) == ["paper-vse-ens", "paper-warp"]
    assert more["paper-vse-ens"] == stopped["models"]["iaprtc12"]["paper-vse-ens"]


def test_other_settings_are_other_parts(tmp_path: Path) -> None:
    for seed, fresh, trained in ((0, False, True), (0, False, False), (1, False, True), (1, True, True)):
        listener = CountingListener(stop_at=5)
        with pytest.raises(KeyboardInterrupt):
            reproduce(tmp_path, listener, effort=TOY, paper=KNOWN_NUMBERS, seed=seed, fresh=fresh, workers=1)
        assert (listener.epochs > 0) is trained


def test_a_damaged_part_is_done_again(tmp_path: Path) -> None:
    for damage in (False, True):
        if damage:
            (tmp_path / "parts" / "iaprtc12-paper-vse-ens.json").write_text("{", encoding="utf-8")
        listener = CountingListener(stop_at=5)
        with pytest.raises(KeyboardInterrupt):
            reproduce(tmp_path, listener, effort=TOY, workers=1)
        assert listener.epochs > 0
