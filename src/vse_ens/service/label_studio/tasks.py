"""Tasks of Label Studio: which image one is about, what is known of it, and what to tick in advance."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from vse_ens.annotator import Annotator
from vse_ens.curate.suggest import Suggestion
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.service.label_studio.config import Choice, Control, labels_of
from vse_ens.service.settings import LONGEST_ID, MOST_LABELS
from vse_ens.service.verdicts import Feedback, ImageVerdicts

# What Label Studio puts before the name of an uploaded file.
_UPLOADED = re.compile(r"[0-9a-f]{8}-(?=.)")
# To untick a wrong label takes a moment, to find a right one among many some five times as long.
_LEAST = 0.2
# How much of a path may belong to an id.
_MOST_FOLDERS = 8

Task = Mapping[str, Any]


def image_of(task: Task, control: Control, images: Vocabulary) -> str | None:
    """The image that a task is about: an id of the model where one fits, else one that looks as the model's do."""
    data = task.get("data")
    value = data.get(control.variable) if isinstance(data, Mapping) else None
    if not isinstance(value, str) or not value.strip():
        return None
    names = list(_names(value))
    known = next((name for name in names if name in images), None)
    if known is not None:
        return known
    with_extension, without = names[-2:]
    has_extension = bool(len(images) and PurePosixPath(images.id(0)).suffix)
    return (with_extension if has_extension else without)[:LONGEST_ID]


def _names(value: str) -> Iterator[str]:
    """What an address may call an image: itself, its path and ever shorter ends of it, each also without extension."""
    yield value
    try:
        parts = urlsplit(value)
    except ValueError:  # such as a bracket that opens no address
        path = value
    else:
        # Label Studio has a file of local storage as ?d=PATH.
        path = parse_qs(parts.query).get("d", [unquote(parts.path)])[-1]
    folders = [part for part in path.split("/") if part] or [value]
    for first in range(max(0, len(folders) - _MOST_FOLDERS), len(folders)):
        yield from _with_and_without_extension("/".join(folders[first:]))
    yield from _with_and_without_extension(_UPLOADED.sub("", folders[-1], count=1))


def _with_and_without_extension(name: str) -> tuple[str, str]:
    return name, str(PurePosixPath(name).with_suffix("")) if PurePosixPath(name).suffix else name


def chosen(results: Any, control: Control, labels: Vocabulary) -> list[str]:
    """The labels that the results of an annotation choose with a control."""
    by_path = {choice.path: choice for choice in control.choices}
    found: dict[tuple[str, ...], Choice] = {}
    for result in results if isinstance(results, list) else ():
        if not isinstance(result, Mapping) or result.get("from_name") != control.name:
            continue
        value = result.get("value")
        said = value.get(control.kind) if isinstance(value, Mapping) else None
        for one in said[:MOST_LABELS] if isinstance(said, list) else ():
            path = tuple(one) if isinstance(one, list) else (one,)
            if path and all(isinstance(part, str) for part in path) and path[-1].strip():
                found[path] = by_path.get(path) or Choice.of(path, "/".join(path), path[-1])
    return list(dict.fromkeys(labels_of(list(found.values()), labels)))


@dataclass(frozen=True)
class _Asked:
    """What is known of the image of a task."""

    image: str | None
    """An image of the model on which nobody has judged."""
    labels: list[str]
    rejected: frozenset[str]


