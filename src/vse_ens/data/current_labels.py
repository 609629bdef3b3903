"""The labels that images have now: those of the data, less rejected, plus accepted ones, with rules applied.

Everything that shows the labels of an image, or leaves out what it has, asks `CurrentLabels`. `CurrentLabels.cleaned`
gives the same labels for all images at once; `tests/data/test_current_labels.py` compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.cleaning import Cleaned, clean
from vse_ens.data.feedback.verdict_index import VerdictIndex
from vse_ens.data.feedback.verdicts import Feedback, ImageVerdicts
from vse_ens.data.rules.exceptions import ImagesOfLabels
from vse_ens.data.rules.label_names import LabelNames, LabelTable
from vse_ens.data.rules.rule_set import RuleSet
from vse_ens.data.rules.store import RulesFile
from vse_ens.kernels.arrays import Csr

_NO_VERDICTS = ImageVerdicts({}, {})


class CurrentLabel(NamedTuple):
    """A label of an image, under the name in force."""

    label: str
    source: Literal["data", "feedback", "rule"]
    event: int | None = None
    """The event that accepted it."""
    implied_by: str | None = None
    """The label that implies it by a rule."""


@dataclass(frozen=True, slots=True)
class ImageLabels:
    """The labels of one image now, and what was rejected."""

    image: str | None
    """None for an image that is known by its labels only."""
    number: int | None
    """Its number in the data; None if the data does not have it."""
    labels: list[CurrentLabel]
    """Those of the data first, then accepted ones in the order of events, then implied ones."""
    rejected: dict[str, int]
    """Rejected labels, as they were called then, with their events."""
    settled: frozenset[str]
    """The names that it has or that were rejected: they are never suggested."""
    context: list[str]
    """The labels of the data's vocabulary that it has without implications: what a model scores it by."""
    has_changed: bool
    """Whether ``context`` differs from the labels in the data; True if the data does not have it."""
    naming: LabelNames = field(repr=False, compare=False)
    """The names in force when it was asked for."""

    @property
    def names(self) -> list[str]:
        """The names of its labels."""
        return [one.label for one in self.labels]


