"""Rules applied to pairs, against a slow twin."""

from __future__ import annotations

import numpy as np
import pytest

from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.rules.apply import apply_rules
from vse_ens.data.rules.rule_set import Rule, RuleSet

RULES = RuleSet(
    Rule(n, kind, label, other, "anna", "now")  # type: ignore[arg-type]
    for n, (kind, label, other) in enumerate(
        [
            ("alias", "sea", "ocean"),
            ("rename", "sky", "heaven"),
            ("implication", "ocean", "water"),
            ("implication", "water", "nature"),
            ("implication", "beach", "water"),
            ("implication", "sand", "beach"),
            ("implication", "unknown", "other"),
        ],
        1,
    )
)


def pairs_of(data: Annotations) -> set[tuple[str, str]]:
    return {(image, label) for image in data.images for label in data.labels_of(image)}


def slow(
    given: set[tuple[str, str]], rejected: set[tuple[str, str]], rules: RuleSet
) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The pairs under their names, and those that implications add."""
    named = {(image, rules.name_of(label)) for image, label in given}
    denied = {(image, rules.name_of(label)) for image, label in rejected}
    implied = {(i, other) for i, label in named for other in rules.closure().get(label, ())}
    return named, implied - named - denied


@pytest.mark.parametrize("seed", range(2))
def test_equals_the_slow_twin(seed: int) -> None:
    data = scenes(300, 80, seed=seed)
    rejected = Annotations.from_pairs((image, label) for image in list(data.images)[::3] for label in ("water", "sky"))
    named, implied = slow(pairs_of(data), pairs_of(rejected), RULES)
    applied = apply_rules(data, RULES, rejected)
    assert pairs_of(applied) == named | implied
    renamed = sum(label in ("sea", "sky") for _, label in pairs_of(data))
    assert applied.notes[-1] == (
        f"rules replaced the label of {renamed:,} pairs and added {len(implied):,} implied pairs"
    )


def test_a_label_that_a_person_gave_does_not_count_as_implied() -> None:
    data = Annotations.from_pairs([("i", "sea"), ("i", "water"), ("j", "sea")])
    applied = apply_rules(data, RULES)
    assert applied.labels_of("i") == ["nature", "ocean", "water"]
    assert applied.notes[-1].endswith("added 3 implied pairs")


def test_a_rejected_label_is_an_exception_to_the_rule() -> None:
    data = Annotations.from_pairs([("i", "sand"), ("j", "sand")])
    rejected = Annotations.from_pairs([("i", "beach"), ("nowhere", "beach"), ("i", "never seen")])
    assert apply_rules(data, RULES, rejected).labels_of("i") == ["nature", "sand", "water"]
    assert apply_rules(data, RULES, rejected).labels_of("j") == ["beach", "nature", "sand", "water"]


def test_without_rules_nothing_changes() -> None:
    data = scenes(50, 60)
    assert apply_rules(data, RuleSet()) is data


def test_features_and_a_note() -> None:
    data = Annotations.from_pairs([("i", "sea"), ("j", "sky")]).with_features(np.ones((2, 3), np.float32))
    applied = apply_rules(data, RULES)
    assert applied.features is data.features
    assert applied.notes[-1] == "rules replaced the label of 2 pairs and added 2 implied pairs"
    assert list(applied.labels) == ["heaven", "nature", "ocean", "water"]


def test_no_pairs() -> None:
    data = Annotations.from_pairs([("i", "sea")]).with_pairs(np.array([False]))
    assert apply_rules(data, RULES).pairs == 0
