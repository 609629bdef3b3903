"""Routes that ask the model: suggestions, search, likeness, reasons."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Response

from vse_ens.service.convert import reasons, rounded, suggestions
from vse_ens.service.models import ServedModel
from vse_ens.service.openapi import READING, WRITING
from vse_ens.service.routes.strict_json import StrictRoute
from vse_ens.service.schemas import (
    AnnotateAnswer,
    AnnotatedImage,
    AnnotateRequest,
    ExplainAnswer,
    ExplainRequest,
    FoundImage,
    Id,
    SearchAnswer,
    SearchRequest,
    SimilarImage,
    SimilarImagesAnswer,
    SimilarLabel,
    SimilarLabelsAnswer,
    Top,
)
from vse_ens.service.state import Service

_ANNOTATE_EXAMPLES: Any = {
    "an image of the model": {"value": {"images": ["img_0000001"], "top": 3}},
    "an image it has never seen": {"value": {"labels": [["sea", "sand"]], "explain": True}},
    "only some labels, and only likely ones": {
        "value": {"images": ["img_0000001"], "allow": ["beach", "wave"], "min_confidence": 0.2}
    },
}
_SEARCH_EXAMPLES: Any = {"with and without": {"value": {"labels": ["beach", "-person"], "top": 5}}}
_EXPLAIN_EXAMPLES: Any = {"by labels": {"value": {"labels": ["sea", "sand"], "label": "beach"}}}
# Looked up one by one, in a millisecond.
_FEW_LABELS = 100


def asking_router(service: Service) -> APIRouter:
    """Small work is done on the event loop, where it takes a millisecond; large work on threads."""
    router = APIRouter(tags=["asking"], route_class=StrictRoute)
    holder, heavy = service.holder, service.heavy

    @router.post("/api/annotate", response_model=AnnotateAnswer, responses=WRITING)
    async def annotate(wanted: Annotated[AnnotateRequest, Body(openapi_examples=_ANNOTATE_EXAMPLES)]) -> Response:
        """Suggest labels that images lack, best first; labels an image has are never suggested."""
        served = await holder.current()
        if _is_quick(served, wanted):
            known = served.annotator.known_
            await service.check_known(known.images, wanted.images or ())
            await service.check_known(known.labels, wanted.all_labels)
            answer = _annotated(served, wanted)
        else:
            answer = await heavy.run(_annotated, served, wanted)
        service.metrics.suggestions.inc(answer.suggestions)
        return Response(answer.body, media_type="application/json")

    @router.post("/api/search", responses=WRITING)
    async def search(wanted: Annotated[SearchRequest, Body(openapi_examples=_SEARCH_EXAMPLES)]) -> SearchAnswer:
        """Find images for labels: those nobody tagged so, or with `tagged` all of them."""
        return await heavy.run(_found, await holder.current(), wanted)

    @router.get("/api/similar/labels", responses=READING)
    async def similar_labels(
        label: Annotated[Id, Query(examples=["beach"])], top: Annotated[Top, Query()] = 10
    ) -> SimilarLabelsAnswer:
        """Labels that fit the same images, or say the same of them."""
        alike = await heavy.run((await holder.current()).annotator.similar_labels, label, top)
        return SimilarLabelsAnswer(
            label=label, similar=[SimilarLabel(label=one.id, similarity=rounded(one.similarity)) for one in alike]
        )

    @router.get("/api/similar/images", responses=READING)
    async def similar_images(
        image: Annotated[Id, Query(examples=["img_0000001"])], top: Annotated[Top, Query()] = 10
    ) -> SimilarImagesAnswer:
        """Images that show the same, as far as labels tell."""
        return await heavy.run(_like, await holder.current(), image, top)

    @router.post("/api/explain", responses=WRITING)
    async def explain(wanted: Annotated[ExplainRequest, Body(openapi_examples=_EXPLAIN_EXAMPLES)]) -> ExplainAnswer:
        """Tell what adds up to a label's score for an image."""
        return await heavy.run(_explained, await holder.current(), wanted)

    return router


class _Written:
    """An answer as bytes, made where the work was done."""

    __slots__ = ("body", "suggestions")

    def __init__(self, answer: AnnotateAnswer) -> None:
        self.body = answer.model_dump_json(exclude_unset=True)
        self.suggestions = sum(len(one.suggestions) for one in answer.results)


def _is_quick(served: ServedModel, wanted: AnnotateRequest) -> bool:
    quick = served.quick if wanted.labels is None else served.quick_by_labels
    return quick and wanted.count == 1 and len(wanted.all_labels) <= _FEW_LABELS


def _annotated(served: ServedModel, wanted: AnnotateRequest) -> _Written:
    annotator = served.annotator
    how: Any = {
        "top": wanted.top,
        "allow": wanted.allow,
        "deny": wanted.deny,
        "min_confidence": wanted.min_confidence,
        "explain": wanted.explain,
    }
    if wanted.images is not None:
        names: list[str | None] = [*wanted.images]
        owned = [annotator.known_labels(image) for image in wanted.images]
        found = annotator.annotate(wanted.images, **how)
    else:
        owned = wanted.labels or []
        names = [None] * len(owned)
        found = annotator.annotate(labels=owned, **how)
    results = [
        AnnotatedImage(image=image, labels=labels, suggestions=suggestions(best, wanted.explain))
        for image, labels, best in zip(names, owned, found, strict=True)
    ]
    return _Written(AnnotateAnswer(model=served.fingerprint, results=results))


def _found(served: ServedModel, wanted: SearchRequest) -> SearchAnswer:
    annotator = served.annotator
    return SearchAnswer(
        images=[
            FoundImage(
                image=one.image,
                score=rounded(one.score),
                confidence=rounded(one.confidence),
                labels=annotator.known_labels(one.image),
            )
            for one in annotator.search(wanted.labels, wanted.top, tagged=wanted.tagged)
        ]
    )


def _like(served: ServedModel, image: str, top: int) -> SimilarImagesAnswer:
    annotator = served.annotator
    return SimilarImagesAnswer(
        image=image,
        similar=[
            SimilarImage(image=one.id, similarity=rounded(one.similarity), labels=annotator.known_labels(one.id))
            for one in annotator.similar_images(image, top)
        ],
    )


def _explained(served: ServedModel, wanted: ExplainRequest) -> ExplainAnswer:
    found = served.annotator.explain(wanted.image, wanted.label, labels=wanted.labels)
    return ExplainAnswer(
        label=found.label,
        score=rounded(found.score),
        confidence=rounded(found.confidence),
        because=reasons(found.reasons),
    )
