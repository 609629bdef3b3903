from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from tests.support.brute_force import Problem, problems
from vse_ens.evaluate.report import GROUP_METRICS, summarize

PROBLEM = Problem(
    {f"image {n}": {"sea": 3.0, "sand": 2.0, "wood": 1.0, "rare": 0.0} for n in range(6)},
    {"image 0": {"sea"}, "image 1": {"sea"}, "image 2": {"sea", "wood"}, "image 3": {"sea"}, "image 4": {"sand"}}
    | {"image 5": {"sand"}, "stranger": set()},
    {"image 0": {"sand"}, "image 1": {"wood", "rare"}, "image 4": {"sea"}, "image 5": {"unheard of"}}
    | {"stranger": {"sea"}},
)


@pytest.mark.unhurried
@given(problems())
def test_metrics_are_means_over_images_within_their_intervals(problem: Problem) -> None:
    report = summarize(problem.rank(), tops=(1, 3))
    expected = [values for _, values in problem.expected((1, 3))]
    assert report.images == len(expected)
    for name in expected[0]:
        assert report[name] == pytest.approx(np.mean([values[name] for values in expected]))
        low, high = report.intervals[name]
        assert low - 1e-9 <= report[name] <= high + 1e-9 or len(expected) < 3
    assert set(report) == {*expected[0], "coverage@1", "coverage@3"}


def test_unknown_images_and_labels_are_counted() -> None:
    report = summarize(PROBLEM.rank())
    assert (report.images, report.pairs, report.labels) == (5, 6, 4)
    assert (report.unknown_images, report.unknown_labels) == (1, 1)
    assert report.notes() == [
        "1 of 5 images are unknown to the model and count as misses",
        "1 of 6 held-out labels are unknown to the model and count as misses",
    ]
    assert "1 of 5 images are unknown" in str(report)


def test_groups_are_metrics_of_the_pairs_with_such_labels() -> None:
    # In training: sea 4, sand 2, wood 1, rare 0, of 7 pairs. The head is sea, the middle sand, the tail the rest.
    report = summarize(PROBLEM.rank())
    assert list(report.groups) == ["head", "middle", "tail"]
    head, middle, tail = report.groups.values()
    assert (head.labels, head.pairs, head.images) == (1, 2, 2)
    assert head.metrics == {"recall@10": 0.5, "map": 0.5, "mrr": 0.5}  # first for one image, the other is unknown
    assert (middle.labels, middle.pairs, middle.metrics["map"]) == (1, 1, 1.0)
    assert (tail.labels, tail.pairs, tail.images) == (3, 3, 2)
    # Places 2 and 3 of image 1; nothing for image 5.
    assert tail.metrics == pytest.approx({"recall@10": 0.5, "map": (1 / 2 + 2 / 3) / 2 / 2, "mrr": 1 / 4})
    assert set(tail.intervals) == set(GROUP_METRICS)


def test_a_group_without_pairs_is_not_there() -> None:
    problem = PROBLEM._replace(held_out={"image 0": {"sand"}})
    assert list(summarize(problem.rank()).groups) == ["middle"]


def test_a_report_is_a_mapping_and_json() -> None:
    report = summarize(PROBLEM.rank())
    assert report["map"] == dict(report)["map"] == report.metrics["map"]
    document = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert document["images"] == 5
    assert document["metrics"] == report.metrics
    assert document["intervals"]["map"] == list(report.intervals["map"])
    assert document["groups"]["head"]["metrics"]["recall@10"] == 0.5


def test_a_report_prints_as_a_table() -> None:
    lines = str(summarize(PROBLEM.rank(), tops=(10,))).splitlines()
    assert lines[0] == "5 images, 6 held-out labels, ranked among 4 labels"
    assert lines[4].split() == ["metric", "value", "95", "%", "interval"]
    rows = {line.split()[0]: line.split()[1:] for line in lines[5:] if line}
    assert rows["hit@10"][0] == "0.6000"
    assert rows["coverage@10"] == ["1.0000"]
    assert rows["tail"] == ["3", "3", "0.5000", "0.2917", "0.2500"]
    assert max(map(len, lines)) <= 80


def test_a_report_ends_with_its_headline() -> None:
    report = summarize(PROBLEM.rank(), tops=(1, 5, 10))
    assert report.headline() == (
        f"{report['recall@5']:.0%} of an image's held-out labels, on average, are among the first 5 and "
        f"{report['recall@10']:.0%} among the first 10 suggestions."
    )
    assert " ".join(str(report).splitlines()).endswith(f"  {report.headline()}")
    assert summarize(PROBLEM.rank(), tops=(3,)).headline().endswith(" are among the first 3 suggestions.")


def test_with_one_held_out_label_equal_metrics_are_folded() -> None:
    report = summarize(PROBLEM.rank(), tops=(1, 10))
    single = replace(report, pairs=report.images)
    assert ("recall@10", "hit@10") in single.folded()
    assert ("map", "mrr") in single.folded()
    assert not any("precision" in names[0] for names in single.folded())
    assert single.group_metrics() == ("recall@10", "map")
    assert "recall@10 = hit@10" in str(single)
    assert single.headline().startswith(f"{single['recall@1']:.0%} of the held-out labels are among")
    assert report.folded() == [(name,) for name in report.metrics]


def test_intervals_depend_on_the_seed_alone() -> None:
    rankings = PROBLEM.rank()
    assert summarize(rankings) == summarize(rankings)
    assert summarize(rankings).intervals != summarize(rankings, seed=1).intervals
    assert summarize(rankings).metrics == summarize(rankings, seed=1).metrics
