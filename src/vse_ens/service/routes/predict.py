"""Predictions: suggestions, search, similarity and explanations."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Response

from vse_ens.data.vocabulary import Vocabulary
from vse_ens.service import annotating
from vse_ens.service.convert import rounded, to_reasons
from vse_ens.service.label_names import LabelNames
from vse_ens.service.models import ServedModel
from vse_ens.service.openapi import READING, WRITING
from vse_ens.service.routes.images import labels_of_images
from vse_ens.service.routes.strict_json import StrictRoute
from vse_ens.service.rules import show_reasons
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
# Images that a search finds in excess where rules may remove some.
_MORE = 100


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
            names = service.rules.names(known)
            await service.check_known(known.labels, map(names.in_model, request.all_labels))
            encoded = annotating.annotate(served, names, request)
        else:
            names = service.rules.names(served.annotator.known_)
            encoded = await compute.run(annotating.annotate, served, names, request)
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
        annotator = (await models.current()).annotator
        names = service.rules.names(annotator.known_)
        similar = await compute.run(annotator.similar_labels, names.in_model(label), top + names.extra)
        shown = names.show_suggestions(
            [SimilarLabel(label=one.id, similarity=rounded(one.similarity)) for one in similar],
            lambda one: one.label,
            lambda one, name: one.model_copy(update={"label": name}),
            {names.of(label)},
        )
        return SimilarLabelsResponse(label=label, similar=shown[:top])

    @router.get("/api/similar/images", responses=READING)
    async def similar_images(
        image: Annotated[Id, Query(examples=["img_0000001"])], top: Annotated[Top, Query()] = 10
    ) -> SimilarImagesResponse:
        """Find images with similar labels."""
        served = await models.current()
        response = await compute.run(_similar_images, service, served, image, top)
        service.pictures.add_urls(served, response.similar)
        return response

    @router.post("/api/explain", responses=WRITING)
    async def explain(request: Annotated[ExplainRequest, Body(openapi_examples=_EXPLAIN_EXAMPLES)]) -> ExplainResponse:
        """List the contributions to a label's score for an image; a label it has is explained by its other labels."""
        return await compute.run(_explain, service, await models.current(), request)

    return router


def _search(service: Service, served: ServedModel, request: SearchRequest) -> SearchResponse:
    annotator, decided = served.annotator, served.rankings.decided
    decided.refresh()
    names = service.rules.names(annotator.known_)
    terms = [_in_model(term, names, annotator.known_.labels) for term in request.labels]
    wanted = {names.of(term) for term in terms if term in annotator.known_.labels}
    unwanted = {names.of(term[1:]) for term in terms if term not in annotator.known_.labels}
    verdicts = [decided.of_label(*names.same(label)) for label in request.labels]
    gone = {image for images in verdicts for image, verdict in images.items() if verdict == "reject"}
    if not request.tagged:
        gone.update(*verdicts)
    # By a rule, some of the images may have the labels.
    more = _MORE if names.extra else 0
    found = annotator.search(terms, request.top + len(gone) + more, tagged=request.tagged)
    numbers = annotator.known_.images.numbers([one.image for one in found]).tolist()
    kept = [one for number, one in zip(numbers, found, strict=True) if number not in gone][: request.top + more]
    labels = labels_of_images(service, served, [one.image for one in kept])
    images = [
        FoundImage(image=one.image, score=rounded(one.score), confidence=rounded(one.confidence), labels=shown)
        for one, shown in zip(kept, labels, strict=True)
        if not unwanted.intersection(shown) and (request.tagged or not wanted or not wanted.issubset(shown))
    ]
    return SearchResponse(images=images[: request.top])


def _in_model(term: str, names: LabelNames, labels: Vocabulary) -> str:
    """Return a term of a search with the label that stands for it in the model."""
    label = names.in_model(term)
    return f"-{names.in_model(term[1:])}" if label not in labels and term.startswith("-") else label


def _similar_images(service: Service, served: ServedModel, image: str, top: int) -> SimilarImagesResponse:
    similar = served.annotator.similar_images(image, top)
    labels = labels_of_images(service, served, [one.id for one in similar])
    return SimilarImagesResponse(
        image=image,
        similar=[
            SimilarImage(image=one.id, similarity=rounded(one.similarity), labels=shown)
            for one, shown in zip(similar, labels, strict=True)
        ],
    )


def _explain(service: Service, served: ServedModel, request: ExplainRequest) -> ExplainResponse:
    names = service.rules.names(served.annotator.known_)
    labels = None if request.labels is None else [*map(names.in_model, request.labels)]
    explanation = served.annotator.explain(request.image, names.in_model(request.label), labels=labels)
    return ExplainResponse(
        label=request.label,
        score=rounded(explanation.score),
        confidence=rounded(explanation.confidence),
        because=show_reasons(names, to_reasons(explanation.reasons)),
        left_out=explanation.left_out,
    )
