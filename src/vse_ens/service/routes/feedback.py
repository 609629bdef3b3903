"""Routes that keep and tell what people accept and reject."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import chain, islice
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from fastapi import APIRouter, Body, Header, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import BeforeValidator

from vse_ens.data.feedback.store import Event
from vse_ens.service.openapi import READING, WRITING, plain_text
from vse_ens.service.routes.catalog import image_state
from vse_ens.service.routes.strict_json import StrictRoute
from vse_ens.service.schemas import EventsAnswer, FeedbackAnswer, FeedbackEvent, FeedbackRequest, UndoRequest
from vse_ens.service.settings import LONGEST_USER
from vse_ens.service.state import Service

User = Annotated[
    str,
    BeforeValidator(lambda name: unquote(name).strip() or _NOBODY),
    Header(
        alias="X-VSE-User",
        max_length=LONGEST_USER,
        description="Who judges, kept with the event; characters beyond ASCII percent-encoded.",
    ),
]

_NOBODY = "anonymous"

_EXAMPLES: Any = {
    "a suggestion is right": {
        "value": {"image": "img_0000001", "label": "beach", "verdict": "accept", "confidence": 0.62}
    },
    "a label is wrong": {"value": {"image": "img_0000001", "label": "beach", "verdict": "reject", "source": "audit"}},
}
_MEDIA = {"csv": "text/csv", "jsonl": "application/jsonl"}
_STREAMED = plain_text(
    "A line a pair.",
    {
        "text/csv": "image,label,by,at,model\nimg_0000001,beach,anna,2026-01-31T12:00:00.000Z,0123456789ab\n",
        "application/jsonl": '{"image": "img_0000001", "label": "beach", "by": "anna", "at": "...", "model": "..."}\n',
    },
)
_COLUMNS: tuple[str, ...] = ("image", "label", "by", "at", "model")
_BLOCK = 1_000  # pairs a piece of an answer
_TOP = 12  # suggestions of the image afterwards


def judging_router(service: Service) -> APIRouter:
    """Durable when it is answered; nothing is ever deleted."""
    router = APIRouter(tags=["judging"], route_class=StrictRoute)
    holder, disk = service.holder, service.disk

    @router.post("/api/feedback", responses=WRITING)
    async def judge(
        said: Annotated[FeedbackRequest, Body(openapi_examples=_EXAMPLES)], by: User = _NOBODY
    ) -> FeedbackAnswer:
        """Accept or reject a label; a rejected one is never suggested again, and taken off an image that has it."""
        kept, served = service.kept_feedback(), await holder.current()
        event = await disk.run(
            kept.add,
            said.image,
            said.label,
            said.verdict,
            by=by,
            source=said.source,
            confidence=said.confidence,
            model=served.fingerprint,
        )
        service.metrics.feedback.labels(said.verdict).inc()
        return FeedbackAnswer(event=event, state=await image_state(service, served, said.image, _TOP))

    @router.post("/api/feedback/undo", responses=WRITING)
    async def undo(said: UndoRequest, by: User = _NOBODY) -> FeedbackAnswer:
        """Take an event back; what was in force before it is in force again."""
        kept, served = service.kept_feedback(), await holder.current()
        event = await disk.run(kept.undo, said.event, by=by, model=served.fingerprint)
        service.metrics.feedback.labels("undo").inc()
        [undone] = await disk.run(kept.events, event - 1, 1)
        return FeedbackAnswer(event=event, state=await image_state(service, served, undone.image, _TOP))

    @router.get("/api/feedback", responses=READING)
    async def events(
        after: Annotated[int, Query(ge=0, lt=2**63)] = 0, limit: Annotated[int, Query(ge=1, le=1_000)] = 100
    ) -> EventsAnswer:
        """Events in their order, from the one past `after`."""
        found = await disk.run(service.kept_feedback().events, after, limit)
        return EventsAnswer(
            events=[FeedbackEvent.model_validate(one._asdict()) for one in found],
            next=found[-1].event if found else after,
        )

    @router.get("/api/feedback/pairs", response_class=Response, responses=READING | _STREAMED)
    async def pairs(format: Literal["csv", "jsonl"] = "csv") -> StreamingResponse:  # noqa: A002  # the query's word
        """The accepted pairs in force, to train with or to take elsewhere."""
        lines = _csv if format == "csv" else _json_lines
        kept = lines(service.kept_feedback().pairs())

        async def pieces() -> AsyncIterator[str]:
            while piece := await disk.run(lambda: "".join(islice(kept, _BLOCK))):
                yield piece

        return StreamingResponse(
            pieces(),
            media_type=f"{_MEDIA[format]}; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="pairs.{format}"'},
        )

    return router


def _rows(events: Iterable[Event]) -> Iterator[tuple[str, ...]]:
    return ((one.image, one.label, one.by, one.at, one.model) for one in events)


def _csv(events: Iterable[Event]) -> Iterator[str]:
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    for row in chain([_COLUMNS], _rows(events)):
        line.seek(0)
        line.truncate()
        writer.writerow(row)
        yield line.getvalue()


def _json_lines(events: Iterable[Event]) -> Iterator[str]:
    for row in _rows(events):
        yield json.dumps(dict(zip(_COLUMNS, row, strict=True)), ensure_ascii=False) + "\n"
