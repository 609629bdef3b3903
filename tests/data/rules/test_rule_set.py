"""Rules in force: names, implications, and every cycle and contradiction refused."""

from __future__ import annotations

import pytest

from vse_ens.data.rules.rule_set import Rule, RuleSet
from vse_ens.errors import ConfigError
from vse_ens.streams import Streams


def rules(*given: tuple[str, str, str]) -> RuleSet:
    return RuleSet(Rule(n, kind, label, other, "anna", "now") for n, (kind, label, other) in enumerate(given, 1))  # type: ignore[arg-type]


def test_names_and_implications_follow_chains() -> None:
    found = rules(
        ("alias", "cars", "car"),
        ("rename", "car", "automobile"),
        ("implication", "automobile", "vehicle"),
        ("implication", "vehicle", "thing"),
    )
    assert [found.name_of(label) for label in ("cars", "car", "automobile", "sea")] == [
        "automobile",
        "automobile",
        "automobile",
        "sea",
    ]
    assert found.closure() == {"automobile": ["thing", "vehicle"], "vehicle": ["thing"]}


def test_an_implication_follows_its_labels_through_two_names() -> None:
    found = rules(("implication", "dalmatian", "dog"))
    assert found.closure() == {"dalmatian": ["dog"]}
    for number, (label, other) in enumerate((("dog", "hound"), ("cat", "kitty"), ("hound", "canine")), 2):
        found.add(Rule(number, "alias", label, other, "anna", "now"))
        assert found.closure() == {"dalmatian": [found.name_of("dog")]}


def test_an_implication_takes_part_in_a_later_rename() -> None:
    found = rules(("implication", "dalmatian", "dog"), ("rename", "dog", "hound"), ("alias", "dalmatian", "Dalmatian"))
    assert found.closure() == {"Dalmatian": ["hound"]}
    found.remove(2)
    assert found.closure() == {"Dalmatian": ["dog"]}
    found.remove(1)
    assert found.closure() == {}
    assert [rule.id for rule in found] == [3]


@pytest.mark.parametrize(
    ("before", "refused", "message"),
    [
        ([("alias", "a", "b")], ("alias", "b", "a"), r"'a' is replaced by 'b' \(rule 1\); name 'b' instead"),
        ([("alias", "a", "b")], ("alias", "a", "c"), r"'a' is replaced by 'b' \(rule 1\)"),
        ([("rename", "b", "c")], ("rename", "a", "b"), r"'b' is replaced by 'c' \(rule 1\); name 'c' instead"),
        ([("alias", "a", "b")], ("implication", "a", "c"), r"'a' is replaced by 'b'"),
        ([("alias", "a", "b")], ("implication", "c", "a"), r"'a' is replaced by 'b'"),
        ([("implication", "a", "b")], ("implication", "b", "a"), "'b' cannot imply 'a', because 'a' implies 'b'"),
        (
            [("implication", "a", "b"), ("implication", "b", "c")],
            ("implication", "c", "a"),
            "'c' cannot imply 'a', because 'a' implies 'b' implies 'c'; undo one of those rules first",
        ),
        ([("implication", "a", "b")], ("alias", "a", "b"), "'a' cannot be replaced by 'b', because 'a' implies 'b'"),
        ([("implication", "a", "b")], ("alias", "b", "a"), "'b' cannot be replaced by 'a', because 'a' implies 'b'"),
        (
            [("implication", "a", "b"), ("implication", "b", "c")],
            ("rename", "c", "a"),
            "because 'a' implies 'b' implies 'c'",
        ),
        (
            [("implication", "a", "b"), ("rename", "b", "x"), ("implication", "x", "c")],
            ("implication", "c", "a"),
            "because 'a' implies 'x' implies 'c'",
        ),
        ([("implication", "a", "b")], ("implication", "a", "b"), r"'a' implies 'b' already \(rule 1\)"),
        (
            [("implication", "a", "b")],
            ("rejected", "a", "b"),
            "'a' implies 'b' by a rule in force; undo that rule first",
        ),
        (
            [("implication", "a", "b"), ("rename", "b", "c")],
            ("rejected", "a", "c"),
            "'a' implies 'c' by a rule in force",
        ),
        ([("alias", "a", "b")], ("rejected", "a", "b"), "'a' and 'b' are one label by a rule in force"),
        ([("alias", "a", "b")], ("rejected", "b", "a"), "'b' and 'a' are one label by a rule in force"),
        ([], ("rejected", "a", "a"), "needs two labels, got 'a' twice"),
        ([], ("alias", "a", "a"), "needs two labels, got 'a' twice"),
        ([], ("alias", " ", "a"), "label must not be blank"),
        ([], ("alias", "a", ""), "other must not be blank"),
        ([], ("alias", "a", "\ud800"), "not valid Unicode"),
        ([], ("merge", "a", "b"), "kind must be one of alias, rename, implication, rejected, got 'merge'"),
    ],
)
def test_a_contradiction_is_refused(
    before: list[tuple[str, str, str]], refused: tuple[str, str, str], message: str
) -> None:
    found = rules(*before)
    with pytest.raises(ConfigError, match=message):
        found.add(Rule(9, *refused, "anna", "now"))  # type: ignore[arg-type]
    assert len(found) == len(before)
    assert 9 not in found