class TaskPredictor:
    """Ticks what an image has and likely lacks, among the choices of a control."""

    def __init__(self, annotator: Annotator, feedback: Feedback | None, control: Control) -> None:
        self._annotator = annotator
        self._known = annotator.known_
        self._feedback = feedback
        self._control = control
        self._choices = control.labels(self._known.labels)
        known = self._known.labels.numbers(list(self._choices), missing="minus-one") >= 0
        self._allow = [label for label, is_known in zip(self._choices, known.tolist(), strict=True) if is_known]

    @property
    def _least(self) -> float:
        """How sure a suggestion must be; where only one may be ticked the best is, however sure."""
        if self._control.least is not None:
            return self._control.least
        return _LEAST if self._annotator.calibration_ is not None and self._control.top > 1 else 0.0

    def results(self, tasks: Sequence[Task]) -> list[dict[str, Any] | None]:
        """For each task the result of Label Studio's form, or None where there is nothing to tick."""
        asked = [self._ask(task) for task in tasks]
        suggested = self._suggested(asked)
        return [None if one is None else self._result(one, best) for one, best in zip(asked, suggested, strict=True)]

    def _ask(self, task: Task) -> _Asked | None:
        image = image_of(task, self._control, self._known.images)
        if image is None or not self._allow:
            return None
        judged = self._feedback.of(image) if self._feedback is not None else ImageVerdicts({}, {})
        known = image in self._known.images
        labels = dict.fromkeys(self._annotator.known_labels(image) if known else self._told(task))
        for label in judged.rejected:
            labels.pop(label, None)
        labels |= dict.fromkeys(judged.accepted)
        if not known and not any(label in self._known.labels for label in labels):
            return None  # nothing is known of it that the model could start from
        alone = known and not judged.accepted and not judged.rejected
        return _Asked(image if alone else None, list(labels), frozenset(judged.rejected))

    def _told(self, task: Task) -> list[str]:
        """What the task itself says that its image has."""
        data, annotations = task["data"], task.get("annotations")
        labels = data.get("labels")
        found = [one for one in labels[:MOST_LABELS] if isinstance(one, str)] if isinstance(labels, list) else []
        for annotation in annotations if isinstance(annotations, list) else ():
            if isinstance(annotation, Mapping) and not annotation.get("was_cancelled"):
                found += chosen(annotation.get("result"), self._control, self._known.labels)
        return [label for label in found if label.strip()]

    def _suggested(self, asked: Sequence[_Asked | None]) -> list[list[Suggestion]]:
        """Suggestions for all in two calls: the choices of an interface are looked up once, not for every task."""
        found: list[list[Suggestion]] = [[] for _ in asked]
        by_image = [place for place, one in enumerate(asked) if one is not None and one.image is not None]
        by_labels = [place for place, one in enumerate(asked) if one is not None and one.image is None]
        # Room for what is taken out again below.
        most = max((len(one.rejected) for one in asked if one is not None), default=0)
        how: Any = {"top": self._control.top + most, "allow": self._allow, "min_confidence": self._least}
        if by_image:
            images = [one.image for place in by_image if (one := asked[place]) and one.image is not None]
            for place, best in zip(by_image, self._annotator.annotate(images, **how), strict=True):
                found[place] = best
        if by_labels:
            lists = [self._context(one.labels) for place in by_labels if (one := asked[place])]
            for place, best in zip(by_labels, self._annotator.annotate(labels=lists, **how), strict=True):
                found[place] = best
        return [
            [] if one is None else [best for best in bests if best.label not in one.rejected][: self._control.top]
            for one, bests in zip(asked, found, strict=True)
        ]

    def _context(self, labels: Sequence[str]) -> list[str]:
        return [label for label in labels if label in self._known.labels]

    def _result(self, asked: _Asked, best: Sequence[Suggestion]) -> dict[str, Any] | None:
        control = self._control
        had = [label for label in asked.labels if label in self._choices]
        if control.top == 1:
            best = [] if had else best
        paths = [self._choices[label].path for label in (*had, *(one.label for one in best))]
        if not paths:
            return None
        sure = [one.confidence for one in best if one.confidence is not None]
        score = (sum(sure) + len(had)) / len(paths) if len(sure) == len(best) else None
        return {
            "id": control.name,
            "from_name": control.name,
            "to_name": control.to_name,
            "type": control.kind,
            "value": {control.kind: [list(path) if control.kind == "taxonomy" else path[-1] for path in paths]},
            "score": score,
            # Label Studio keeps it with the prediction, so that an annotation can be traced to what the machine said.
            "meta": {"known": had, "suggested": {one.label: one.confidence for one in best}},
        }
