"""Words spelled alike."""

from __future__ import annotations

import pytest

from vse_ens.curate.rules.aliases import spelling_matches, stem


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("car", "cars"),
        ("Car", "car"),
        ("berry", "berries"),
        ("church", "churches"),
        ("box", "boxes"),
        ("café", "Cafe"),
        ("t-shirt", "T shirt"),
        ("Straße", "strasse"),
        ("海", "海。"),
    ],
)
def test_the_same_word(one: str, other: str) -> None:
    assert stem(one) == stem(other)
    assert spelling_matches([one, "something else", other]) == {(0, 2): "same word"}


@pytest.mark.parametrize(("one", "other"), [("glas", "glass"), ("bus", "bu"), ("iris", "iri"), ("sea", "see")])
def test_another_word(one: str, other: str) -> None:
    assert spelling_matches([one, other]).get((0, 1)) != "same word"


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("beach", "beech", True),
        ("mountain", "mountan", True),
        ("mountain", "mountain k", True),
        ("boat", "coat", False),
        ("rating:s", "rating:e", False),
        ("Orte|Wien", "Orte|Bien", False),
        ("place:mountain", "place:mountan", True),
        ("route 66", "route 67", False),
        ("beach", "bench x", False),
        ("abcdef", "bacdef", False),
    ],
)
def test_one_letter_apart(one: str, other: str, near: bool) -> None:
    assert (spelling_matches([one, other]) == {(0, 1): "one letter"}) == near


def test_signs_alone_are_no_word() -> None:
    assert spelling_matches(["!", "?", "-"]) == {}
