"""Names in force and labels of the model, in both directions."""

from __future__ import annotations

from vse_ens.data.annotations import Annotations
from vse_ens.data.rules.label_names import LabelNames
from vse_ens.data.rules.rule_set import Rule, RuleKind, RuleSet

KNOWN = Annotations.from_pairs(
    [("a", "cars"), ("b", "cars"), ("c", "car"), ("a", "sea"), ("b", "dalmatian"), ("c", "autos")]
)


def names(*given: tuple[RuleKind, str, str]) -> LabelNames:
    rules = (Rule(n, kind, label, other, "anna", "now") for n, (kind, label, other) in enumerate(given, 1))
    return LabelNames(KNOWN, RuleSet(rules))


RENAMED = names(("alias", "cars", "automobile"), ("alias", "autos", "automobile"), ("implication", "dalmatian", "dog"))


def test_the_most_frequent_label_stands_for_a_name() -> None:
    assert [RENAMED.in_model(name) for name in ("automobile", "sea", "nothing")] == ["cars", "sea", "nothing"]
    assert RENAMED.same("autos") == ["autos", "automobile", "cars"]
    assert RENAMED.new == ["automobile", "dog"]
    assert RENAMED.sources("dog") == ["dog", "dalmatian"]


def test_a_name_is_suggested_once_by_its_best_label() -> None:
    found = [("cars", 9), ("sea", 8), ("autos", 7), ("dalmatian", 6), ("sea", 5)]
    shown = RENAMED.show_suggestions(found, lambda one: one[0], lambda one, name: (name, one[1]), {"dalmatian"})
    assert shown == [("automobile", 9), ("sea", 8)]
