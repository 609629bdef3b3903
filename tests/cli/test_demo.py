from __future__ import annotations

from collections.abc import Callable
from typing import Any

Vse = Callable[..., Any]


def test_it_shows_images_with_what_is_known_and_what_is_hidden(vse: Vse) -> None:
    document = vse("demo", "--images", 500, "--json").document
    assert document["data"]["images"] == 500
    assert document["train"] + document["test"] == document["data"]["pairs"]
    assert len(document["examples"]) == 5
    for example in document["examples"]:
        assert len(example["known"]) >= 3
        assert example["held_out"] not in example["known"]


def test_it_reads_well_in_a_terminal(vse: Vse) -> None:
    answer = vse("demo", "--images", 500, "--shown", 3)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith("The built-in data set: 500 everyday scenes")
    assert answer.out.count("img_") == 3
    assert max(map(len, answer.out.splitlines())) <= 80


def test_it_is_the_same_every_time(vse: Vse) -> None:
    assert vse("demo").out == vse("demo").out != vse("demo", "--seed", 1).out
