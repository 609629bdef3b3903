"""An image as it stands: what the data and people say it has, and what it may lack.

Routes for looking around: the model, its labels and images, the audit, the map.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from vse_ens import __version__
from vse_ens.curate.audit.audit import Audit
from vse_ens.curate.audit.audit import Finding as Found
from vse_ens.curate.label_map import LabelMap
from vse_ens.service.completion import complete_id
from vse_ens.service.convert import reasons, rounded, suggestions
from vse_ens.service.jobs import Working as StillWorking
from vse_ens.service.models import ServedModel
from vse_ens.service.openapi import READING
from vse_ens.service.schemas import (
    AuditAnswer,
    Duplicate,
    Finding,
    Id,
    ImagesAnswer,
    ImageState,
    LabelCount,
    LabelInForce,
    LabelsAnswer,
    MapAnswer,
    ModelAnswer,
    PlacedLabel,
    RejectedLabel,
    Top,
    Working,
)
from vse_ens.service.settings import LONGEST_ID, MOST_BATCH, MOST_LABELS, MOST_SUGGESTIONS, MOST_TOP
from vse_ens.service.state import Service
from vse_ens.service.verdicts import ImageVerdicts


async def check_image(service: Service, served: ServedModel, image: str) -> None:
    """Refuse an image that neither the model nor feedback knows."""
    if not any(_judged(service, image)):
        await service.check_known(served.annotator.known_.images, [image])


async def image_state(service: Service, served: ServedModel, image: str, top: int) -> ImageState:
    """The state of an image, with the ``top`` labels it may lack."""
    judged = _judged(service, image)
    if served.quick_by_labels:
        state = _state(served, image, judged, top)
    else:
        state = await service.heavy.run(_state, served, image, judged, top)
    service.metrics.suggestions.inc(len(state.suggestions))
    state.url = service.settings.url_of(image)
    return state


def _judged(service: Service, image: str) -> ImageVerdicts:
    return service.feedback.of(image) if service.feedback is not None else ImageVerdicts({}, {})


def _state(served: ServedModel, image: str, judged: ImageVerdicts, top: int) -> ImageState:
    annotator = served.annotator
    known = image in annotator.known_.images
    trained = annotator.known_labels(image) if known else []
    labels = [LabelInForce(label=label, source="data", event=None) for label in trained if label not in judged.rejected]
    labels += [
        LabelInForce(label=label, source="feedback", event=event)
        for label, event in sorted(judged.accepted.items(), key=lambda one: one[1])
        if label not in trained
    ]
    if any(judged) or not known:
        # What people said counts at once; labels of theirs that the model has never seen say nothing to it.
        vocabulary = annotator.known_.labels
        context = [one.label for one in labels if one.label in vocabulary]
        deny = [label for label in judged.rejected if label in vocabulary]
        found = annotator.annotate(labels=context, deny=deny, top=top, explain=True)
    else:
        found = annotator.annotate(image, top=top, explain=True)
    return ImageState(
        image=image,
        known=known,
        labels=labels,
        rejected=[RejectedLabel(label=label, event=event) for label, event in judged.rejected.items()],
        suggestions=suggestions(found, explained=True),
        url=None,
    )


Prefix = Annotated[str, Query(max_length=LONGEST_ID)]
Kind = Literal["missing", "wrong", "duplicates"]

_LATER: dict[int | str, dict[str, Any]] = {202: {"model": Working, "description": "It is being made; ask again."}}


def browsing_router(service: Service) -> APIRouter:
    """All of it quick; what is not is made in the background, and told how far it is."""
    router = APIRouter(tags=["browsing"])
    holder = service.holder

    @router.get("/api/model", responses=READING)
    async def model() -> ModelAnswer:
        """The model card, and what one request may ask for."""
        return _card(await holder.current(), service)

    @router.get("/api/labels", responses=READING)
    async def labels(prefix: Prefix = "", limit: Annotated[int, Query(ge=1, le=1_000)] = 20) -> LabelsAnswer:
        """Labels that begin so in front, then those of which a later word does; the most frequent first."""
        found, total = (await holder.current()).completion.find(prefix, limit)
        return LabelsAnswer(labels=[LabelCount(label=label, images=count) for label, count in found], total=total)

    @router.get("/api/images", responses=READING)
    async def images(prefix: Prefix = "", limit: Annotated[int, Query(ge=1, le=1_000)] = 20) -> ImagesAnswer:
        """Images whose ids begin so, in their order."""
        found, total = complete_id((await holder.current()).annotator.known_.images, prefix, limit)
        return ImagesAnswer(images=found, total=total)

    @router.get("/api/image", responses=READING)
    async def image(
        id: Annotated[Id, Query(examples=["img_0000001"])],  # noqa: A002  # what the query calls it
        top: Annotated[Top, Query()] = 12,
    ) -> ImageState:
        """An image as it stands, with suggestions from the labels it has now."""
        served = await holder.current()
        await check_image(service, served, id)
        return await image_state(service, served, id, top)

    @router.get("/api/audit", response_model=AuditAnswer, responses=READING | _LATER)
    async def audit(
        kind: Kind = "missing",
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
    ) -> Any:
        """Labels likely missing, labels likely wrong, labels that could be one; the first call begins the work."""
        found = (await holder.current()).audit.look()
        if isinstance(found, StillWorking):
            return _later(found)
        if kind == "duplicates":
            return _duplicates(found, offset, limit)
        listed = found.missing if kind == "missing" else found.wrong
        judged: set[tuple[str, str]] = set()
        if service.feedback is not None:
            judged = await service.disk.run(service.feedback.judged, [(one.image, one.label) for one in listed])
        return _page(kind, [one for one in listed if (one.image, one.label) not in judged], offset, limit)

    @router.get("/api/map", response_model=MapAnswer, responses=READING | _LATER)
    async def label_map() -> Any:
        """Where labels lie when those that are used alike lie side by side; the first call begins the work."""
        served = await holder.current()
        found = served.label_map.look()
        return _later(found) if isinstance(found, StillWorking) else _places(served, found)

    return router


def _later(found: StillWorking) -> Response:
    answer = Working(done=round(found.done, 3))
    return Response(answer.model_dump_json(), 202, {"Retry-After": "1"}, media_type="application/json")


def _card(served: ServedModel, service: Service) -> ModelAnswer:
    annotator, settings = served.annotator, service.settings
    known = annotator.known_
    return ModelAnswer(
        name=served.name,
        fingerprint=served.fingerprint,
        images=len(known.images),
        labels=len(known.labels),
        pairs=known.pairs,
        preset=annotator.preset,
        config=annotator.config_.to_dict(),
        training=annotator.training_,
        validation=annotator.validation_,
        has_confidence=annotator.calibration_ is not None,
        image_url=settings.image_url,
        feedback=service.feedback is not None,
        version=__version__,
        limits={
            "top": MOST_TOP,
            "batch": MOST_BATCH,
            "suggestions": MOST_SUGGESTIONS,
            "labels": MOST_LABELS,
            "body_bytes": settings.limits.body_bytes,
        },
    )


def _duplicates(found: Audit, offset: int, limit: int) -> AuditAnswer:
    twins = [
        Duplicate(label=one.label, other=one.other, confidence=rounded(one.confidence), reason=one.reason)
        for one in found.duplicates[offset : offset + limit]
    ]
    return AuditAnswer(kind="duplicates", total=len(found.duplicates), findings=twins)


def _page(kind: Kind, open_ones: Sequence[Found], offset: int, limit: int) -> AuditAnswer:
    findings = [
        Finding(
            image=one.image,
            label=one.label,
            confidence=rounded(one.confidence),
            reason=one.reason,
            because=reasons(one.because),
        )
        for one in open_ones[offset : offset + limit]
    ]
    return AuditAnswer(kind=kind, total=len(open_ones), findings=findings)


def _places(served: ServedModel, found: LabelMap) -> MapAnswer:
    known = served.annotator.known_
    counts = known.images_per_label[found.labels].tolist()
    rows = zip(known.labels.ids(found.labels), found.places.round(4).tolist(), counts, strict=True)
    return MapAnswer(labels=[PlacedLabel(label=label, x=x, y=y, images=images) for label, (x, y), images in rows])
