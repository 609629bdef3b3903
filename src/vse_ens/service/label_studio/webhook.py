"""What people do in Label Studio, as events of feedback: an annotation accepts what it chooses, for as long as it does.

What is left unticked is not rejected: it may not have been seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError
from vse_ens.service.label_studio.config import Control, controls
from vse_ens.service.label_studio.tasks import chosen, image_of
from vse_ens.service.settings import LONGEST_ID, LONGEST_USER
from vse_ens.service.verdicts import Feedback

# Some versions of Label Studio send the one, some the other.
_MADE = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED")
_DELETED = ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED")
ACTIONS = (*_MADE, *_DELETED)

SOURCE = "label-studio"
VERSION_PREFIX = "vse-ens "


@dataclass
class Recorded:
    """The numbers of the events that were kept."""

    accepted: list[int] = field(default_factory=list)
    undone: list[int] = field(default_factory=list)


def record(feedback: Feedback, known: Annotations, model: str, action: str, payload: Mapping[str, Any]) -> Recorded:
    """Make what was done in Label Studio events."""
    project = payload.get("project")
    project = project if isinstance(project, Mapping) else {}
    annotations = _annotations(payload, action)
    recorded = Recorded()
    if action in _DELETED:
        for annotation in annotations:
            for event in feedback.of_reference(_reference(project, annotation)):
                recorded.undone.append(feedback.undo(event.event, by=SOURCE, model=model))
        return recorded
    config = project.get("label_config")
    if not isinstance(config, str):
        raise ConfigError("the webhook holds no project.label_config; let Label Studio send the payload")
    # All are read before one is kept: a webhook is kept whole or refused.
    found = [_judgement(one, payload, project, controls(config), known) for one in annotations]
    for judgement in found:
        if judgement is not None:
            judgement.keep(feedback, model, recorded)
    return recorded


@dataclass(frozen=True)
class _Judgement:
    """What an annotation says of an image."""

    image: str
    labels: list[str]
    by: str
    reference: str
    prediction: Mapping[str, Any]
    """What Label Studio showed when it was made."""

    def keep(self, feedback: Feedback, model: str, recorded: Recorded) -> None:
        """Accept what is chosen; take back what was and is no more."""
        version = self.prediction.get("model_version")
        if isinstance(version, str) and version.startswith(VERSION_PREFIX):
            model = version.removeprefix(VERSION_PREFIX)
        for event in feedback.of_reference(self.reference):
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
        """Of the labels that the machine had ticked, as `Ticker` noted them."""
        results = self.prediction.get("result")
        found: dict[str, float] = {}
        for result in results if isinstance(results, list) else ():
            meta = result.get("meta") if isinstance(result, Mapping) else None
            suggested = meta.get("suggested") if isinstance(meta, Mapping) else None
            if isinstance(suggested, Mapping):
                found |= {
                    label: float(sure)
                    for label, sure in suggested.items()
                    if isinstance(sure, int | float) and 0 <= sure <= 1
                }
        return found


def _judgement(
    annotation: Mapping[str, Any],
    payload: Mapping[str, Any],
    project: Mapping[str, Any],
    tags: Sequence[Control],
    known: Annotations,
) -> _Judgement | None:
    """What an annotation says; None where the interface has no tag that chooses labels of an image."""
    if not tags:
        return None
    image = image_of(_task(annotation, payload), tags[0], known.images)
    if image is None:
        raise ConfigError(
            f"the webhook holds no task.data.{tags[0].variable}, so that the image of annotation "
            f"{annotation['id']} is not known; let Label Studio send the payload with the task"
        )
    skipped = annotation.get("was_cancelled") is True
    labels = [] if skipped else [one for tag in tags for one in chosen(annotation.get("result"), tag, known.labels)]
    if any(len(label) > LONGEST_ID for label in labels):
        raise ConfigError(f"annotation {annotation['id']} chooses a label of more than {LONGEST_ID:,} characters")
    prediction = annotation.get("prediction")
    return _Judgement(
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
            raise ConfigError(f"the webhook {action} holds no annotation with an id; let Label Studio send the payload")
    return listed


def _task(annotation: Mapping[str, Any], payload: Mapping[str, Any]) -> Mapping[str, Any]:
    given = payload.get("task", payload.get("tasks"))
    listed = [one for one in (given if isinstance(given, list) else [given]) if isinstance(one, Mapping)]
    return next((one for one in listed if one.get("id") == annotation.get("task") or len(listed) == 1), {})


def _person(annotation: Mapping[str, Any]) -> str:
    """Who made or last changed an annotation: an e-mail address where Label Studio tells it, else a number."""
    for role in ("updated_by", "completed_by"):
        person = annotation.get(role)
        if isinstance(person, Mapping):
            person = person.get("email") or person.get("id")
        if isinstance(person, int | str) and str(person).strip():
            return str(person)[:LONGEST_USER]
    return SOURCE


def _reference(project: Mapping[str, Any], annotation: Mapping[str, Any]) -> str:
    return f"{SOURCE} project {project.get('id')} annotation {annotation['id']}"
