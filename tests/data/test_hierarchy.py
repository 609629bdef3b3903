from __future__ import annotations

import pytest

from vse_ens.data.annotations import Annotations
from vse_ens.data.filters import (
    ancestors,
    facet,
    matching,
    merge_spelling,
    spelling_note,
    with_ancestors,
    without_matching,
)
from vse_ens.errors import ConfigError

DATA = Annotations.from_pairs(
    [("a", "place|beach|sand"), ("a", "sea"), ("b", "place|city"), ("b", "place"), ("c", "Sea"), ("c", "sea")]
)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("place|beach", "place|"),
        ("character:alice", "character:"),
        ("sea", ""),
        ("16:9", ""),
        (":d", ""),
        ("time: noon", ""),
        ("|odd", ""),
    ],
)
def test_a_facet_is_the_part_before_the_first_separator(label: str, expected: str) -> None:
    assert facet(label) == expected


def test_ancestors_are_added_to_the_labels_of_an_image() -> None:
    assert ancestors("a|b|c") == ["a", "a|b"]
    data = with_ancestors(DATA)
    assert data.labels_of("a") == ["place", "place|beach", "place|beach|sand", "sea"]
    assert data.labels_of("b") == ["place", "place|city"]
    assert data.notes == ("added the ancestors of labels, 1 of them new labels",)


def test_labels_that_differ_in_case_or_accents_are_merged() -> None:
    data = Annotations.from_pairs([("a", "Café"), ("b", "cafe"), ("b", "sea"), ("c", "cafe"), ("d", "Cafe\u0301")])
    [note] = spelling_note(data, merged=False)
    assert note.startswith("3 labels differ only in case or accents, such as ")
    assert spelling_note(data, merged=True) == []
    merged = merge_spelling(data)
    assert list(merged.labels) == ["cafe", "sea"]
    assert merged.labels_of("a") == merged.labels_of("d") == ["cafe"]
    assert merged.notes == ("merged 2 labels into others that differ only in case or accents",)


def test_labels_can_be_ignored() -> None:
    data = without_matching(DATA, ["place*", "nothing"])
    assert list(data.labels) == ["Sea", "sea"]
    assert data.labels_of("a") == ["sea"]
    assert data.labels_of("b") == []
    assert data.notes == ("ignored 3 labels in 3 pairs",)
    assert without_matching(DATA, ["nothing"]) is DATA


def test_patterns_match_whole_labels() -> None:
    assert matching(["place|*"], DATA.labels) == ["place|beach|sand", "place|city"]
    assert matching(["?ea"], DATA.labels) == ["Sea", "sea"]
    assert matching(["place", "s*"], DATA.labels) == ["place", "sea"]
    with pytest.raises(ConfigError, match=r"no label matches 'x\*'"):
        matching(["x*"], DATA.labels)
