"""The benchmarks measure what they say, judge plainly, and the page shows what is stored."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.accuracy import ablation, context, label_weights, partial_fit, sensitivity, vocabularies
from benchmarks.core.benchmark import Benchmark, Check, Score
from benchmarks.core.data_sets import REAL, real, zipf
from benchmarks.core.models import random_embeddings
from benchmarks.core.report import DOCUMENT, fill_sections, section
from benchmarks.core.results import Result, load, store
from benchmarks.scale import shards
from benchmarks.service import inference
from benchmarks.speed import labels, samplers, workers
from benchmarks.speed.interleaved import TrainingTurns, Turn, best, cost, interleave
from benchmarks.speed.labels import Case
from benchmarks.speed.reference import Reference, uniform_negatives
from benchmarks.suite import SUITE

from benchmarks import __main__ as command
from vse_ens.config import Config, configure
from vse_ens.data.annotations import Annotations
from vse_ens.data.scenes import scenes
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams

SMALL = Config(sampler="uniform", loss="logistic", dimensions=8)


def test_the_page_shows_what_is_stored() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    sections = {name: section(benchmark, load(name)) for name, benchmark in SUITE.items()}
    assert text == fill_sections(text, sections), "run: python -m benchmarks report"


@pytest.mark.parametrize(
    ("check", "verdict"),
    [
        (Check("x", 0.79, "at least", 0.8), "**below floor**"),
        (Check("x", 0.80, "at least", 0.8), "met"),
        (Check("x", 0.50, "at least", 0.4, 0.7), "met, goal not yet"),
        (Check("x", 0.70, "at least", 0.4, 0.7), "goal met"),
        (Check("x", 2.01, "at most", 2.0), "**over limit**"),
        (Check("x", 2.00, "at most", 2.0), "met"),
    ],
)
def test_a_missed_promise_is_named(check: Check, verdict: str) -> None:
    assert check.verdict == verdict


def test_the_best_turn_counts_with_its_share_of_the_plan() -> None:
    slow = asdict(Turn(draws=100, seconds=2.0))
    fast = asdict(Turn(draws=100, seconds=1.0, plan_seconds=4.0, epoch_draws=1_000))
    assert best([slow, fast]) == fast
    assert cost(fast) == pytest.approx(0.01 + 0.004)


def test_the_first_turn_does_not_count_and_contestants_alternate() -> None:
    taken: list[str] = []

    def contestant(name: str) -> Turn:
        taken.append(name)
        return Turn(1, 1.0)

    turns = interleave({"a": lambda: contestant("a"), "b": lambda: contestant("b")}, repeats=2)
    assert taken == ["a", "b"] * 3
    assert {name: len(listed) for name, listed in turns.items()} == {"a": 2, "b": 2}


def test_a_result_comes_back_as_it_was_stored(tmp_path: Path) -> None:
    result = Result({"date": "2026-01-01"}, 1.5, {"turns": [1, 2]})
    store("speed", result, tmp_path)
    assert load("speed", tmp_path) == result
    assert load("labels", tmp_path) is None


def test_the_page_needs_a_place_for_every_benchmark() -> None:
    assert (
        fill_sections("a\n<!-- x -->\nold\n<!-- /x -->\nb", {"x": r"new \1"})
        == "a\n<!-- x -->\nnew \\1\n<!-- /x -->\nb"
    )
    with pytest.raises(ValueError, match="<!-- y -->"):
        fill_sections("a", {"y": "new"})


def test_zipf_pairs_cover_all_images_and_favour_some_labels() -> None:
    data = zipf(images=500, labels=50)
    assert data.labels_per_image.min() >= 1
    counts = np.sort(data.images_per_label)
    assert counts[-1] > 5 * np.median(counts)


def test_missing_data_sets_are_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.core.data_sets._FOLDER", tmp_path)
    found, skipped = real(REAL)
    assert not found
    assert [sentence.split(":")[0] for sentence in skipped] == list(REAL)


def test_negatives_drawn_beforehand_are_labels_the_image_has_not() -> None:
    data = zipf(images=200, labels=12)
    images = np.arange(200)[::-1].copy()
    negatives = uniform_negatives(data, images, Streams(0))
    owners = np.repeat(images, data.labels_per_image[images])
    assert not any(n in data.label_numbers(int(i)) for i, n in zip(owners, negatives, strict=True))
    assert set(negatives.tolist()) == set(range(12))


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to build the yardstick with")
def test_the_yardstick_does_the_work_of_the_engine() -> None:
    data = zipf(images=2_000, labels=60)
    start = random_embeddings(data, SMALL.dimensions)
    with Workers(1) as worker:
        ours = TrainingTurns(SMALL, data, start, worker)
        theirs = Reference(SMALL, data, start)
        for _ in range(3):
            our_turn, their_turn = ours(), theirs()
            assert our_turn.draws == their_turn.draws == data.pairs
            assert our_turn.loss == pytest.approx(their_turn.loss, rel=0.03)


def test_a_turn_of_some_rounds_goes_on_where_the_last_one_ended() -> None:
    data = zipf(images=2_000, labels=60)
    with Workers(1) as worker:
        training = TrainingTurns(SMALL, data, random_embeddings(data, SMALL.dimensions), worker, rounds=2)
        draws = 0
        while draws < data.pairs:
            turn = training()
            draws += turn.draws
            assert turn.draws < data.pairs
        assert draws == data.pairs
        assert training().draws < data.pairs


def test_speed_workers_and_labels_measure_and_judge() -> None:
    raw = samplers.measure(samplers.Sizes(300, 200, dimensions=8, start_epochs=1, turns=1, others=(), other_turns=1))
    assert [check.limit for check in samplers.score(_stored(raw)).checks][-1] == 0.4
    raw = workers.measure(workers.Sizes(300, 200, dimensions=8, start_epochs=1, turns=1, kinds=("uniform", "context")))
    assert raw["skipped"] or workers.score(_stored(raw)).checks[0].limit == 1.6
    cases = (Case(200, 20), Case(200, 100)), (Case(100, 20, rounds=1), Case(400, 20, rounds=1))
    raw = labels.measure(labels.Sizes(*cases, dimensions=8, turns=1))
    assert [check.limit for check in labels.score(_stored(raw)).checks] == [2.0, 1.5]


def test_memory_measures_and_judges() -> None:
    raw = label_weights.measure(label_weights.Sizes(words=(60, 80), images=300, real=(), supports=(4, 8)))
    assert [check.limit for check in label_weights.score(_stored(raw)).checks] == [0.012, 20.0, 0.012]


def test_shards_measure_and_judge() -> None:
    case = shards.Case("vse-ens", {"dimensions": 4, "epochs": 1}, images=60, labels=60)
    raw = _stored(shards.measure(shards.Sizes((case,), held_out=10)))
    assert [len(found) for found in raw["cases"][0]["found"].values()] == [2, 2, 2]
    raw["cases"][0]["found"] = {"1": [0.5, 0.7], "4": [0.5, 0.8], "16": [0.3, 0.6]}
    score = shards.score(raw)
    assert [round(check.value, 3) for check in score.checks] == [1.083, 0.75]
    assert score.tables[0].rows[0][-2:] == ("0.5000 / 0.8000 (+8.3%)", "0.3000 / 0.6000 (-25.0%)")


def test_using_measures_and_judges() -> None:
    pytest.importorskip("usearch")
    sizes = inference.Sizes(200, 50, 1, 3, 500, 1, 300, 100, 60, 3)
    raw = {**asdict(sizes), **{name: part(sizes) for name, part in inference._PARTS.items()}}
    assert [check.limit for check in inference.score(_stored(raw)).checks] == [3.0, 2.0, 2.0] * 2 + [1.0, 0.95, 0.95]


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Annotations:
    """Made-up pairs in place of a real data set."""
    data = scenes(150, 60)
    for benchmark in (ablation, context, partial_fit, sensitivity):
        monkeypatch.setattr(benchmark, "real", lambda _: ({"corel5k": data}, []))
    return data


@pytest.mark.usefixtures("tiny")
def test_context_is_held_to_its_floors_and_to_ease() -> None:
    raw = context.measure(context.Sizes(seeds=(0, 1), words=(60,), images=150, epochs=1))
    score = context.score(_stored(raw))
    assert [check.limit for check in score.checks] == [0.755, 0.487, 0.958, 0.0, 0.0, 0.0]
    seeds = [fit["metrics"]["mrr"] for fit in raw["sets"]["corel5k"]["context"]]
    ease = raw["sets"]["corel5k"]["ease"]["metrics"]["mrr"]
    assert score.checks[1].value == pytest.approx(np.mean(seeds))
    assert score.checks[4].value == pytest.approx(np.mean(seeds) - ease)
    assert [row[1] for row in score.tables[0].rows][:3] == ["context, mean", "context, seed 0", "context, seed 1"]


def test_every_cell_of_the_ablation_is_a_model_and_the_last_tower_is_the_preset() -> None:
    configs = {cell: cell.config() for cell in ablation.GRID if cell.loss}
    assert len(set(configs.values())) == len(configs) == 2 * 10 + 4
    assert configs[ablation.Cell("context + label pairs + label weights", "vse-ens", "softmax")] == configure("context")
    assert all(config.validate and config.refit for config in configs.values())


@pytest.mark.usefixtures("tiny")
def test_ablation_shows_each_cell_and_what_the_sampler_adds() -> None:
    cells = [ablation.Cell("context", sampler, "softmax") for sampler in ("uniform", "vse-ens")]
    raw = ablation.measure(ablation.Sizes(cells=(*cells, ablation.Cell("label weights alone")), epochs=1))
    grid, gains = ablation.score(_stored(raw)).tables
    assert [row[:3] for row in grid.rows] == [
        ("context", "softmax", "uniform"),
        ("", "", "vse-ens"),
        ("label weights alone", "", ""),
    ]
    assert sum(row[3].count("**") for row in grid.rows) >= 4
    plain, adaptive = (cell["mrr"] for cell in raw["sets"]["corel5k"]["cells"][:2])
    assert [row[2].split(" / ")[1] for row in gains.rows] == [f"{adaptive - plain:+.3f}"]


def test_vocabularies_compare_after_as_many_epochs_and_as_much_time() -> None:
    def curve(seconds: float, *reached: float) -> list[dict[str, float]]:
        return [{"epoch": n, "seconds": n * seconds, "recall@10": value} for n, value in enumerate(reached, 1)]

    curves = {"uniform": curve(1.0, 0.1, 0.2, 0.3), "vse-ens": curve(2.0, 0.2, 0.4, 0.5)}
    raw = {"images": 9, "epochs": 3, "cases": [{"labels": 300, "negatives": 8, "curves": curves}]}
    (row,) = vocabularies.score(raw).tables[0].rows
    assert row[2:7] == ("0.3000", "0.5000", "+0.2000", "0.3000", "+0.0000")
    raw = vocabularies.measure(vocabularies.Sizes(words=(60,), images=150, negatives=(8,), epochs=2))
    assert [point["epoch"] for point in raw["cases"][0]["curves"]["vse-ens"]] == [1, 2]


def test_growth_keeps_images_and_labels_back(tiny: Annotations) -> None:
    old, more = partial_fit.hold_back(tiny)
    assert old.pairs + more.pairs == tiny.pairs
    assert len(old.labels) == len(tiny.labels) - 5
    new = set(tiny.images) - set(old.images)
    assert len(new) >= len(tiny.images) // 10
    assert all(more.labels_of(image) == tiny.labels_of(image) for image in new)


@pytest.mark.usefixtures("tiny")
def test_growing_measures_and_judges() -> None:
    raw = partial_fit.measure(partial_fit.Sizes(presets=("context",), epochs=1))
    score = partial_fit.score(_stored(raw))
    assert [check.limit for check in score.checks] == [0.01, 0.2]
    assert [row[2] for row in score.tables[0].rows] == ["before", "updated", "from scratch"]


def test_a_variation_differs_from_the_preset_in_one_setting(tiny: Annotations) -> None:
    (_, base), *others = sensitivity.variants(tiny).items()
    for title, config in others:
        changed = {name for name, value in config.to_dict().items() if getattr(base, name) != value}
        assert changed == {title.split()[0]}
    assert dict(others)["rank_scale x 0.5"].rank_scale == pytest.approx(base.rank_scale / 2, abs=1e-4)


@pytest.mark.usefixtures("tiny")
def test_variations_that_are_kept_are_not_trained_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    base = configure("context", epochs=1)
    tried = {"unchanged": base, "patience 9": base.override(patience=9)}
    monkeypatch.setattr(sensitivity, "variants", lambda _: tried)
    shown = sensitivity.compare(tmp_path / "rows.jsonl", seeds=(0,))
    assert "| patience 9 | +0.0000 ± 0.0000 | +0.0000 |" in shown
    monkeypatch.setattr(sensitivity, "fit_and_rank", None)
    assert sensitivity.compare(tmp_path / "rows.jsonl", seeds=(0,)) == shown
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 2


def _stored(raw: dict[str, object]) -> dict[str, object]:
    """As it comes back from a file."""
    return json.loads(json.dumps(raw, allow_nan=False))  # type: ignore[no-any-return]


def test_a_quick_run_uses_small_sizes_and_stores_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stored: list[Result] = []
    reported: list[bool] = []
    made_up = Benchmark("x", "A claim.", 100.0, 1.0, lambda size: {"size": size, "skipped": ["A reason."]}, _judge)
    monkeypatch.setattr(command, "SUITE", {"x": made_up})
    monkeypatch.setattr(command, "store", lambda _, result: stored.append(result) or tmp_path)
    monkeypatch.setattr(command, "report", lambda: reported.append(True))
    command.main(["x", "--quick"])
    assert not stored
    assert not reported
    shown = capsys.readouterr().out
    assert "| a size | 1.00 | at least 2 |  | **below floor** |" in shown
    assert "Skipped: A reason." in shown
    command.main([])
    assert [result.raw["size"] for result in stored] == [100.0]
    assert reported


def _judge(raw: dict[str, Any]) -> Score:
    return Score([Check("a size", raw["size"], "at least", 2.0)])


def test_an_unknown_benchmark_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        command.main(["speeed"])
    assert "no benchmark 'speeed'" in capsys.readouterr().err
