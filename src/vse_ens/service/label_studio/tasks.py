"""Label Studio tasks: the image of a task, its known labels, and the choices to select in advance."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from vse_ens.curate.suggest import Suggestion
from vse_ens.data.collections.files import json_object, json_objects
from vse_ens.data.current_labels import ImageLabels
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.service.label_studio.config import Choice, Control, labels_of
from vse_ens.service.models import ServedModel
from vse_ens.service.settings import MAX_ID_LENGTH, MAX_LABELS
from vse_ens.service.suggest import suggest

# The prefix that Label Studio adds to the name of an uploaded file.
_UPLOAD_PREFIX = re.compile(r"[0-9a-f]{8}-(?=.)")
# Finding a correct label among many takes a person about five times as long as deselecting a wrong one.
_MIN_CONFIDENCE = 0.2
# Maximum number of path components in an image ID.
_MAX_COMPONENTS = 8

Task = Mapping[str, Any]


def image_of(task: Task, control: Control, images: Vocabulary) -> str | None:
    """Return the image ID of a task: one of the model's if one matches, else one in the style of the model's IDs."""
    value = json_object(task.get("data")).get(control.variable)
    if not isinstance(value, str) or not value.strip():
        return None
    candidates = list(_candidate_ids(value))
    known = next((name for name in candidates if name in images), None)
    if known is not None:
        return known
    with_extension, without = candidates[-2:]
    has_extension = bool(len(images) and PurePosixPath(images.id(0)).suffix)
    return (with_extension if has_extension else without)[:MAX_ID_LENGTH]


def _candidate_ids(value: str) -> Iterator[str]:
    """Yield candidate IDs: the address, its path and shorter and shorter ends of it, with and without extension."""
    yield value
    try:
        parts = urlsplit(value)
    except ValueError:  # for example an unbalanced bracket
        path = value
    else:
        # Label Studio writes a file in local storage as ?d=PATH.
        path = parse_qs(parts.query).get("d", [unquote(parts.path)])[-1]
    components = [part for part in path.split("/") if part] or [value]
    for first in range(max(0, len(components) - _MAX_COMPONENTS), len(components)):
        yield from _with_and_without_extension("/".join(components[first:]))
    yield from _with_and_without_extension(_UPLOAD_PREFIX.sub("", components[-1], count=1))


def _with_and_without_extension(name: str) -> tuple[str, str]:
    return name, str(PurePosixPath(name).with_suffix("")) if PurePosixPath(name).suffix else name


def chosen_labels(results: Any, control: Control, labels: Vocabulary) -> list[str]:
    """Return the labels that the results of an annotation choose with a control."""
    chosen: dict[tuple[str, ...], Choice] = {}
    for result in json_objects(results):
        if result.get("from_name") != control.name:
            continue
        given = json_object(result.get("value")).get(control.kind)
        for one in given if isinstance(given, list) else ():
            path = tuple(one) if isinstance(one, list) else (one,)
            if path and all(isinstance(part, str) for part in path) and path[-1].strip():
                chosen[path] = control.by_path.get(path) or Choice.of(path, "/".join(path), path[-1])
    return list(dict.fromkeys(labels_of(list(chosen.values()), labels)))


class TaskPredictor:
    """Selects the labels that an image has now and the probable ones among the choices of a control."""

    def __init__(self, served: ServedModel, control: Control) -> None:
        self._served = served
        self._known = served.annotator.known_
        self._control = control
        names = served.labels.names
        by_label = control.labels(self._known.labels)
        self._choices: dict[str, Choice] = {}
        for label, choice in by_label.items():
            # A choice of a label that was replaced stands for the name in force, unless that is a choice itself.
            self._choices.setdefault(name := names.of(label), by_label.get(name, choice))
        same = list(dict.fromkeys(one for name in self._choices for one in names.same(name)))
        known = self._known.labels.numbers(same, missing="minus-one") >= 0
        self._allow = [label for label, is_known in zip(same, known.tolist(), strict=True) if is_known]

    def results(self, tasks: Sequence[Task]) -> list[dict[str, Any] | None]:
        """Return a result in Label Studio's format per task, or None if there is nothing to select."""
        control, images = self._control, [self._image_labels(task) for task in tasks]
        least = control.min_confidence
        if least is None:  # of a single choice, the best is selected in any case
            least = _MIN_CONFIDENCE if self._served.annotator.calibration_ is not None and control.top > 1 else 0.0
        known = [one for one in images if one is not None]
        suggestions = iter(suggest(self._served, known, top=control.top, allow=self._allow, min_confidence=least))
        return [None if one is None else self._result(one, next(suggestions)) for one in images]

    def _image_labels(self, task: Task) -> ImageLabels | None:
        image = image_of(task, self._control, self._known.images)
        if image is None or not self._allow:
            return None
        given = () if image in self._known.images else self._labels_in_task(task)
        found = self._served.labels.of(image, given)
        # Without a known label, the model has nothing to start from.
        return found if found.number is not None or found.context else None

    def _labels_in_task(self, task: Task) -> list[str]:
        """Return the labels that the task itself gives for its image."""
        given = task["data"].get("labels")
        labels = [one for one in given[:MAX_LABELS] if isinstance(one, str)] if isinstance(given, list) else []
        for annotation in json_objects(task.get("annotations")):
            if not annotation.get("was_cancelled"):
                labels += chosen_labels(annotation.get("result"), self._control, self._known.labels)
        return [label for label in labels if label.strip()]

    def _result(self, image: ImageLabels, suggestions: Sequence[Suggestion]) -> dict[str, Any] | None:
        control = self._control
        known = [label for label in image.names if label in self._choices]
        if control.top == 1:
            suggestions = [] if known else suggestions
        paths = [self._choices[label].path for label in (*known, *(one.label for one in suggestions))]
        if not paths:
            return None
        confidences = [one.confidence for one in suggestions if one.confidence is not None]
        score = (sum(confidences) + len(known)) / len(paths) if len(confidences) == len(suggestions) else None
        return {
            "id": control.name,
            "from_name": control.name,
            "to_name": control.to_name,
            "type": control.kind,
            "value": {control.kind: [list(path) if control.kind == "taxonomy" else path[-1] for path in paths]},
            "score": score,
            # Label Studio stores it with the prediction; the webhook reads the confidences from it.
            "meta": {"known": known, "suggested": {one.label: one.confidence for one in suggestions}},
        }
