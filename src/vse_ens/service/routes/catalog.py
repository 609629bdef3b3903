"""The catalog: the model card, completion of labels and images, and the audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from vse_ens import __version__
from vse_ens.curate.audit import audit as audits
from vse_ens.curate.audit import duplicates
from vse_ens.service import schemas
from vse_ens.service.completion import complete_id
from vse_ens.service.jobs import InProgress
from vse_ens.service.keys import Key
from vse_ens.service.learning import confidence_state
from vse_ens.service.models import ServedModel
from vse_ens.service.operations import Operations, encoded
from vse_ens.service.schemas import Limit, rounded
from vse_ens.service.settings import MAX_BATCH, MAX_FEATURES, MAX_ID_LENGTH, MAX_LABELS, MAX_SUGGESTIONS, MAX_TOP
from vse_ens.service.source_archive import reason_against
from vse_ens.service.state import Service
from vse_ens.service.suggest import shown_reasons

Prefix = Annotated[str, Meta(max_length=MAX_ID_LENGTH)]
Kind = Literal["missing", "wrong", "duplicates"]

IN_PROGRESS: dict[int, dict[str, Any]] = {
    202: {"model": schemas.JobStatus, "description": "The job has not finished; poll again."}
}


def operations(service: Service) -> Operations:
    """Return the catalog routes; the audit is a background job that clients poll."""
    api = Operations("catalog")
    models = service.models

    @api.get("/api/model")
    async def model(request: Request) -> schemas.ModelResponse:
        """Return the model card, the limits of one request, and what the key of the request allows."""
        served = await models.current()
        if "source" not in vars(served):
            await service.suggest.run(lambda: served.source)
        return _model_card(served, service, request.scope.get("vse_key"))

    @api.get("/api/labels")
    async def labels(prefix: Prefix = "", limit: Limit = 20) -> schemas.LabelsResponse:
        """List labels that start with the prefix, then labels with a later word that does; most frequent first."""
        served = await models.current()
        renamed = bool(served.labels.names.extra)
        completion = served.names_in_force.of(served.labels.table.counts) if renamed else served.completion
        found, total = completion.find(prefix, limit)
        return schemas.LabelsResponse(labels=[schemas.LabelCount(label, count) for label, count in found], total=total)

    @api.get("/api/images")
    async def images(prefix: Prefix = "", limit: Limit = 20) -> schemas.ImagesResponse:
        """List images with an ID that starts with the prefix, in sorted order."""
        found, total = complete_id((await models.current()).annotator.known_.images, prefix, limit)
        return schemas.ImagesResponse(images=found, total=total)

    @api.get("/api/audit", responses=IN_PROGRESS)
    async def audit(
        kind: Kind = "missing",
        offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0,
        limit: Annotated[int, Meta(ge=1, le=200)] = 50,
    ) -> schemas.AuditResponse | schemas.DuplicatesResponse | Response:
        """List labels that are probably missing, wrong or duplicates; the first call starts the audit."""
        served = await models.current()
        result = served.audit.poll()
        if isinstance(result, InProgress):
            return in_progress(result)
        if kind == "duplicates":
            rules = served.labels.rules
            still_open = [one for one in result.duplicates if rules.is_open("alias", one.label, one.other)]
            return _duplicates(still_open, offset, limit)
        open_ = await service.compute.run(_open, served, result.missing if kind == "missing" else result.wrong, kind)
        page = _findings(served, open_[offset : offset + limit])
        service.pictures.add_urls(served, page)
        return schemas.AuditResponse(kind=kind, total=len(open_), findings=page)

    return api


def in_progress(state: InProgress) -> Response:
    """Return the answer while a job has not finished."""
    return encoded(schemas.JobStatus(done=round(state.done, 3)), 202, {"Retry-After": "1"})


def _model_card(served: ServedModel, service: Service, key: Key | None) -> schemas.ModelResponse:
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


def _duplicates(found: Sequence[duplicates.Duplicate], offset: int, limit: int) -> schemas.DuplicatesResponse:
    page = [schemas.Duplicate(one.label, one.other, one.kind, one.reason) for one in found[offset : offset + limit]]
    return schemas.DuplicatesResponse(total=len(found), findings=page)


def _open(served: ServedModel, findings: Sequence[audits.Finding], kind: Kind) -> list[audits.Finding]:
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


def _findings(served: ServedModel, findings: Sequence[audits.Finding]) -> list[schemas.Finding]:
    names = served.labels.names
    return [
        schemas.Finding(
            image=one.image,
            label=names.of(one.label),
            confidence=rounded(one.confidence),
            reason=one.reason,
            because=shown_reasons(one.because, names),
        )
        for one in findings
    ]
