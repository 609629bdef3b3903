"""The rules in force: which label replaces another, and which labels a label implies.

An *alias* replaces a label by another that means the same, a *rename* by a new name; both have the same effect. An
*implication* adds the other label to every image with the label. Rules with a cycle or a contradiction are refused.

A *rejected* rule says that no rule between two labels is to be proposed; it changes no labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, get_args

from vse_ens.errors import ConfigError

RuleKind = Literal["alias", "rename", "implication", "rejected"]


class Rule(NamedTuple):
    """A rule in force, or the rejection of one."""

    id: int
    kind: RuleKind
    label: str
    other: str
    by: str
    at: str
    """UTC, ISO 8601 to the millisecond."""

    def sentence(self) -> str:
        """Return the rule in words."""
        if self.kind == "rejected":
            return f"no rule between {self.label!r} and {self.other!r}"
        verb = "implies" if self.kind == "implication" else "is replaced by"
        return f"{self.label!r} {verb} {self.other!r}"


class RuleSet:
    """Rules without cycles and contradictions; `add` checks each one.

    A set is iterated over and counted without rejected rules, which are in `rejected`. A rule may be added although it
    was rejected before: the rule wins, and the rejection counts again once the rule is removed.
    """

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._rules: dict[int, Rule] = {}
        self._names: dict[str, Rule] = {}
        self._implications: dict[tuple[str, str], Rule] = {}
        self._rejections: dict[int, Rule] = {}
        self._rejected: dict[tuple[str, str], Rule] = {}
        self._implied: dict[str, list[str]] | None = None
        # Labels of implications under any name, so that aliases of others need not rebuild what is implied.
        self._linked: set[str] = set()
        self._rejected_names: set[tuple[str, str]] | None = None
        for rule in rules:
            self.add(rule)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules.values())

    def __len__(self) -> int:
        return len(self._rules)

    def __contains__(self, rule: int) -> bool:
        return rule in self._rules or rule in self._rejections

    @property
    def rejected(self) -> list[Rule]:
        """The rejected rules, oldest first."""
        return list(self._rejections.values())

    def add(self, rule: Rule) -> None:
        """Add a rule, or raise a `ConfigError` with the reason why it contradicts the others."""
        self.check(rule.kind, rule.label, rule.other)
        self._rejected_names = None
        if rule.kind == "rejected":
            self._rejections[rule.id] = self._rejected[rule.label, rule.other] = rule
            return
        self._rules[rule.id] = rule
        if rule.kind == "implication":
            self._implications[rule.label, rule.other] = rule
            self.implied().setdefault(rule.label, []).append(rule.other)
            self._linked |= {rule.label, rule.other}
        else:
            self._names[rule.label] = rule
            if rule.label in self._linked:
                self._implied = None

    def remove(self, rule: int) -> None:
        """Remove a rule or a rejection; what remains is free of contradictions, because it was so before the rule."""
        self._rejected_names = None
        if rule in self._rejections:
            rejection = self._rejections.pop(rule)
            del self._rejected[rejection.label, rejection.other]
            return
        removed = self._rules.pop(rule)
        if removed.kind == "implication":
            del self._implications[removed.label, removed.other]
        else:
            del self._names[removed.label]
        self._implied = None

    def find(self, kind: RuleKind, label: str, other: str) -> Rule | None:
        """Return the rule in force that says the same, if there is one; a rename says the same as an alias.

        A rejection that a later rule overruled is not in force.
        """
        if kind == "implication":
            return self._implications.get((label, other))
        if kind == "rejected":
            return None if self._overruled(label, other) else self._rejected.get((label, other))
        found = self._names.get(label)
        return found if found is not None and found.other == other else None

    def check(self, kind: str, label: str, other: str) -> None:
        """Raise a `ConfigError` if a rule is invalid or contradicts those in force."""
        if kind not in get_args(RuleKind):
            raise ConfigError(f"kind must be one of {', '.join(get_args(RuleKind))}, got {kind!r}")
        for name, text in (("label", label), ("other", other)):
            check_text(name, text)
        if label == other:
            raise ConfigError(f"a rule needs two labels, got {label!r} twice")
        if kind == "rejected":
            self._check_rejection(label, other)
            return
        for text in (label, other):
            renamed = self._names.get(text)
            if renamed is not None:
                raise ConfigError(
                    f"{text!r} is replaced by {renamed.other!r} (rule {renamed.id}); "
                    f"name {renamed.other!r} instead, or undo that rule first"
                )
        if kind == "implication":
            if (label, other) in self._implications:
                raise ConfigError(
                    f"{label!r} implies {other!r} already (rule {self._implications[label, other].id}); leave it out"
                )
            self._check_no_path(other, label, f"{label!r} cannot imply {other!r}")
        else:
            # Only one of the two may imply the other, and a path between them would become a cycle.
            refused = f"{label!r} cannot be replaced by {other!r}"
            self._check_no_path(label, other, refused)
            self._check_no_path(other, label, refused)

    def _check_rejection(self, label: str, other: str) -> None:
        reason = self._overruled(label, other)
        if reason:
            raise ConfigError(f"{reason} by a rule in force; undo that rule first")
        if (label, other) in self._rejected:
            number = self._rejected[label, other].id
            raise ConfigError(
                f"a rule between {label!r} and {other!r} is rejected already (rule {number}); leave it out"
            )

    def _overruled(self, label: str, other: str) -> str:
        """Return in words which rule in force stands against a rejection, empty if none does."""
        names = self.name_of(label), self.name_of(other)
        if names[0] == names[1]:
            return f"{label!r} and {other!r} are one label"
        if names[1] in self.implied().get(names[0], ()):
            return f"{label!r} implies {other!r}"
        return ""

    def is_rejected(self, kind: RuleKind, label: str, other: str) -> bool:
        """Return whether a rule was rejected, under the names in force; the order matters for an implication only."""
        if self._rejected_names is None:
            self._rejected_names = {(self.name_of(one), self.name_of(two)) for one, two in self._rejected}
        names = self.name_of(label), self.name_of(other)
        return names in self._rejected_names or (kind != "implication" and names[::-1] in self._rejected_names)

    def is_open(self, kind: RuleKind, label: str, other: str) -> bool:
        """Return whether a rule may be proposed: it was not rejected, does not follow from a rule, contradicts none."""
        if self.is_rejected(kind, label, other) or other in _reached(self.implied(), self.name_of(label)):
            return False
        try:
            self.check(kind, label, other)
        except ConfigError:
            return False
        return True

    def _check_no_path(self, start: str, end: str, refused: str) -> None:
        first, last = self.name_of(start), self.name_of(end)
        came_from = _reached(self.implied(), first)
        if last in came_from or first == last:
            path = [last]
            while path[-1] != first:
                path.append(came_from[path[-1]])
            chain = " implies ".join(map(repr, reversed(path)))
            raise ConfigError(f"{refused}, because {chain}; undo one of those rules first")

    def name_of(self, label: str) -> str:
        """Return the label that replaces a label, or the label itself."""
        while (rule := self._names.get(label)) is not None:
            label = rule.other
        return label

    def implied(self) -> dict[str, list[str]]:
        """Return the labels that each label implies directly, all under the names in force; do not change it."""
        if self._implied is None:
            self._implied = {}
            for label, other in self._implications:
                names = self.name_of(label), self.name_of(other)
                self._implied.setdefault(names[0], []).append(names[1])
                self._linked.update(names)
        return self._implied

    def closure(self) -> dict[str, list[str]]:
        """Return all labels that each label implies, directly and along chains, sorted."""
        implied = self.implied()
        return {label: sorted(_reached(implied, label)) for label in implied}


def _reached(implied: Mapping[str, Iterable[str]], start: str) -> dict[str, str]:
    """Return all labels that a label implies, directly and along chains, each with the one before it."""
    came_from: dict[str, str] = {}
    pending = [start]
    while pending:
        label = pending.pop()
        for other in implied.get(label, ()):
            if other not in came_from:
                came_from[other] = label
                pending.append(other)
    return came_from


def check_text(name: str, text: str) -> None:
    """Raise a `ConfigError` if a text is blank or cannot be written to a file."""
    if not text.strip():
        raise ConfigError(f"{name} must not be blank")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{name} {text!r} is not valid Unicode") from None
