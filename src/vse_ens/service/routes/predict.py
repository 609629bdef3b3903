"""Predictions: suggestions, search, similarity and explanations."""

from __future__ import annotations

import msgspec

from vse_ens.data.rules.label_names import LabelNames
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.service import schemas
from vse_ens.service.models import ServedModel
from vse_ens.service.operations import Operations
from vse_ens.service.schemas import ImageId, LabelId, Top
from vse_ens.service.state import Service
from vse_ens.service.suggest import annotate_if_fast, annotate_images, shown_reasons

# Images that a search finds in excess where rules may remove some.
_MORE = 100

operations = Operations("predict")


@operations.post("/api/annotate")
async def annotate(service: Service, served: ServedModel, request: schemas.AnnotateRequest) -> schemas.AnnotateResponse:
    """Suggest labels that images lack, best first: none that an image has now, and none that was rejected."""
    response = annotate_if_fast(served, request)
    if response is None:
        response = await service.compute.run(annotate_images, served, request)
    service.metrics.suggestions.inc(sum(len(one.suggestions) for one in response.results))
    return response


@operations.post("/api/search")
def search(service: Service, served: ServedModel, request: schemas.SearchRequest) -> schemas.SearchResponse:
    """Find images for labels: images that lack the labels, or with `tagged` all images.

    Images on which a label was rejected are left out, and without `tagged` those on which it was accepted.
    """
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
        schemas.FoundImage.of(one, labels=shown)
        for one, shown in zip(kept, (one.names for one in now), strict=True)
        if not unwanted.intersection(shown) and (request.tagged or not wanted or not wanted.issubset(shown))
    ]
    return schemas.SearchResponse(images=service.pictures.with_urls(served, images[: request.top]))


def _in_model(term: str, names: LabelNames, labels: Vocabulary) -> str:
    """Return a term of a search with the label that stands for it in the model."""
    label = names.in_model(term)
    return f"-{names.in_model(term[1:])}" if label not in labels and term.startswith("-") else label


@operations.get("/api/similar/labels")
def similar_labels(served: ServedModel, label: LabelId, top: Top = 10) -> schemas.SimilarLabelsResponse:
    """Find labels with similar use."""
    names = served.labels.names
    similar = served.annotator.similar_labels(names.in_model(label), top + names.extra)
    shown = names.show_suggestions(
        [schemas.SimilarLabel.of(one, label=one.id) for one in similar],
        lambda one: one.label,
        lambda one, name: msgspec.structs.replace(one, label=name),
        {names.of(label)},
    )
    return schemas.SimilarLabelsResponse(label=label, similar=shown[:top])


@operations.get("/api/similar/images")
def similar_images(
    service: Service, served: ServedModel, image: ImageId, top: Top = 10
) -> schemas.SimilarImagesResponse:
    """Find images with similar labels."""
    found = served.annotator.similar_images(image, top)
    now = served.labels.of_images([one.id for one in found])
    similar = [
        schemas.SimilarImage.of(one, image=one.id, labels=labels.names) for one, labels in zip(found, now, strict=True)
    ]
    return schemas.SimilarImagesResponse(image=image, similar=service.pictures.with_urls(served, similar))


@operations.post("/api/explain")
def explain(served: ServedModel, request: schemas.ExplainRequest) -> schemas.ExplainResponse:
    """List all contributions to a label's score for an image; a label it has is explained by its other labels."""
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
    because = shown_reasons(explanation.reasons, names, most=None)
    return schemas.ExplainResponse.of(explanation, label=request.label, because=because)
