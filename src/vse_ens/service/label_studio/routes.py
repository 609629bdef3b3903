"""Routes of Label Studio's machine-learning backend API: setup, predictions and webhooks.

``/health``, which Label Studio calls too, is an operations route.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from vse_ens.service.label_studio.config import MAX_CONFIG_LENGTH, controls
from vse_ens.service.label_studio.tasks import Task, TaskPredictor
from vse_ens.service.label_studio.webhook import ACTIONS, VERSION_PREFIX, parse_webhook, store_annotations
from vse_ens.service.models import ServedModel
from vse_ens.service.openapi import WRITING
from vse_ens.service.routes.strict_json import StrictRoute
from vse_ens.service.state import Service

_MAX_TASKS = 1_000
_INTERFACE = '<View><Image name="image" value="$image"/><Choices name="labels" toName="image" choice="multiple">...'


class SetupRequest(BaseModel):
    """Sent when a project is connected; other fields, such as a token, are ignored."""

    label_schema: str = Field(
        "", alias="schema", max_length=MAX_CONFIG_LENGTH, description="The labelling interface.", examples=[_INTERFACE]
    )


class SetupResponse(BaseModel):
    """Confirms the connection."""

    model_version: str = Field(description="Changes with the model, so that Label Studio requests new predictions.")


class PredictRequest(BaseModel):
    """Tasks to pre-annotate."""

    tasks: list[dict[str, Any]] = Field(
        max_length=_MAX_TASKS, examples=[[{"id": 1, "data": {"image": "https://example.org/img_0000001.jpg"}}]]
    )
    label_config: str = Field(
        max_length=MAX_CONFIG_LENGTH, description="The labelling interface.", examples=[_INTERFACE]
    )
    project: Any = Field(None, description="Not used: all projects share the labels of an image.")
    params: Any = Field(None, description="Not used.")


class Prediction(BaseModel):
    """The choices to select in one task; empty if nothing is known about its image."""

    result: list[dict[str, Any]]
    score: float | None = Field(description="Mean confidence; Label Studio can sort tasks by it.")
    model_version: str


class PredictResponse(BaseModel):
    """One prediction per task, in the same order."""

    results: list[Prediction]


class WebhookRequest(BaseModel):
    """An event in Label Studio."""

    model_config = {"extra": "allow"}

    action: str = Field(examples=["ANNOTATION_CREATED"])


class WebhookResponse(BaseModel):
    """The feedback events that were stored."""

    status: str
    result: dict[str, list[int]] = Field({}, description="Numbers of the stored events.")


def label_studio_router(service: Service) -> APIRouter:
    """Return the routes that Label Studio calls; connect a project to the address of the service to use them."""
    router = APIRouter(tags=["label studio"], route_class=StrictRoute)
    models = service.models

    @router.post("/setup", responses=WRITING)
    async def setup(request: SetupRequest) -> SetupResponse:
        """Check the labelling interface and return the version of the model."""
        served = await models.current()
        if request.label_schema.strip():
            await service.compute.run(controls, request.label_schema)
        return SetupResponse(model_version=_version(served))

    @router.post("/predict", responses=WRITING)
    async def predict(request: PredictRequest) -> PredictResponse:
        """Select the labels that images have now, and probable ones, among choices of `Choices` and `Taxonomy` tags."""
        served = await models.current()
        response = await service.compute.run(_predict, served, request.tasks, request.label_config)
        suggested = (result["meta"]["suggested"] for one in response.results for result in one.result)
        service.metrics.suggestions.inc(sum(map(len, suggested)))
        return response

    @router.post("/webhook", status_code=201, responses=WRITING | {200: {"model": WebhookResponse}})
    async def webhook(request: WebhookRequest, response: Response) -> WebhookResponse:
        """Store the choices of an annotation as feedback; events not about annotations are ignored."""
        if request.action not in ACTIONS:
            response.status_code = 200
            return WebhookResponse(status="Unknown event", result={})
        feedback, served = service.require_feedback(), await models.current()
        annotations = await service.compute.run(parse_webhook, served.labels, request.action, request.model_extra or {})
        recorded = await service.disk.run(store_annotations, feedback, served.fingerprint, annotations)
        service.metrics.feedback.labels("accept").inc(len(recorded.accepted))
        service.metrics.feedback.labels("undo").inc(len(recorded.undone))
        return WebhookResponse(status="ok", result=asdict(recorded))

    return router


def _version(served: ServedModel) -> str:
    return VERSION_PREFIX + served.fingerprint


def _predict(served: ServedModel, tasks: Sequence[Task], config: str) -> PredictResponse:
    predictors = [TaskPredictor(served, control) for control in controls(config)]
    by_control = [predictor.results(tasks) for predictor in predictors]
    predictions = []
    for index in range(len(tasks)):
        result = [one for results in by_control if (one := results[index]) is not None]
        scores = [one["score"] for one in result if one["score"] is not None]
        predictions.append(
            Prediction(
                result=result, score=sum(scores) / len(scores) if scores else None, model_version=_version(served)
            )
        )
    return PredictResponse(results=predictions)
