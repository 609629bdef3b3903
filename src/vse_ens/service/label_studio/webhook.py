"""Webhooks of Label Studio: the choices of an annotation become accepted labels, until it is changed or deleted.

A choice that is not selected is not a rejection: the person may not have seen it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError
from vse_ens.service.label_studio.config import Control, controls
from vse_ens.service.label_studio.tasks import chosen_labels, image_of
from vse_ens.service.settings import MAX_ID_LENGTH, MAX_USER_LENGTH
from vse_ens.service.verdicts import Feedback

# Singular or plural depends on the version of Label Studio.
_SAVED = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED")
_DELETED = ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED")
ACTIONS = (*_SAVED, *_DELETED)

SOURCE = "label-studio"
VERSION_PREFIX = "vse-ens "


@dataclass
class RecordedEvents:
    """Numbers of the stored events."""

    accepted: list[int] = field(default_factory=list)
    undone: list[int] = field(default_factory=list)


def record(
    feedback: Feedback, known: Annotations, model: str, action: str, payload: Mapping[str, Any]
) -> RecordedEvents:
    """Store a webhook's annotations as feedback events."""
    project = payload.get("project")
    project = project if isinstance(project, Mapping) else {}
    annotations = _annotations(payload, action)
    recorded = RecordedEvents()
    if action in _DELETED:
        for annotation in annotations:
            for event in feedback.events_of_reference(_reference(project, annotation)):
                recorded.undone.append(feedback.undo(event.event, by=SOURCE, model=model))
        return recorded
    config = project.get("label_config")
    if not isinstance(config, str):
        raise ConfigError("the webhook has no project.label_config; enable the payload in Label Studio")
    # Read all before storing any: a webhook is stored completely or rejected.
    parsed = [_parse_annotation(one, payload, project, controls(config), known) for one in annotations]
    for one in parsed:
        if one is not None:
            one.store(feedback, model, recorded)
    return recorded


@dataclass(frozen=True)
class _Annotation:
    """The labels that a person chose for an image."""

    image: str
    labels: list[str]
    by: str
    reference: str
    prediction: Mapping[str, Any]
    """The prediction that Label Studio showed."""

    def store(self, feedback: Feedback, model: str, recorded: RecordedEvents) -> None:
        """Accept the chosen labels; undo those that are no longer chosen."""
        version = self.prediction.get("model_version")
        if isinstance(version, str) and version.startswith(VERSION_PREFIX):
            model = version.removeprefix(VERSION_PREFIX)
        for event in feedback.events_of_reference(self.reference):
            if event.image != self.image or event.label not in self.labels:
                recorded.undone.append(feedback.undo(event.event, by=self.by, model=model))
        confidences = self._confidences()
        for label in self.labels:
            event_number = feedback.add(
                self.image,
                label,
                "accept",
                by=self.by,
                source=SOURCE,
                confidence=confidences.get(label),
                model=model,
                reference=self.reference,
            )
            recorded.accepted.append(event_number)

    def _confidences(self) -> dict[str, float]:
        """Return the confidences of the suggested labels, as `TaskPredictor` stored them in the prediction."""
        results = self.prediction.get("result")
        confidences: dict[str, float] = {}
        for result in results if isinstance(results, list) else ():
            meta = result.get("meta") if isinstance(result, Mapping) else None
            suggested = meta.get("suggested") if isinstance(meta, Mapping) else None
            if isinstance(suggested, Mapping):
                confidences |= {
                    label: float(confidence)
                    for label, confidence in suggested.items()
                    if isinstance(confidence, int | float) and 0 <= confidence <= 1
                }
        return confidences


def _parse_annotation(
    annotation: Mapping[str, Any],
    payload: Mapping[str, Any],
    project: Mapping[str, Any],
    tags: Sequence[Control],
    known: Annotations,
) -> _Annotation | None:
    """Parse an annotation; None if the interface has no tag that chooses labels of an image."""
    if not tags:
        return None
    image = image_of(_task(annotation, payload), tags[0], known.images)
    if image is None:
        raise ConfigError(
            f"the webhook has no task.data.{tags[0].variable}, so the image of annotation {annotation['id']} "
            "is unknown; enable the payload with the task in Label Studio"
        )
    skipped = annotation.get("was_cancelled") is True
    labels = (
        [] if skipped else [one for tag in tags for one in chosen_labels(annotation.get("result"), tag, known.labels)]
    )
    if any(len(label) > MAX_ID_LENGTH for label in labels):
        raise ConfigError(f"annotation {annotation['id']} chooses a label longer than {MAX_ID_LENGTH:,} characters")
    prediction = annotation.get("prediction")
    return _Annotation(
        image,
        list(dict.fromkeys(labels)),
        _person(annotation),
        _reference(project, annotation),
        prediction if isinstance(prediction, Mapping) else {},
    )


def _annotations(payload: Mapping[str, Any], action: str) -> list[Mapping[str, Any]]:
    given = payload.get("annotation", payload.get("annotations"))
    listed = given if isinstance(given, list) else [given]
    for one in listed:
        if not isinstance(one, Mapping) or not isinstance(one.get("id"), int):
            raise ConfigError(f"the webhook {action} has no annotation with an id; enable the payload in Label Studio")
    return listed


def _task(annotation: Mapping[str, Any], payload: Mapping[str, Any]) -> Mapping[str, Any]:
    given = payload.get("task", payload.get("tasks"))
    listed = [one for one in (given if isinstance(given, list) else [given]) if isinstance(one, Mapping)]
    return next((one for one in listed if one.get("id") == annotation.get("task") or len(listed) == 1), {})


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
