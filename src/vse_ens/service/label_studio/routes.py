"""Label Studio's machine-learning back end, in its published form: it asks what to tick, and tells what was chosen.

``/health`` is among the routes for those who run the service.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from vse_ens.service.label_studio.config import LONGEST_CONFIG, controls
from vse_ens.service.label_studio.tasks import Task, TaskPredictor
from vse_ens.service.label_studio.webhook import ACTIONS, VERSION_PREFIX, record
from vse_ens.service.models import ServedModel
from vse_ens.service.openapi import WRITING
from vse_ens.service.routes.strict_json import StrictRoute
from vse_ens.service.state import Service
from vse_ens.service.verdicts import Feedback

_MOST_TASKS = 1_000
_INTERFACE = '<View><Image name="image" value="$image"/><Choices name="labels" toName="image" choice="multiple">...'


class SetupRequest(BaseModel):
    """A project is being connected; what else Label Studio sends, such as a token, is not looked at."""

    label_schema: str = Field(
        "", alias="schema", max_length=LONGEST_CONFIG, description="The labelling interface.", examples=[_INTERFACE]
    )


class SetupAnswer(BaseModel):
    """The connection stands."""

    model_version: str = Field(description="Changes with the model, so that Label Studio asks again.")


class PredictRequest(BaseModel):
    """Tasks to tick in advance."""

    tasks: list[dict[str, Any]] = Field(
        max_length=_MOST_TASKS, examples=[[{"id": 1, "data": {"image": "https://example.org/img_0000001.jpg"}}]]
    )
    label_config: str = Field(max_length=LONGEST_CONFIG, description="The labelling interface.", examples=[_INTERFACE])
    project: Any = Field(None, description="Not used: what is known of an image is known to all projects.")
    params: Any = Field(None, description="Not used.")


class Prediction(BaseModel):
    """What to tick in one task; nothing where its image is not known."""

    result: list[dict[str, Any]]
    score: float | None = Field(description="The mean confidence, by which Label Studio sorts tasks.")
    model_version: str


class PredictAnswer(BaseModel):
    """One prediction a task, in their order."""

    results: list[Prediction]


class WebhookRequest(BaseModel):
    """Something was done in Label Studio."""

    model_config = {"extra": "allow"}

    action: str = Field(examples=["ANNOTATION_CREATED"])


class WebhookAnswer(BaseModel):
    """What came of it."""

    status: str
    result: dict[str, list[int]] = Field({}, description="The numbers of the events that were kept.")


def label_studio_router(service: Service) -> APIRouter:
    """Connect a project of Label Studio to the address of the service to use it."""
    router = APIRouter(tags=["label studio"], route_class=StrictRoute)
    holder = service.holder

    @router.post("/setup", responses=WRITING)
    async def setup(asked: SetupRequest) -> SetupAnswer:
        """Label Studio connects, and wants to know the version of the model."""
        served = await holder.current()
        if asked.label_schema.strip():
            await service.heavy.run(controls, asked.label_schema)
        return SetupAnswer(model_version=_version(served))

    @router.post("/predict", responses=WRITING)
    async def predict(asked: PredictRequest) -> PredictAnswer:
        """Tick what each image has and likely lacks, among the choices of its `Choices` and `Taxonomy` tags."""
        served = await holder.current()
        answer = await service.heavy.run(_predicted, served, service.feedback, asked.tasks, asked.label_config)
        ticked = (result["meta"]["suggested"] for one in answer.results for result in one.result)
        service.metrics.suggestions.inc(sum(map(len, ticked)))
        return answer

    @router.post("/webhook", status_code=201, responses=WRITING | {200: {"model": WebhookAnswer}})
    async def webhook(told: WebhookRequest, response: Response) -> WebhookAnswer:
        """Keep as feedback what an annotation chooses; an event that is not about annotations is passed over."""
        if told.action not in ACTIONS:
            response.status_code = 200
            return WebhookAnswer(status="Unknown event", result={})
        kept, served = service.kept_feedback(), await holder.current()
        recorded = await service.disk.run(
            record, kept, served.annotator.known_, served.fingerprint, told.action, told.model_extra or {}
        )
        service.metrics.feedback.labels("accept").inc(len(recorded.accepted))
        service.metrics.feedback.labels("undo").inc(len(recorded.undone))
        return WebhookAnswer(status="ok", result=asdict(recorded))

    return router


def _version(served: ServedModel) -> str:
    return VERSION_PREFIX + served.fingerprint


def _predicted(served: ServedModel, feedback: Feedback | None, tasks: Sequence[Task], config: str) -> PredictAnswer:
    tickers = [TaskPredictor(served.annotator, feedback, control) for control in controls(config)]
    by_control = [ticker.results(tasks) for ticker in tickers]
    predictions = []
    for place in range(len(tasks)):
        result = [found for results in by_control if (found := results[place]) is not None]
        scores = [one["score"] for one in result if one["score"] is not None]
        predictions.append(
            Prediction(
                result=result, score=sum(scores) / len(scores) if scores else None, model_version=_version(served)
            )
        )
    return PredictAnswer(results=predictions)
