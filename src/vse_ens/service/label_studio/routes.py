"""Routes of Label Studio's machine-learning backend API: setup, predictions and webhooks.

``/health``, which Label Studio calls too, is an operations route.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct
from starlette.responses import Response

from vse_ens.service.label_studio.config import MAX_CONFIG_LENGTH, controls
from vse_ens.service.label_studio.tasks import TaskPredictor
from vse_ens.service.label_studio.webhook import ACTIONS, VERSION_PREFIX, parse_webhook, store_annotations
from vse_ens.service.models import ServedModel
from vse_ens.service.operations import Operations, encoded
from vse_ens.service.schemas import Answer, doc
from vse_ens.service.state import Service

_MAX_TASKS = 1_000
_INTERFACE = '<View><Image name="image" value="$image"/><Choices name="labels" toName="image" choice="multiple">...'
_TASK = {"id": 1, "data": {"image": "https://example.org/img_0000001.jpg"}}

Interface = Annotated[str, doc("The labeling interface.", max_length=MAX_CONFIG_LENGTH, examples=[_INTERFACE])]


class SetupRequest(Struct):
    """Sent when a project is connected; other fields, such as a token, are ignored."""

    schema: Interface = ""


class SetupResponse(Answer):
    """Confirms the connection."""

    model_version: Annotated[str, doc("Changes with the model, so that Label Studio requests new predictions.")]


class PredictRequest(Struct):
    """Tasks to pre-annotate."""

    tasks: Annotated[list[dict[str, Any]], Meta(max_length=_MAX_TASKS, examples=[[_TASK]])]
    label_config: Interface
    project: Annotated[Any, doc("Not used: all projects share the labels of an image.")] = None
    params: Annotated[Any, doc("Not used.")] = None


class Prediction(Answer):
    """The choices to select in one task; empty if nothing is known about its image."""

    result: list[dict[str, Any]]
    score: Annotated[float | None, doc("Mean confidence; Label Studio can sort tasks by it.")]
    model_version: str


class PredictResponse(Answer):
    """One prediction per task, in the same order."""

    results: list[Prediction]


class WebhookRequest(Struct):
    """An event in Label Studio; other fields are ignored."""

    action: Annotated[str, Meta(examples=["ANNOTATION_CREATED"])]
    project: Any = UNSET
    annotation: Any = UNSET
    annotations: Any = UNSET
    task: Any = UNSET
    tasks: Any = UNSET


class WebhookResponse(Answer):
    """The feedback events that were stored."""

    status: str
    result: Annotated[dict[str, list[int]], doc("Numbers of the stored events.")] = msgspec.field(default_factory=dict)


operations = Operations("label studio")


@operations.post("/setup")
def setup(served: ServedModel, request: SetupRequest) -> SetupResponse:
    """Check the labeling interface and return the version of the model."""
    if request.schema.strip():
        controls(request.schema)
    return SetupResponse(model_version=VERSION_PREFIX + served.fingerprint)


@operations.post("/predict")
def predict(service: Service, served: ServedModel, request: PredictRequest) -> PredictResponse:
    """Select the labels that images have now, and probable ones, among choices of `Choices` and `Taxonomy` tags."""
    by_control = [TaskPredictor(served, control).results(request.tasks) for control in controls(request.label_config)]
    predictions = []
    for index in range(len(request.tasks)):
        result = [one for results in by_control if (one := results[index]) is not None]
        scores = [one["score"] for one in result if one["score"] is not None]
        mean = sum(scores) / len(scores) if scores else None
        predictions.append(Prediction(result=result, score=mean, model_version=VERSION_PREFIX + served.fingerprint))
        service.metrics.suggestions.inc(sum(len(one["meta"]["suggested"]) for one in result))
    return PredictResponse(results=predictions)


@operations.post("/webhook", status=201, others={200: WebhookResponse})
async def webhook(service: Service, request: WebhookRequest) -> WebhookResponse | Response:
    """Store the choices of an annotation as feedback; events not about annotations are ignored."""
    if request.action not in ACTIONS:
        return encoded(WebhookResponse(status="Unknown event"))
    feedback, served = service.require_feedback(), await service.models.current()
    annotations = await service.compute.run(parse_webhook, served.labels, request.action, msgspec.to_builtins(request))
    recorded = await service.disk.run(store_annotations, feedback, served.fingerprint, annotations)
    service.metrics.feedback.labels("accept").inc(len(recorded["accepted"]))
    service.metrics.feedback.labels("undo").inc(len(recorded["undone"]))
    return WebhookResponse(status="ok", result=recorded)
