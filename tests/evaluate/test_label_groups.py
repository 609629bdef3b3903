from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.evaluate.rankings import GROUPS, group_of, group_thresholds


@pytest.mark.parametrize(
    ("images_per_label", "groups"),
    [
        # Of 12 pairs the first label brings a third, the second and third the next.
        ([4, 2, 2, 1, 1, 1, 1], "head middle middle tail tail tail tail"),
        ([9, 1, 1, 1], "head tail tail tail"),
        ([2, 2, 2], "head head head"),
        ([5, 3, 0], "head middle tail"),
        ([0, 0], "tail tail"),
    ],
)
def test_each_group_has_about_a_third_of_the_pairs(images_per_label: list[int], groups: str) -> None:
    counts = np.array(images_per_label)
    assert [GROUPS[number] for number in group_of(counts, group_thresholds(counts))] == groups.split()


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40))
def test_the_head_is_the_fewest_labels_that_have_a_third(images_per_label: list[int]) -> None:
    counts = np.array(images_per_label)
    head, middle = group_thresholds(counts)
    assert head >= middle >= 1
    if counts.sum():
        for least, thirds in ((head, 1), (middle, 2)):
            assert 3 * counts[counts >= least].sum() >= thirds * counts.sum()
            assert 3 * counts[counts > least].sum() < thirds * counts.sum()
