"""Labels of a model and the names that rules give them, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Literal, TypeVar

from vse_ens.data.annotations import Annotations
from vse_ens.data.rules.exceptions import ImagesOfLabels
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

    def implied(self, name: str) -> Sequence[str]:
        """Return the labels that a name in force implies, directly and along chains."""
        return self._closure.get(name, ())

    def sources(self, name: str) -> list[str]:
        """Return the labels by which an image has a name: all that have it, and all that imply it."""
        now = self.of(name)
        implying = [label for label, names in self._closure.items() if now in names]
        return list(dict.fromkeys(one for label in (now, *implying) for one in self.same(label)))

    def show_suggestions(
        self, found: Iterable[T], label_of: Callable[[T], str], rename: Callable[[T, str], T], has: Collection[str]
    ) -> list[T]:
        """Return suggestions under the names in force, each name once and none that the image ``has``."""
        shown: dict[str, T] = {}
        for one in found:
            name = self.of(label := label_of(one))
            if name not in has and name not in shown:
                shown[name] = one if name == label else rename(one, name)
        return list(shown.values())


class LabelTable:
    """The labels in force with their number of images in the data, to list and search."""

    def __init__(self, known: Annotations, images: ImagesOfLabels, rules: RuleSet) -> None:
        counts = dict(zip(known.labels, known.images_per_label.tolist(), strict=True))
        names, closure = {label: rules.name_of(label) for label in counts}, rules.closure()
        affected = {name for label, name in names.items() if name != label}
        affected.update(*closure.values())
        members: dict[str, list[str]] = {}
        for label, name in names.items():
            for target in (name, *closure.get(name, ())):
                if target in affected:
                    members.setdefault(target, []).append(label)
            if name != label:
                del counts[label]
        self.counts = counts | {name: images.count(labels) for name, labels in members.items()}
        """The number of images that have or imply each label."""
        self._labels = sorted(self.counts)
        self._by_count = sorted(self._labels, key=lambda label: (-self.counts[label], label))

    def find(self, query: str, sort: Literal["count", "name"]) -> list[str]:
        """Return the labels that contain the query."""
        wanted = query.casefold()
        ordered = self._labels if sort == "name" else self._by_count
        return [label for label in ordered if wanted in label.casefold()] if wanted else ordered
