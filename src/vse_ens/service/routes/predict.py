"""Predictions: suggestions, search, similarity and explanations."""

from __future__ import annotations

from typing import Any

import msgspec

from vse_ens.data.rules.label_names import LabelNames
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.service import schemas
from vse_ens.service.models import ServedModel
from vse_ens.service.operations import Operations
from vse_ens.service.schemas import ImageId, LabelId, Top, rounded
from vse_ens.service.state import Service
from vse_ens.service.suggest import annotate_if_fast, annotate_images, shown_reasons

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


def operations(service: Service) -> Operations:
    """Return the prediction routes; work of about a millisecond runs on the event loop, more on worker threads."""
    api = Operations("predict")
    models, compute = service.models, service.compute

    @api.post("/api/annotate", examples=_ANNOTATE_EXAMPLES)
    async def annotate(request: schemas.AnnotateRequest) -> schemas.AnnotateResponse:
        """Suggest labels that images lack, best first: none that an image has now, and none that was rejected."""
        served = await models.current()
        response = annotate_if_fast(served, request)
        if response is None:
            response = await compute.run(annotate_images, served, request)
        service.metrics.suggestions.inc(sum(len(one.suggestions) for one in response.results))
        return response

    @api.post("/api/search", examples=_SEARCH_EXAMPLES)
    async def search(request: schemas.SearchRequest) -> schemas.SearchResponse:
        """Find images for labels: images that lack the labels, or with `tagged` all images.

        Images on which a label was rejected are left out, and without `tagged` those on which it was accepted.
        """
        served = await models.current()
        response = await compute.run(_search, served, request)
        service.pictures.add_urls(served, response.images)
        return response

    @api.get("/api/similar/labels")
    async def similar_labels(label: LabelId, top: Top = 10) -> schemas.SimilarLabelsResponse:
        """Find labels with similar use."""
        served = await models.current()
        names = served.labels.names
        similar = await compute.run(served.annotator.similar_labels, names.in_model(label), top + names.extra)
        shown = names.show_suggestions(
            [schemas.SimilarLabel(label=one.id, similarity=rounded(one.similarity)) for one in similar],
            lambda one: one.label,
            lambda one, name: msgspec.structs.replace(one, label=name),
            {names.of(label)},
        )
        return schemas.SimilarLabelsResponse(label=label, similar=shown[:top])

    @api.get("/api/similar/images")
    async def similar_images(image: ImageId, top: Top = 10) -> schemas.SimilarImagesResponse:
        """Find images with similar labels."""
        served = await models.current()
        response = await compute.run(_similar_images, served, image, top)
        service.pictures.add_urls(served, response.similar)
        return response

    @api.post("/api/explain", examples=_EXPLAIN_EXAMPLES)
    async def explain(request: schemas.ExplainRequest) -> schemas.ExplainResponse:
        """List all contributions to a label's score for an image; a label it has is explained by its other labels."""
        return await compute.run(_explain, await models.current(), request)

    return api


def _search(served: ServedModel, request: schemas.SearchRequest) -> schemas.SearchResponse:
    annotator, names = served.annotator, served.labels.names
    terms = [_in_model(term, names, annotator.known_.labels) for term in request.labels]
    wanted = {names.of(term) for term in terms if term in annotator.known_.labels}
    unwanted = {names.of(term[1:]) for term in terms if term not in annotator.known_.labels}
    verdicts = [served.labels.verdicts_on(label) for label in request.labels]
    gone = {image for images in verdicts for image, verdict in images.items() if verdict == "reject"}
    if not request.tagged:
        gone.update(*verdicts)
    # By a rule, some of the images may have the labels.
    more = _MORE if names.extra else 0
    found = annotator.search(terms, request.top + len(gone) + more, tagged=request.tagged)
    numbers = annotator.known_.images.numbers([one.image for one in found]).tolist()
    kept = [one for number, one in zip(numbers, found, strict=True) if number not in gone][: request.top + more]
    now = served.labels.of_images([one.image for one in kept])
    images = [
        schemas.FoundImage(image=one.image, score=rounded(one.score), confidence=rounded(one.confidence), labels=shown)
        for one, shown in zip(kept, (one.names for one in now), strict=True)
        if not unwanted.intersection(shown) and (request.tagged or not wanted or not wanted.issubset(shown))
    ]
    return schemas.SearchResponse(images=images[: request.top])


def _in_model(term: str, names: LabelNames, labels: Vocabulary) -> str:
    """Return a term of a search with the label that stands for it in the model."""
    label = names.in_model(term)
    return f"-{names.in_model(term[1:])}" if label not in labels and term.startswith("-") else label


def _similar_images(served: ServedModel, image: str, top: int) -> schemas.SimilarImagesResponse:
    similar = served.annotator.similar_images(image, top)
    labels = served.labels.of_images([one.id for one in similar])
    return schemas.SimilarImagesResponse(
        image=image,
        similar=[
            schemas.SimilarImage(image=one.id, similarity=rounded(one.similarity), labels=now.names)
            for one, now in zip(similar, labels, strict=True)
        ],
    )


def _explain(served: ServedModel, request: schemas.ExplainRequest) -> schemas.ExplainResponse:
    annotator, names = served.annotator, served.labels.names
    label = names.in_model(request.label)
    if request.image is None:
        explanation = annotator.explain(label=label, labels=[*map(names.in_model, request.labels or ())])
    else:
        now = served.labels.of(request.image)
        by_labels = now.has_changed and bool(now.settled)  # else it is known, or an error
        explanation = (
            annotator.explain(label=label, labels=now.context) if by_labels else annotator.explain(request.image, label)
        )
    return schemas.ExplainResponse(
        label=request.label,
        score=rounded(explanation.score),
        confidence=rounded(explanation.confidence),
        because=shown_reasons(explanation.reasons, names, most=None),
        left_out=explanation.left_out,
    )