class CurrentLabels:
    """Tells which labels images have now, under which names, and what was rejected.

    Args:
        known: The pairs of the data.
        feedback: The feedback file with the verdicts of people.
        rules: The rules file; both are read again when they change.
    """

    def __init__(self, known: Annotations, feedback: Feedback | None = None, rules: RulesFile | None = None) -> None:
        self.known = known
        self.verdicts = VerdictIndex(known, feedback)
        self._feedback = feedback
        self._rules = rules
        self._names: tuple[int, LabelNames] | None = None
        self._table: tuple[LabelNames, LabelTable] | None = None

    @property
    def rules(self) -> RuleSet:
        """The rules in force."""
        return RuleSet() if self._rules is None else self._rules.rules

    @property
    def version(self) -> int:
        """The number of changes to the rules so far."""
        return 0 if self._rules is None else self._rules.version

    @property
    def names(self) -> LabelNames:
        """The names in force; computed once per version of the rules."""
        version = self.version
        names = self._names
        if names is None or names[0] != version:
            names = self._names = (version, LabelNames(self.known, self.rules))
        return names[1]

    @property
    def table(self) -> LabelTable:
        """The labels in force and their images in the data; computed once per version of the rules."""
        names, table = self.names, self._table
        if table is None or table[0] is not names:
            table = self._table = (names, LabelTable(self.known, self.images_of_labels, self.rules))
        return table[1]

    @cached_property
    def images_of_labels(self) -> ImagesOfLabels:
        """The images of every label in the data."""
        return ImagesOfLabels(self.known)

    def of(self, image: str, given: Iterable[str] = ()) -> ImageLabels:
        """Return the labels of an image; ``given`` has them for an image that the data lacks."""
        return self._of([(image, self.known.images.number(image, None), given)])[0]

    def of_images(self, images: Sequence[str]) -> list[ImageLabels]:
        """Return the labels of images that the data has; an `UnknownIdError` names the first other one."""
        numbers = self.known.images.numbers(list(images)).tolist()
        return self._of([(image, number, ()) for image, number in zip(images, numbers, strict=True)])

    def of_given(self, labels: Iterable[str]) -> ImageLabels:
        """Return the labels of an image that is known by ``labels`` only: their names, and what they imply."""
        return self._resolve(None, None, list(labels), _NO_VERDICTS, self.names)

    def rows(self, images: Sequence[int]) -> Csr:
        """Return `ImageLabels.context` of images by number, as sorted label numbers, one row each."""
        names = self.names
        rows = [
            np.sort(self.known.labels.numbers(self._resolve(None, number, (), verdicts, names).context))
            for number, verdicts in ((number, self.verdicts.of_image(number)) for number in images)
        ]
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        return Csr(indptr, np.concatenate([np.empty(0, np.int32), *rows]).astype(np.int32))

    def verdicts_on(self, name: str) -> dict[int, str]:
        """Return the images of the data with a verdict on a label, under any of its names, and the verdict."""
        self.verdicts.refresh()
        return self.verdicts.of_label(*self.names.same(name))

    def images_with(self, name: str) -> NDArray[np.int64]:
        """Return the numbers of the images of the data that have a label now, by any of its names or by a rule."""
        self.verdicts.refresh()
        names = self.names
        sources = names.sources(name)
        found = [self.images_of_labels.of(label) for label in sources]
        changed = self.verdicts.of_label(*sources)
        having = [
            image
            for image, verdicts in ((image, self.verdicts.of_image(image)) for image in changed)
            if names.of(name) in self._resolve(None, image, (), verdicts, names).names
        ]
        return np.union1d(np.setdiff1d(np.concatenate(found), list(changed)), having).astype(np.int64)

    def cleaned(self) -> Cleaned:
        """Return the labels of all images as a data set."""
        return clean(self.known, feedback=None if self._feedback is None else self._feedback.path, rules=self.rules)

    def _of(self, images: Iterable[tuple[str, int | None, Iterable[str]]]) -> list[ImageLabels]:
        self.verdicts.refresh()
        names = self.names
        return [
            self._resolve(image, number, list(given), self._verdicts(image, number), names)
            for image, number, given in images
        ]

    def _verdicts(self, image: str, number: int | None) -> ImageVerdicts:
        if number is not None:
            return self.verdicts.of_image(number)
        return _NO_VERDICTS if self._feedback is None else self._feedback.of(image)

    def _resolve(
        self, image: str | None, number: int | None, given: Sequence[str], verdicts: ImageVerdicts, names: LabelNames
    ) -> ImageLabels:
        own = given if number is None else self.known.labels.ids(self.known.label_numbers(number))
        named = {label: names.of(label) for label in own}
        gone = set(map(names.of, verdicts.rejected))
        kept = [label for label, name in named.items() if name not in gone]
        found = {named[label]: CurrentLabel(named[label], "data") for label in kept}
        added = list(kept) if number is None else []
        for label in sorted(verdicts.accepted, key=verdicts.accepted.__getitem__):
            # A label that was accepted under one name and rejected under another has been accepted.
            if (name := names.of(label)) not in found:
                found[name] = CurrentLabel(name, "feedback", verdicts.accepted[label])
                added.append(label)
        for label in list(found):
            for other in names.implied(label):
                if other not in gone:
                    found.setdefault(other, CurrentLabel(other, "rule", implied_by=label))
        in_model = [label for label in map(names.in_model, added) if label in self.known.labels]
        context = list(dict.fromkeys([*(kept if number is not None else ()), *in_model]))
        settled = frozenset(gone.union(found))
        has_changed = number is None or len(kept) != len(own) or len(context) != len(kept)
        labels = list(found.values())
        return ImageLabels(image, number, labels, verdicts.rejected, settled, context, has_changed, names)
