"""Predictions: suggestions, search, similarity and explanations."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Response

from vse_ens.service import annotating
from vse_ens.service.convert import rounded, to_reasons
from vse_ens.service.models import ServedModel
from vse_ens.service.openapi import READING, WRITING
from vse_ens.service.routes.images import current_labels
from vse_ens.service.routes.strict_json import StrictRoute
from vse_ens.service.schemas import (
    AnnotateRequest,
    AnnotateResponse,
    ExplainRequest,
    ExplainResponse,
    FoundImage,
    Id,
    SearchRequest,
    SearchResponse,
    SimilarImage,
    SimilarImagesResponse,
    SimilarLabel,
    SimilarLabelsResponse,
    Top,
)
from vse_ens.service.state import Service

_ANNOTATE_EXAMPLES: Any = {
    "an image of the model": {"value": {"images": ["img_0000001"], "top": 3}},
    "an image unknown to the model": {"value": {"labels": [["sea", "sand"]], "explain": True}},
    "some labels only, with a minimum confidence": {
        "value": {"images": ["img_0000001"], "allow": ["beach", "wave"], "min_confidence": 0.2}
    },
}
_SEARCH_EXAMPLES: Any = {"with and without": {"value": {"labels": ["beach", "-person"], "top": 5}}}
_EXPLAIN_EXAMPLES: Any = {"by labels": {"value": {"labels": ["sea", "sand"], "label": "beach"}}}


def predict_router(service: Service) -> APIRouter:
    """Return the prediction routes; work of about a millisecond runs on the event loop, more on worker threads."""
    router = APIRouter(tags=["predict"], route_class=StrictRoute)
    models, compute = service.models, service.compute

    @router.post("/api/annotate", response_model=AnnotateResponse, responses=WRITING)
    async def annotate(request: Annotated[AnnotateRequest, Body(openapi_examples=_ANNOTATE_EXAMPLES)]) -> Response:
        """Suggest labels that images lack, best first; labels an image has are not suggested."""
        # `DirectMiddleware` answers most requests for one image.
        served = await models.current()
        if annotating.is_fast(served, request):
            known = served.annotator.known_
            await service.check_known(known.images, request.images or ())
            await service.check_known(known.labels, request.all_labels)
            encoded = annotating.annotate(served, request)
        else:
            encoded = await compute.run(annotating.annotate, served, request)
        service.metrics.suggestions.inc(encoded.suggestions)
        return Response(encoded.body, media_type="application/json")

    @router.post("/api/search", responses=WRITING)
    async def search(request: Annotated[SearchRequest, Body(openapi_examples=_SEARCH_EXAMPLES)]) -> SearchResponse:
        """Find images for labels: images that lack the labels, or with `tagged` all images.

        Images on which a label was rejected are left out, and without `tagged` those on which it was accepted.
        """
        served = await models.current()
        response = await compute.run(_search, service, served, request)
        service.pictures.add_urls(served, response.images)
        return response

    @router.get("/api/similar/labels", responses=READING)
    async def similar_labels(
        label: Annotated[Id, Query(examples=["beach"])], top: Annotated[Top, Query()] = 10
    ) -> SimilarLabelsResponse:
        """Find labels with similar use."""
        similar = await compute.run((await models.current()).annotator.similar_labels, label, top)
        return SimilarLabelsResponse(
            label=label, similar=[SimilarLabel(label=one.id, similarity=rounded(one.similarity)) for one in similar]
        )

    @router.get("/api/similar/images", responses=READING)
    async def similar_images(
        image: Annotated[Id, Query(examples=["img_0000001"])], top: Annotated[Top, Query()] = 10
    ) -> SimilarImagesResponse:
        """Find images with similar labels."""
        served = await models.current()
        response = await compute.run(_similar_images, served, image, top)
        service.pictures.add_urls(served, response.similar)
        return response

    @router.post("/api/explain", responses=WRITING)
    async def explain(request: Annotated[ExplainRequest, Body(openapi_examples=_EXPLAIN_EXAMPLES)]) -> ExplainResponse:
        """List the contributions to a label's score for an image; a label it has is explained by its other labels."""
        return await compute.run(_explain, await models.current(), request)

    return router


def _search(service: Service, served: ServedModel, request: SearchRequest) -> SearchResponse:
    annotator, decided = served.annotator, served.rankings.decided
    decided.refresh()
    verdicts = [decided.of_label(label) for label in request.labels]
    gone = {image for images in verdicts for image, verdict in images.items() if verdict == "reject"}
    if not request.tagged:
        gone.update(*verdicts)
    found = annotator.search(request.labels, request.top + len(gone), tagged=request.tagged)
    numbers = annotator.known_.images.numbers([one.image for one in found]).tolist()
    kept = [(number, one) for number, one in zip(numbers, found, strict=True) if number not in gone]
    return SearchResponse(
        images=[
            FoundImage(
                image=one.image,
                score=rounded(one.score),
                confidence=rounded(one.confidence),
                labels=current_labels(service, served, one.image)
                if decided.mask[number]
                else annotator.known_labels(one.image),
            )
            for number, one in kept[: request.top]
        ]
    )


def _similar_images(served: ServedModel, image: str, top: int) -> SimilarImagesResponse:
    annotator = served.annotator
    return SimilarImagesResponse(
        image=image,
        similar=[
            SimilarImage(image=one.id, similarity=rounded(one.similarity), labels=annotator.known_labels(one.id))
            for one in annotator.similar_images(image, top)
        ],
    )


def _explain(served: ServedModel, request: ExplainRequest) -> ExplainResponse:
    explanation = served.annotator.explain(request.image, request.label, labels=request.labels)
    return ExplainResponse(
        label=explanation.label,
        score=rounded(explanation.score),
        confidence=rounded(explanation.confidence),
        because=to_reasons(explanation.reasons),
        left_out=explanation.left_out,
    )
