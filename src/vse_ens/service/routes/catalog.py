"""The catalog: the model card, completion of labels and images, and the audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta
from starlette.responses import Response

from vse_ens import __version__
from vse_ens.curate.audit import audit as audits
from vse_ens.curate.label_completion import complete_id
from vse_ens.service import schemas
from vse_ens.service.errors import ApiError
from vse_ens.service.jobs import InProgress
from vse_ens.service.keys import Key
from vse_ens.service.learning import confidence_state
from vse_ens.service.models import ServedModel
from vse_ens.service.operations import Operations, encoded
from vse_ens.service.schemas import Limit
from vse_ens.service.settings import MAX_BATCH, MAX_FEATURES, MAX_ID_LENGTH, MAX_LABELS, MAX_SUGGESTIONS, MAX_TOP
from vse_ens.service.source_archive import reason_against
from vse_ens.service.state import Service
from vse_ens.service.suggest import shown_reasons

Prefix = Annotated[str, Meta(max_length=MAX_ID_LENGTH)]
Kind = Literal["missing", "wrong", "duplicates"]

IN_PROGRESS = {202: schemas.JobStatus}

operations = Operations("catalog")


@operations.get("/api/model")
async def model(service: Service, served: ServedModel, key: Key | None) -> schemas.ModelResponse:
    """Return the model card, the limits of one request, and what the key of the request allows."""
    if "source" not in vars(served):
        await service.suggest.run(lambda: served.source)
    annotator, settings = served.annotator, service.settings
    read_only = key is not None and key.read_only
    known = annotator.known_
    refused = reason_against(known, settings)
    source_format, source_problem = (None, refused) if refused else served.source
    return schemas.ModelResponse(
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
        confidence=confidence_state(served, service.new_verdicts),
        image_url=service.pictures.template(served),
        feedback=service.feedback is not None and not read_only,
        read_only=read_only,
        user=key.name if key is not None and key.name else None,
        learning=service.learner.state if service.learner is not None else None,
        version=__version__,
        saved_at=served.saved_at,
        source_format=source_format,
        source_problem=source_problem,
        limits={
            "top": MAX_TOP,
            "batch": MAX_BATCH,
            "suggestions": MAX_SUGGESTIONS,
            "labels": MAX_LABELS,
            "features": MAX_FEATURES,
            "body_bytes": settings.limits.body_bytes,
        },
    )


@operations.post("/api/completeness")
async def completeness(
    service: Service, served: ServedModel, request: schemas.CompletenessRequest
) -> schemas.ConfidenceState:
    """Set how complete the labels are, which all confidences rest on, until the service ends.

    The model directory stays as it is; `vse calibrate` changes it.
    """
    if served.annotator.calibration_ is not None:
        service.models.completeness = request.completeness
        await service.compute.run(served.assume, request.completeness, service.feedback)
    state = confidence_state(served, service.new_verdicts)
    if state is None:
        raise ApiError(422, "this model has no confidences; train it with validation")
    return state


@operations.get("/api/labels")
async def labels(served: ServedModel, prefix: Prefix = "", limit: Limit = 20) -> schemas.LabelsResponse:
    """List labels that start with the prefix, then labels with a later word that does; most frequent first."""
    renamed = bool(served.labels.names.extra)
    completion = served.complete(tuple(served.labels.table.counts.items())) if renamed else served.completion
    found, total = completion.find(prefix, limit)
    return schemas.LabelsResponse(labels=[schemas.LabelCount(label, count) for label, count in found], total=total)


@operations.get("/api/images")
async def images(served: ServedModel, prefix: Prefix = "", limit: Limit = 20) -> schemas.ImagesResponse:
    """List images with an ID that starts with the prefix, in sorted order."""
    found, total = complete_id(served.annotator.known_.images, prefix, limit)
    return schemas.ImagesResponse(images=found, total=total)


@operations.get("/api/audit", others=IN_PROGRESS)
def audit(
    service: Service,
    served: ServedModel,
    kind: Kind = "missing",
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0,
    limit: Annotated[int, Meta(ge=1, le=200)] = 50,
) -> schemas.AuditResponse | schemas.DuplicatesResponse | Response:
    """List labels that are probably missing, wrong or duplicates; the first call starts the audit."""
    result, names, page = served.audit.poll(), served.labels.names, slice(offset, offset + limit)
    if isinstance(result, InProgress):
        return in_progress(result)
    if kind == "duplicates":
        is_open = served.labels.rules.is_open
        same = [one for one in result.duplicates if is_open("alias", one.label, one.other)]
        return schemas.DuplicatesResponse(total=len(same), findings=same[page])
    found = _without_verdict(served, result.missing if kind == "missing" else result.wrong, kind)
    findings = [
        schemas.Finding.of(one, label=names.of(one.label), because=shown_reasons(one.because, names))
        for one in found[page]
    ]
    return schemas.AuditResponse(kind=kind, total=len(found), findings=service.pictures.with_urls(served, findings))


def in_progress(state: InProgress) -> Response:
    """Return the answer while a job has not finished."""
    return encoded(schemas.JobStatus(done=round(state.done, 3)), 202, {"Retry-After": "1"})


def _without_verdict(served: ServedModel, findings: Sequence[audits.Finding], kind: Kind) -> list[audits.Finding]:
    """Return the findings on which there is no verdict, and of missing labels those that the images still lack."""
    labels = served.labels
    verdicts = {label: labels.verdicts_on(label) for label in {one.label for one in findings}}
    images = labels.of_images([one.image for one in findings])
    return [
        one
        for one, now in zip(findings, images, strict=True)
        if now.number not in verdicts[one.label]
        and not (kind == "missing" and labels.names.of(one.label) in now.settled)
    ]
