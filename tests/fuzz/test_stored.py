"""Every stored input of the fuzzer, and some mutations of each, which are the same on every run."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.targets import TARGETS, refused_with_a_sentence, starts
from tests.support.mutations import damaged
from vse_ens.errors import DataError

MUTATIONS = 30


@pytest.mark.unhurried
@pytest.mark.parametrize("name", TARGETS)
def test_no_stored_input_and_no_mutation_of_it_breaks_a_promise(name: str) -> None:
    contents = starts(name)
    assert contents
    chance = random.Random(name)
    for content in contents:
        TARGETS[name](content)
        for _ in range(MUTATIONS):
            TARGETS[name](damaged(content, chance))


def test_a_fault_and_a_message_of_two_lines_are_found(tmp_path) -> None:
    def fails(error: Exception):
        def read(path):
            raise error

        return read

    for error in (ValueError("fault"), DataError("two\nlines"), DataError("x" * 2000)):
        with pytest.raises((ValueError, AssertionError)):
            refused_with_a_sentence(fails(error), tmp_path)
    refused_with_a_sentence(fails(DataError("one sentence")), tmp_path)
