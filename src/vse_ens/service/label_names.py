"""Labels of a model and the names that rules give them, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from vse_ens.data.annotations import Annotations
from vse_ens.data.rules.rule_set import RuleSet

T = TypeVar("T")


class LabelNames:
    """What people see is under the names in force; what the model computes is under the labels of the data."""

    def __init__(self, known: Annotations, rules: RuleSet) -> None:
        self._known = known
        self._rules = rules
        self._closure = rules.closure()
        self._replaced: dict[str, list[str]] = {}
        for rule in rules:
            if rule.kind != "implication":
                self._replaced.setdefault(rules.name_of(rule.label), []).append(rule.label)

    @property
    def extra(self) -> int:
        """The number of suggestions that rules may merge or settle, to ask for more of them."""
        return min(len(self._rules), 100)

    @property
    def new(self) -> list[str]:
        """Names in force that the model does not know."""
        implied = {name for names in self._closure.values() for name in names}
        return sorted(name for name in {*self._replaced, *implied} if name not in self._known.labels)

    def of(self, label: str) -> str:
        """Return the name in force of a label."""
        return self._rules.name_of(label)

    def same(self, name: str) -> list[str]:
        """Return all labels with the same name in force, first the one given."""
        now = self.of(name)
        return list(dict.fromkeys([name, now, *self._replaced.get(now, ())]))

    def in_model(self, name: str) -> str:
        """Return the label that stands for a name in the model: itself, or the most frequent of those it replaces.

        A name that the model knows under no label is returned as it is.
        """
        labels, counts = self._known.labels, self._known.images_per_label
        if name in labels:
            return name
        known = [label for label in self.same(name) if label in labels]
        return max(known, key=lambda label: int(counts[labels.number(label)]), default=name)

    def leading_to(self, name: str) -> list[str]:
        """Return the labels of the model other than its own by which an image has a name: replaced or implying ones."""
        now = self.of(name)
        implying = [label for label, names in self._closure.items() if now in names]
        found = dict.fromkeys(one for label in (now, *implying) for one in self.same(label))
        own = self.in_model(name)
        return [label for label in found if label != own and label in self._known.labels]

    def show(self, labels: Sequence[str], rejected: Iterable[str] = ()) -> list[str]:
        """Return the labels of an image under the names in force, then those that they imply and no one rejected."""
        if not len(self._rules):
            return list(labels)
        gone = {self.of(label) for label in rejected}
        shown = dict.fromkeys(map(self.of, labels))
        for label in list(shown):
            shown |= dict.fromkeys(other for other in self._closure.get(label, ()) if other not in gone)
        return list(shown)

    def show_suggestions(
        self, found: Iterable[T], label_of: Callable[[T], str], rename: Callable[[T, str], T], has: Collection[str]
    ) -> list[T]:
        """Return suggestions under the names in force, each name once and none that the image ``has``."""
        if not len(self._rules):
            return list(found)
        shown: dict[str, T] = {}
        for one in found:
            name = self.of(label_of(one))
            if name not in has:
                shown.setdefault(name, rename(one, name))
        return list(shown.values())
