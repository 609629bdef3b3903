"""Webhooks of Label Studio: the choices of an annotation become accepted labels, until it is changed or deleted.

A choice that is not selected is not a rejection: the person may not have seen it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vse_ens.data.collections.files import json_object, json_objects
from vse_ens.data.current_labels import CurrentLabels
from vse_ens.data.feedback.verdicts import Feedback
from vse_ens.errors import ConfigError
from vse_ens.service.label_studio.config import Control, controls
from vse_ens.service.label_studio.tasks import chosen_labels, image_of
from vse_ens.service.settings import MAX_ID_LENGTH, MAX_USER_LENGTH

# Singular or plural depends on the version of Label Studio.
_SAVED = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED")
_DELETED = ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED")
ACTIONS = (*_SAVED, *_DELETED)

MAX_EVENTS = 10_000
"""Maximum number of events of one webhook."""
SOURCE = "label-studio"
VERSION_PREFIX = "vse-ens "


@dataclass(frozen=True)
class Annotation:
    """The labels that a person chose for an image, and that Label Studio keeps under a reference."""

    reference: str
    by: str = SOURCE
    image: str = ""
    labels: dict[str, float | None] = field(default_factory=dict)
    """The chosen labels with the confidences that the person saw; none if the annotation was deleted or skipped."""
    model: str | None = None
    """The fingerprint of the model whose prediction the person saw."""


def parse_webhook(current: CurrentLabels, action: str, payload: Mapping[str, Any]) -> list[Annotation]:
    """Return the annotations of a webhook; all are read before any is stored."""
    project = json_object(payload.get("project"))
    annotations = _annotations(payload, action)
    if len(annotations) > MAX_EVENTS:
        raise _too_large()
    if action in _DELETED:
        return [Annotation(_reference(project, one)) for one in annotations]
    config = project.get("label_config")
    if not isinstance(config, str):
        raise ConfigError("the webhook has no project.label_config; enable the payload in Label Studio")
    tags = controls(config)
    if not tags:  # the interface chooses no labels of an image
        return []
    task_of = _tasks(payload)
    parsed: list[Annotation] = []
    labels = 0
    for annotation in annotations:
        image = image_of(task_of(annotation), tags[0], current.known.images)
        if image is None:
            raise ConfigError(
                f"the webhook has no task.data.{tags[0].variable}, so the image of annotation {annotation['id']} "
                "is unknown; enable the payload with the task in Label Studio"
            )
        parsed.append(_parse(annotation, _reference(project, annotation), image, tags, current))
        labels += len(parsed[-1].labels)
        if labels > MAX_EVENTS:
            raise _too_large()
    return parsed


def store_annotations(feedback: Feedback, model: str, annotations: Sequence[Annotation]) -> dict[str, list[int]]:
    """Accept the chosen labels and undo those that are no longer chosen, all or none; return the events of both."""
    accepted: list[int] = []
    undone: list[int] = []
    with feedback.batch() as batch:
        for one in annotations:
            undone += [
                batch.undo(event.event, by=one.by, model=one.model or model)
                for event in batch.events_of_reference(one.reference)
                if event.image != one.image or event.label not in one.labels
            ]
            for label, confidence in one.labels.items():
                number = batch.add(
                    one.image,
                    label,
                    "accept",
                    by=one.by,
                    source=SOURCE,
                    confidence=confidence,
                    model=one.model or model,
                    reference=one.reference,
                )
                accepted.append(number)
            if len(accepted) + len(undone) > MAX_EVENTS:
                raise _too_large()
    return {"accepted": accepted, "undone": undone}


def _too_large() -> ConfigError:
    return ConfigError(
        f"the webhook changes more than {MAX_EVENTS:,} labels, so nothing was stored; "
        "submit or delete fewer annotations at a time"
    )


def _parse(
    annotation: Mapping[str, Any], reference: str, image: str, tags: Sequence[Control], current: CurrentLabels
) -> Annotation:
    skipped = annotation.get("was_cancelled") is True
    results = [] if skipped else annotation.get("result")
    labels = [label for tag in tags for label in chosen_labels(results, tag, current.known.labels)]
    if any(len(label) > MAX_ID_LENGTH for label in labels):
        raise ConfigError(f"annotation {annotation['id']} chooses a label longer than {MAX_ID_LENGTH:,} characters")
    prediction = json_object(annotation.get("prediction"))
    # A prediction has the names that were in force when it was made, and a choice may have another one.
    name_of = current.names.of
    confidences = {name_of(label): confidence for label, confidence in _confidences(prediction).items()}
    version = prediction.get("model_version")
    is_ours = isinstance(version, str) and version.startswith(VERSION_PREFIX)
    return Annotation(
        reference,
        _person(annotation),
        image,
        {label: confidences.get(name_of(label)) for label in labels},
        str(version).removeprefix(VERSION_PREFIX) if is_ours else None,
    )


def _confidences(prediction: Mapping[str, Any]) -> dict[str, float]:
    """Return the confidences of the suggested labels, as `TaskPredictor` stored them in the prediction."""
    return {
        label: float(confidence)
        for result in json_objects(prediction.get("result"))
        for label, confidence in json_object(json_object(result.get("meta")).get("suggested")).items()
        if isinstance(confidence, int | float) and 0 <= confidence <= 1
    }


def _annotations(payload: Mapping[str, Any], action: str) -> list[Mapping[str, Any]]:
    listed = _listed(payload.get("annotation", payload.get("annotations")))
    for one in listed:
        if not isinstance(one, Mapping) or not isinstance(one.get("id"), int):
            raise ConfigError(f"the webhook {action} has no annotation with an id; enable the payload in Label Studio")
    return listed


def _listed(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [given]


def _tasks(payload: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """Return a function from an annotation to its task; a webhook with one task may leave out its number."""
    listed = json_objects(_listed(payload.get("task", payload.get("tasks"))))
    if len(listed) == 1:
        return lambda _: listed[0]
    by_id = {one.get("id"): one for one in listed if isinstance(one.get("id"), int)}

    def task_of(annotation: Mapping[str, Any]) -> Mapping[str, Any]:
        number = annotation.get("task")
        return by_id.get(number, {}) if isinstance(number, int) else {}

    return task_of


def _person(annotation: Mapping[str, Any]) -> str:
    """Return who made or last changed an annotation: the e-mail address if given, else the user number."""
    for role in ("updated_by", "completed_by"):
        person = annotation.get(role)
        if isinstance(person, Mapping):
            person = person.get("email") or person.get("id")
        if isinstance(person, int | str) and str(person).strip():
            return str(person)[:MAX_USER_LENGTH]
    return SOURCE


def _reference(project: Mapping[str, Any], annotation: Mapping[str, Any]) -> str:
    return f"{SOURCE} project {project.get('id')} annotation {annotation['id']}"
