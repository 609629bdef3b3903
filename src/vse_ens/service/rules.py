"""The rules of a service, and their effect on what it shows."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from vse_ens.curate.audit.duplicates import Duplicate
from vse_ens.data.annotations import Annotations
from vse_ens.data.filters import facet
from vse_ens.data.rules.exceptions import ImagesOfLabels
from vse_ens.data.rules.rule_set import RuleSet
from vse_ens.data.rules.store import RulesFile
from vse_ens.service.errors import ApiError
from vse_ens.service.label_names import LabelNames
from vse_ens.service.schemas import ImageState, LabelInForce, Reason, Suggestion, VocabularyLabel

_FEEDBACK, _RULES = ".feedback.sqlite", ".rules.jsonl"


def rules_path(feedback: Path) -> Path:
    """Return the rules file beside a feedback file: ``model.rules.jsonl`` for ``model.feedback.sqlite``."""
    name = feedback.name
    return feedback.with_name((name.removesuffix(_FEEDBACK) if name.endswith(_FEEDBACK) else name) + _RULES)


class ServiceRules:
    """The rules file of a service; a service without feedback has no rules."""

    def __init__(self, feedback: Path | None) -> None:
        self._file = None if feedback is None else RulesFile(rules_path(feedback))
        self._table: tuple[object, LabelTable] | None = None
        self._names: tuple[object, LabelNames] | None = None

    @property
    def current(self) -> RuleSet:
        """The rules in force."""
        return RuleSet() if self._file is None else self._file.rules

    @property
    def version(self) -> int:
        """The number of events so far."""
        return 0 if self._file is None else self._file.version

    def require_file(self) -> RulesFile:
        """Return the file, or raise an `ApiError` if the service stores nothing."""
        if self._file is None:
            raise ApiError(403, "this service stores no rules; start it with --feedback FILE.sqlite")
        return self._file

    def table(self, known: Annotations, images: ImagesOfLabels) -> LabelTable:
        """Return the labels in force and their images; computed once per model and version of the rules."""
        key = (id(known), self.version)
        table = self._table
        if table is None or table[0] != key:
            table = (key, LabelTable(known, images, self.current))
            self._table = table
        return table[1]

    def names(self, known: Annotations) -> LabelNames:
        """Return the names of the labels of a model; computed once per model and version of the rules."""
        key = (id(known), self.version)
        names = self._names
        if names is None or names[0] != key:
            names = (key, LabelNames(known, self.current))
            self._names = names
        return names[1]

    def open_duplicates(self, found: Iterable[Duplicate]) -> list[Duplicate]:
        """Return the duplicates of an audit that rules neither settle nor contradict, and that nobody rejected."""
        rules = self.current
        return [one for one in found if rules.is_open("alias", one.label, one.other)]

    def show(self, state: ImageState, names: LabelNames, top: int) -> ImageState:
        """Return the state of an image with the rules applied.

        Labels have the names in force, labels that a rule implies have the source ``rule``, and neither a name that is
        not in force nor a label that the image has is suggested.
        """
        rules = self.current
        if not len(rules):
            return state
        rejected = {rules.name_of(one.label) for one in state.rejected}
        shown: dict[str, LabelInForce] = {}
        for one in state.labels:
            name = rules.name_of(one.label)
            # A label of the data was rejected under its new name; one from feedback was accepted later.
            if one.source == "feedback" or name not in rejected:
                shown.setdefault(name, one.model_copy(update={"label": name}))
        closure = rules.closure()
        for label in list(shown):
            for other in closure.get(label, ()):
                if other not in shown and other not in rejected:
                    shown[other] = LabelInForce(label=other, source="rule", event=None, implied_by=label)
        suggestions = show_suggestions(names, state.suggestions, {*shown, *rejected})
        return state.model_copy(update={"labels": list(shown.values()), "suggestions": suggestions[:top]})


def show_suggestions(names: LabelNames, suggestions: list[Suggestion], has: Collection[str]) -> list[Suggestion]:
    """Return suggestions and their reasons under the names in force, without those that the image has."""

    def rename(one: Suggestion, name: str) -> Suggestion:
        explained = "because" in one.model_fields_set
        return one.model_copy(
            update={"label": name} | ({"because": show_reasons(names, one.because)} if explained else {})
        )

    return names.show_suggestions(suggestions, lambda one: one.label, rename, has)


def show_reasons(names: LabelNames, reasons: Iterable[Reason]) -> list[Reason]:
    """Return reasons under the names in force."""
    return [one.model_copy(update={"labels": [*map(names.of, one.labels)]}) for one in reasons]


class LabelTable:
    """The labels in force with their number of images, to list and search."""

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
        counts |= {name: images.count(labels) for name, labels in members.items()}
        self._labels = sorted(counts)
        self._by_count = sorted(self._labels, key=lambda label: (-counts[label], label))
        self._counts = counts

    def find(self, query: str, sort: str, offset: int, limit: int) -> tuple[list[VocabularyLabel], int]:
        """Return a page of the labels that contain the query, and the number of all of them."""
        wanted = query.casefold()
        ordered = self._labels if sort == "name" else self._by_count
        found = [label for label in ordered if wanted in label.casefold()] if wanted else ordered
        page = found[offset : offset + limit]
        return [
            VocabularyLabel(label=label, images=self._counts[label], namespace=facet(label)[:-1] or None)
            for label in page
        ], len(found)
