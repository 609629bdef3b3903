"""Feedback: verdicts, undo, events and accepted pairs."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import unquote

from msgspec import Meta
from starlette.responses import StreamingResponse

from vse_ens.data.feedback.verdicts import Feedback, NewVerdict
from vse_ens.data.io.write import text_lines
from vse_ens.service import schemas
from vse_ens.service.models import ServedModel
from vse_ens.service.operations import Header, Operations
from vse_ens.service.routes.images import image_state
from vse_ens.service.schemas import Limit, Offset
from vse_ens.service.settings import MAX_USER_LENGTH
from vse_ens.service.state import Service

User = Annotated[
    str,
    Meta(max_length=MAX_USER_LENGTH),
    Header(
        "X-VSE-User",
        "User name, stored with the event; non-ASCII characters must be percent-encoded.",
        read=lambda name: unquote(name).strip() or _ANONYMOUS,
    ),
]

_ANONYMOUS = "anonymous"

_COLUMNS: tuple[str, ...] = ("image", "label", "by", "at", "model")
_TOP = 12  # suggestions in the returned state of an image

operations = Operations("feedback")


@operations.post("/api/feedback")
async def add(
    service: Service, feedback: Feedback, served: ServedModel, request: schemas.FeedbackRequest, by: User = _ANONYMOUS
) -> schemas.FeedbackResponse:
    """Accept or reject a label; a rejected label is removed from the image and not suggested again."""
    event = await service.disk.run(
        feedback.add,
        request.image,
        request.label,
        request.verdict,
        by=by,
        source=request.source,
        confidence=request.confidence,
        model=served.fingerprint,
    )
    service.metrics.feedback.labels(request.verdict).inc()
    service.learn(1)
    return schemas.FeedbackResponse(event=event, state=await image_state(service, served, request.image, _TOP))


@operations.post("/api/feedback/batch")
async def add_batch(
    service: Service, feedback: Feedback, served: ServedModel, request: schemas.BatchRequest, by: User = _ANONYMOUS
) -> schemas.BatchResponse:
    """Accept or reject labels of many images together: all verdicts are stored or none."""
    verdicts = [NewVerdict(one.image, one.label, one.verdict, one.confidence) for one in request.events]
    result = await service.disk.run(
        feedback.add_batch, verdicts, by=by, source=request.source, model=served.fingerprint
    )
    for verdict in ("accept", "reject"):
        # Those that were in force already are counted too: which ones they are is known to the file only.
        service.metrics.feedback.labels(verdict).inc(sum(one.verdict == verdict for one in verdicts))
    service.learn(result.stored)
    return schemas.BatchResponse(batch=result.batch, stored=result.stored, skipped=result.skipped)


@operations.post("/api/feedback/undo")
async def undo(
    service: Service, feedback: Feedback, served: ServedModel, request: schemas.UndoRequest, by: User = _ANONYMOUS
) -> schemas.FeedbackResponse | schemas.BatchUndoResponse:
    """Undo an event or all events of a batch; the previous verdicts are in force again."""
    if request.batch is not None:
        undone_batch = await service.disk.run(feedback.undo_batch, request.batch, by=by, model=served.fingerprint)
        service.metrics.feedback.labels("undo").inc(undone_batch.undone)
        return schemas.BatchUndoResponse(batch=request.batch, undone=undone_batch.undone, skipped=undone_batch.skipped)
    event = await service.disk.run(feedback.undo, request.event or 0, by=by, model=served.fingerprint)
    service.metrics.feedback.labels("undo").inc()
    [undone] = await service.disk.run(feedback.events, event - 1, 1)
    return schemas.FeedbackResponse(event=event, state=await image_state(service, served, undone.image, _TOP))


@operations.get("/api/feedback", executor="disk")
def events(feedback: Feedback, after: Offset = 0, limit: Limit = 100) -> schemas.EventsResponse:
    """List events in order, starting after number `after`."""
    found = feedback.events(after, limit)
    return schemas.EventsResponse(
        events=[
            schemas.FeedbackEvent(*(getattr(one, name) for name in schemas.FeedbackEvent.__struct_fields__))
            for one in found
        ],
        next=found[-1].event if found else after,
    )


@operations.get("/api/feedback/pairs")
async def pairs(
    service: Service,
    feedback: Feedback,
    format: Literal["csv", "jsonl"] = "csv",  # noqa: A002  # the name of the query parameter
    defuse_formulas: bool = False,
) -> StreamingResponse:
    """Download the accepted pairs in force, as training data or for other programs.

    `defuse_formulas` puts an apostrophe before text in a CSV file that a spreadsheet would run as a formula.
    """
    rows = (tuple(getattr(event, name) for name in _COLUMNS) for event in feedback.pairs())
    lines = text_lines(format, _COLUMNS, rows, defuse_formulas=defuse_formulas)
    return service.disk.download(f"pairs.{format}", lines)
