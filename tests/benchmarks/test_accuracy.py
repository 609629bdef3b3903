"""Benchmarks of accuracy measure and score as they should, on tiny data."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.accuracy import (
    ablation,
    balance,
    components,
    context,
    departures,
    label_weights,
    nearby,
    partial_fit,
    sensitivity,
    tuning,
    vocabularies,
)
from benchmarks.core.report import fill_sections
from benchmarks.core.results import Result, load

from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.evaluate.rank import mean_metrics
from vse_ens.presets import configure
from vse_ens.streams import Streams


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Annotations:
    """Synthetic pairs in place of a real data set."""
    data = scenes(150, 60)
    for benchmark in (ablation, context, departures, partial_fit, sensitivity):
        monkeypatch.setattr(benchmark, "real", lambda _: ({"corel5k": data}, []))
    return data


def test_label_weights_measure_and_score() -> None:
    raw = label_weights.measure(label_weights.Sizes(words=(60, 80), images=300, real=(), supports=(4, 8)))
    assert [check.limit for check in label_weights.score(through_json(raw)).checks] == [0.012, 20.0, 0.012]


@pytest.mark.usefixtures("tiny")
def test_context_is_checked_against_floors_and_ease() -> None:
    raw = context.measure(context.Sizes(seeds=(0, 1), words=(60,), images=150, epochs=1))
    score = context.score(through_json(raw))
    assert [check.limit for check in score.checks] == [0.755, 0.487, 0.958, 0.0, 0.0, 0.0]
    seeds = [fit["metrics"]["mrr"] for fit in raw["sets"]["corel5k"]["context"]]
    ease = raw["sets"]["corel5k"]["ease"]["metrics"]["mrr"]
    assert score.checks[1].value == pytest.approx(np.mean(seeds))
    assert score.checks[4].value == pytest.approx(np.mean(seeds) - ease)
    assert [row[1] for row in score.tables[0].rows][:3] == ["context, mean", "context, seed 0", "context, seed 1"]


def test_ablation_cells_are_distinct_and_never_stop_early() -> None:
    configs = {cell: cell.config() for cell in ablation.GRID if cell.loss}
    assert len(set(configs.values())) == len(configs) == 4 + 7 + 4
    preset = configure("context")
    whole = configs[ablation.Cell("context + label pairs + label weights", "vse-ens", "softmax")]
    assert whole == preset.override(patience=preset.epochs, neighbors=False)
    assert all(config.validate and config.refit and config.patience == config.epochs for config in configs.values())


@pytest.mark.usefixtures("tiny")
def test_ablation_shows_means_over_seeds_and_paired_differences() -> None:
    cells = [ablation.Cell("context", sampler, "softmax") for sampler in ("uniform", "vse-ens")]
    sizes = ablation.Sizes(cells=(*cells, ablation.Cell("label weights alone")), images=100, seeds=2, epochs=1)
    raw = ablation.measure(sizes)
    assert raw["sets"]["corel5k"]["images"] == 100
    grid, changes = ablation.score(through_json(raw)).tables
    assert [row[:3] for row in grid.rows] == [
        ("context", "softmax", "uniform"),
        ("", "", "vse-ens"),
        ("label weights alone", "", ""),
    ]
    assert sum(row[3].count("**") for row in grid.rows) >= 4
    found = [[run["recall@10"] for run in cell["seeds"]] for cell in raw["sets"]["corel5k"]["cells"]]
    assert grid.rows[0][3].replace("**", "").split(" / ")[0] == f"{np.mean(found[0]):.3f}"
    assert changes.rows == [
        ("`vse-ens` for `uniform`: context, softmax", ablation.difference(np.array(found[0]), np.array(found[1])))
    ]


def test_two_standard_errors_are_not_a_difference() -> None:
    before = np.array([0.5, 0.6, 0.4])
    # Worked by hand: the mean is 0.1, and the standard error 0.1 / sqrt(3) = 0.0577, then 0.01 / sqrt(3) = 0.0058.
    unlike, alike = np.array([0.0, 0.1, 0.2]), np.array([0.09, 0.1, 0.11])
    assert ablation.difference(before, before + unlike) == "="
    assert ablation.difference(before, before + alike) == "+0.100 ± 0.006"
    assert ablation.difference(before, before - alike) == "-0.100 ± 0.006"
    assert ablation.difference(before[:1], before[:1] + 0.5) == "="


def test_ablation_is_summarized_by_what_the_seeds_tell() -> None:
    def cell(sampler: str, *recalls: float) -> dict[str, Any]:
        seeds = [{"recall@10": recall, "mrr": 0.0} for recall in recalls]
        return {"tower": "context", "sampler": sampler, "loss": "softmax", "seeds": seeds}

    uniform, other = cell("uniform", 0.5, 0.6), {"better": (0.6, 0.7), "worse": (0.4, 0.5), "same": (0.4, 0.7)}
    sets = {
        name: {"labels": 1, "images": 1, "cells": [uniform, cell("vse-ens", *recalls)]}
        for name, recalls in other.items()
    }
    assert ablation.summary(Result({}, 1.0, {"sets": sets, "seeds": 2}, {})) == (
        "- `vse-ens` for `uniform`: context, softmax: better on better (+0.100 ± 0.000); worse on worse (-0.100 ± "
        "0.000); no\n  difference on same."
    )
    assert ablation.summary(None) == "Not measured yet: `python -m benchmarks ablation`."


def test_components_rank_alone_and_together(tiny: Annotations) -> None:
    found = components.rank_all(tiny.leave_one_out(seed=1), seed=0, epochs=1)
    assert list(found) == ["label weights alone", "neighbors alone", *components._TRAINED]
    assert all(0.2 < metrics["recall@10"] <= 1.0 for metrics in found.values()), "chance is below 0.2, of 60 labels"
    assert found["neighbors alone"]["mrr"] > 1.5 * found_by_frequency(tiny)
    runs = [found, {name: {metric: value + 0.1 for metric, value in one.items()} for name, one in found.items()}]
    raw = {"parts": {f"seed {seed} on corel5k": {"raw": one} for seed, one in enumerate(runs)}}
    table, _ = components.score(raw).tables
    assert table.columns == ("recall@10", "corel5k")
    shown = {row[0]: row[1] for row in table.rows}
    assert all(cell.endswith(" ± 0.0500") for cell in shown.values())
    means = {name: float(cell.split()[0].strip("*")) for name, cell in shown.items()}
    assert means == pytest.approx({name: metrics["recall@10"] + 0.05 for name, metrics in found.items()}, abs=1e-4)
    best = max(means.values())
    assert all(means[name] == best for name, cell in shown.items() if cell.startswith("**"))


def test_balance_is_shown_by_value_and_data_set(tiny: Annotations) -> None:
    split = tiny.leave_one_out(seed=1)
    none, much = (balance.rank(split, 0, value, epochs=1) for value in (0.0, 2.0))
    assert much["rare labels: mrr"] > none["rare labels: mrr"]
    assert much["mrr"] < none["mrr"]
    stored = {"raw": {"balances": [none, much]}}
    means, sets = balance.score({"parts": {"seed 0 on a": stored, "seed 0 on b": stored}}).tables
    assert [row[0] for row in means.rows] == ["0", "2"]
    assert float(means.rows[1][2]) == pytest.approx(much["mrr"], abs=1e-4)
    assert sets.columns == ("balance", "a", "b")
    assert sets.rows[0][1] == f"{none['recall@10']:.3f} / {none['rare labels: recall@10']:.3f}"


def test_folders_and_dates_help_photos_without_labels(tmp_path: Path) -> None:
    pairs, texts = tmp_path / "pairs.tsv", tmp_path / "texts.tar.gz"
    kinds = (("sea", "sand", "boat"), ("tree", "moss", "bird"), ("car", "road", "shop"))
    with pairs.open("w") as rows, tarfile.open(texts, "w:gz") as archive:
        for number in range(240):
            image, kind = f"{number // 120:02}/{number}", kinds[number // 10 % 3]
            rows.writelines(f"{image}\t{label}\n" for at, label in enumerate(kind) if at != number % 4)
            text = f"<DOCNO>annotations/{image}.eng</DOCNO><DATE>{number // 10} May 2003</DATE>".encode()
            entry = tarfile.TarInfo(f"{image}.eng")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    raw = nearby.run(str(pairs), str(texts), nearby.SCATTERED, None, epochs=2)
    assert raw["nearby"]["recall@10"] == raw["labels"]["recall@10"] == 1  # there are nine labels
    assert raw["nearby"]["mrr"] > raw["labels"]["mrr"] + 0.3
    assert raw["hidden"] == pytest.approx(0.4 * 240, abs=25)
    [table] = nearby.score(through_json({"parts": {"scattered": {"raw": raw}}})).tables
    assert [row[:2] for row in table.rows] == [("scattered", "labels alone"), ("scattered", "--nearby")]
    rows_of_20 = nearby._hidden([f"00/{number}" for number in range(400)], nearby.IN_ROWS, Streams(0))
    assert (rows_of_20.reshape(-1, 20).any(axis=1) == rows_of_20.reshape(-1, 20).all(axis=1)).all()


def found_by_frequency(data: Annotations) -> float:
    """Return the MRR of the same labels for all images."""
    split = data.leave_one_out(seed=1)
    frequencies = split.train.images_per_label.astype(np.float32)
    found: float = mean_metrics(lambda images: np.tile(frequencies, (len(images), 1)), *split)["mrr"]
    return found


def test_vocabularies_compare_at_equal_epochs_and_time() -> None:
    def curve(seconds: float, *reached: float) -> list[dict[str, float]]:
        return [{"epoch": n, "seconds": n * seconds, "recall@10": value} for n, value in enumerate(reached, 1)]

    curves = {"uniform": curve(1.0, 0.1, 0.2, 0.3), "vse-ens": curve(2.0, 0.2, 0.4, 0.5)}
    raw = {"images": 9, "epochs": 3, "cases": [{"labels": 300, "negatives": 8, "curves": curves}]}
    (row,) = vocabularies.score(raw).tables[0].rows
    assert row[2:7] == ("0.3000", "0.5000", "+0.2000", "0.3000", "+0.0000")
    raw = vocabularies.measure(vocabularies.Sizes(words=(60,), images=150, negatives=(8,), epochs=2))
    assert [point["epoch"] for point in raw["cases"][0]["curves"]["vse-ens"]] == [1, 2]


def test_hold_back_removes_images_and_labels(tiny: Annotations) -> None:
    old, more = partial_fit.hold_back(tiny)
    assert old.pairs + more.pairs == tiny.pairs
    assert len(old.labels) == len(tiny.labels) - 5
    new = set(tiny.images) - set(old.images)
    assert len(new) >= len(tiny.images) // 10
    assert all(more.labels_of(image) == tiny.labels_of(image) for image in new)


@pytest.mark.usefixtures("tiny")
def test_partial_fit_measures_and_scores() -> None:
    raw = partial_fit.measure(partial_fit.Sizes(presets=("context",), epochs=1))
    score = partial_fit.score(through_json(raw))
    assert [check.limit for check in score.checks] == [0.01, 0.2]
    assert [row[2] for row in score.tables[0].rows] == ["before", "updated", "from scratch"]


def test_variant_differs_from_the_preset_in_one_setting(tiny: Annotations) -> None:
    (_, base), *others = sensitivity.variants(tiny).items()
    for title, config in others:
        changed = {name for name, value in config.to_dict().items() if getattr(base, name) != value}
        assert changed == {title.split()[0]}
    assert dict(others)["rank_scale x 0.5"].rank_scale == pytest.approx(base.rank_scale / 2, abs=1e-4)


@pytest.mark.usefixtures("tiny")
def test_stored_variants_are_not_trained_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    base = configure("context", epochs=1)
    tried = {"unchanged": base, "patience 9": base.override(patience=9)}
    monkeypatch.setattr(sensitivity, "variants", lambda _: tried)
    shown = sensitivity.compare(tmp_path / "rows.jsonl", seeds=(0,))
    assert "| patience 9 | +0.0000 ± 0.0000 | +0.0000 |" in shown
    monkeypatch.setattr(sensitivity, "fit_and_rank", None)
    assert sensitivity.compare(tmp_path / "rows.jsonl", seeds=(0,)) == shown
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 2


def through_json(raw: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(raw, allow_nan=False))  # type: ignore[no-any-return]


def test_departures_differ_in_the_settings_that_they_name() -> None:
    changed = {}
    for departure in departures.DEPARTURES:
        before, after = (config.to_dict() for config in departure.configs(291))
        changed[departure.name] = {name for name, value in before.items() if after[name] != value}
    assert changed == {
        "order of positives": {"positives"},
        "drawn positive": {"redraw_positives"},
        "minimum round": {"refresh"},
        "sort and draws ahead": {"engine", "refresh", "slices"},
        "slices and merge, 2": {"slices"},
        "slices and merge, 4": {"slices"},
        "label bias": {"label_bias"},
        "floor of lambda": {"rank_scale"},
        "all, with the paper's settings": {"engine", "positives", "redraw_positives"},
    }


@pytest.mark.usefixtures("tiny")
def test_departures_measure_and_score(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(departures, "DEPARTURES", departures.DEPARTURES[:2])
    monkeypatch.setattr(departures, "CHOICES", departures.CHOICES[:1])
    raw = through_json(departures.measure(departures.Sizes(seeds=(0, 1), epochs=1)))
    first, choices = departures.score(raw).tables
    assert [row[0] for row in first.rows] == ["order of positives", "drawn positive"]
    assert [row[0] for row in choices.rows] == ["order of positives"]
    runs = raw["sets"]["corel5k"]["departures"][0]["runs"]
    gains = [after["recall@10"] - before["recall@10"] for before, after in runs]
    assert first.rows[0][5].startswith(f"{np.mean(gains):+.4f} ± ")
    assert runs[0][0] == raw["sets"]["corel5k"]["departures"][1]["runs"][0][0], "equal settings are trained once"


def test_departures_of_the_page_are_those_stored() -> None:
    text = departures.DOCUMENT.read_text(encoding="utf-8")
    table = departures.training_table(load("departures"))
    assert fill_sections(text, {"departures": table}) == text, "run: python -m benchmarks report"


def test_the_context_page_shows_the_stored_results() -> None:
    text = ablation.DOCUMENT.read_text(encoding="utf-8")
    summary = ablation.summary(load("ablation"))
    assert fill_sections(text, {"ablation-summary": summary}) == text, "run: python -m benchmarks report"
    tables = components.tables(load("components"))
    assert fill_sections(text, {"components-table": tables}) == text, "run: python -m benchmarks report"


def test_departures_that_are_not_measured_say_so() -> None:
    lines = departures.training_table(None).splitlines()[2:]
    assert len(lines) == len(departures.DEPARTURES)
    assert all(line.endswith("| not measured yet | not measured yet |") for line in lines)
    run = [[{"recall@10": 0.5, "map": 0.3, "seconds": 1.0}, {"recall@10": 0.49, "map": 0.32, "seconds": 1.0}]]
    raw = {"sets": {"iaprtc12": {"departures": [{"name": "drawn positive", "runs": [*run, [run[0][0], None]]}]}}}
    shown = departures.training_table(Result({}, 1.0, raw)).splitlines()
    assert "| drawn positive | keeps it as a negative | redraws it | -0.0100 | +0.0200 |" in shown


def test_tuning_at_small_size_stores_nothing(
    tiny: Annotations, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, ...]] = []

    def real(names: tuple[str, ...]) -> tuple[dict[str, Annotations], list[str]]:
        asked.append(names)
        return dict.fromkeys(names, tiny), []

    figures = dict.fromkeys(("recall@10", "map", "auc", "seconds", "epochs"), 0.5)
    for module in (tuning, sensitivity):
        monkeypatch.setattr(module, "real", real)
        monkeypatch.setattr(module, "fit_and_rank", lambda *_: figures)
        monkeypatch.setattr(module, "RESULTS", None)
    tuning.main(["warp", "--quick"])
    tuning.main(["context", "--quick"])
    assert asked == [("corel5k",)] * 2
    shown = capsys.readouterr().out
    assert "learning_rate_decay" in shown
    assert "| unchanged | 0.5000 |" in shown