def test_a_rule_in_words() -> None:
    words = [Rule(1, kind, "a", "b", "anna", "now").sentence() for kind in ("implication", "alias", "rename")]
    assert words == ["'a' implies 'b'", "'a' is replaced by 'b'", "'a' is replaced by 'b'"]


def test_the_same_rule_is_found() -> None:
    found = rules(("alias", "a", "b"), ("implication", "c", "d"))
    same = found.find("rename", "a", "b")
    assert same is not None
    assert same.id == 1
    assert found.find("alias", "a", "c") is None
    assert found.find("implication", "c", "d") is not None
    assert found.find("implication", "d", "c") is None


def test_a_rejected_rule_is_not_open_and_changes_no_label() -> None:
    found = rules(("rejected", "beach", "sea"), ("implication", "sea", "water"))
    assert not found.is_open("implication", "beach", "sea")
    assert found.is_open("implication", "sea", "beach")
    assert not found.is_open("alias", "beach", "sea")
    assert not found.is_open("alias", "sea", "beach")
    assert [(rule.id, rule.sentence()) for rule in found.rejected] == [(1, "no rule between 'beach' and 'sea'")]
    assert ([rule.id for rule in found], len(found), 1 in found) == ([2], 1, True)
    assert (found.name_of("beach"), found.closure()) == ("beach", {"sea": ["water"]})
    found.remove(1)
    assert (found.rejected, 1 in found, found.is_open("implication", "beach", "sea")) == ([], False, True)


def test_a_rejection_holds_under_the_names_in_force() -> None:
    found = rules(("rejected", "dalmatian", "dog"), ("rename", "dog", "hound"))
    assert not found.is_open("implication", "dalmatian", "hound")
    found.remove(2)
    assert found.is_open("implication", "dalmatian", "hound")


def test_rule_wins_over_an_earlier_rejection_until_removed() -> None:
    found = rules(("rejected", "beach", "sea"), ("implication", "beach", "sea"))
    assert found.closure() == {"beach": ["sea"]}
    assert found.find("rejected", "beach", "sea") is None
    assert RuleSet(sorted([*found, *found.rejected])).closure() == found.closure()
    found.remove(2)
    same = found.find("rejected", "beach", "sea")
    assert same is not None
    assert same.id == 1
    assert not found.is_open("implication", "beach", "sea")


def _is_consistent(given: list[tuple[str, str, str]]) -> bool:
    """The slow twin: one name per label, no names in a circle, no label that implies itself under its name."""
    names = {label: other for kind, label, other in given if kind != "implication"}
    if len(names) < sum(kind != "implication" for kind, _, _ in given):
        return False

    def name(label: str) -> str | None:
        for _ in range(len(names) + 1):
            if label not in names:
                return label
            label = names[label]
        return None

    edges = {(name(label), name(other)) for kind, label, other in given if kind == "implication"}
    if None in {name(label) for label in names} or None in {end for edge in edges for end in edge}:
        return False
    while True:
        more = edges | {(a, d) for a, b in edges for c, d in edges if b == c}
        if more == edges:
            return all(a != b for a, b in edges)
        edges = more


@pytest.mark.parametrize("seed", range(4))
def test_accepted_rules_are_consistent_by_a_slow_twin(seed: int) -> None:
    stream = Streams(seed).child("rules")
    drawn = (stream.uniforms(3 * 400).reshape(400, 3) * (3, 7, 7)).astype(int).tolist()
    found, given = RuleSet(), dict[int, tuple[str, str, str]]()
    refused = 0
    for number, (kind, label, other) in enumerate(drawn):
        new = (("alias", "rename", "implication")[kind], "abcdefg"[label], "abcdefg"[other])
        try:
            found.add(Rule(number, *new, "anna", "now"))  # type: ignore[arg-type]
        except ConfigError:
            refused += 1
            # A rule that leads to no contradiction is refused only for a label that is replaced, or a repetition.
            replaced = {one for kind, one, _ in given.values() if kind != "implication"}
            assert (
                not _is_consistent([*given.values(), new])
                or {new[1], new[2]} & replaced
                or new[1] == new[2]
                or new in given.values()
            )
        else:
            given[number] = new
        assert _is_consistent(list(given.values()))
        if number % 7 == 6 and given:
            undone = list(given)[number % len(given)]
            found.remove(undone)
            del given[undone]
            assert _is_consistent(list(given.values()))
    assert refused > 50
    assert {rule.id for rule in found} == set(given)
