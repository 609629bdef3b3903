"""An image as it stands: what the data and people say it has, and what it may lack."""

from __future__ import annotations

from vse_ens.service.answers import suggestions
from vse_ens.service.feedback import Judged
from vse_ens.service.holder import Served
from vse_ens.service.schemas import ImageState, LabelInForce, RejectedLabel
from vse_ens.service.service import Service


async def check_image(service: Service, served: Served, image: str) -> None:
    """Refuse an image that neither the model nor feedback knows."""
    if not any(_judged(service, image)):
        await service.check_known(served.annotator.known_.images, [image])


async def image_state(service: Service, served: Served, image: str, top: int) -> ImageState:
    """The state of an image, with the ``top`` labels it may lack."""
    judged = _judged(service, image)
    if served.quick_by_labels:
        state = _state(served, image, judged, top)
    else:
        state = await service.heavy.run(_state, served, image, judged, top)
    service.metrics.suggestions.inc(len(state.suggestions))
    state.url = service.settings.url_of(image)
    return state


def _judged(service: Service, image: str) -> Judged:
    return service.feedback.of(image) if service.feedback is not None else Judged({}, {})


def _state(served: Served, image: str, judged: Judged, top: int) -> ImageState:
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
