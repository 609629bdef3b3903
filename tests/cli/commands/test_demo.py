from __future__ import annotations

from collections.abc import Callable
from typing import Any

Vse = Callable[..., Any]


def test_examples_show_known_and_suggested_labels(vse: Vse) -> None:
    document = vse("demo", "--images", 500, "--shown", 3, "--json").document
    assert document["data"]["images"] == 500
    assert document["train"] + document["test"] == document["data"]["pairs"]
    assert 0.4 < document["metrics"]["recall@10"] < 0.5  # 0.45; the ten most frequent labels reach 0.18
    assert len(document["examples"]) == 3
    for example in document["examples"]:
        suggested = [one["label"] for one in example["suggestions"]]
        assert len(example["known"]) >= 3
        assert len(suggested) == len(set(suggested)) == 5
        assert example["held_out"] not in example["known"]
        assert not set(suggested) & set(example["known"])


def test_demo_reads_well_in_a_terminal(vse: Vse) -> None:
    answer = vse("demo", "--images", 500, "--shown", 3)
    assert answer.status == 0
    assert answer.out.startswith("Built-in data set: 500 everyday scenes")
    assert "suggested labels" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80


def test_demo_is_the_same_every_time(vse: Vse) -> None:
    def examples(*options: object) -> Any:
        return vse("demo", "--images", 300, "--json", *options).document["examples"]

    assert examples() == examples() != examples("--seed", 1)
