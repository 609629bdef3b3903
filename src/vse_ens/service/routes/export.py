"""The cleaned data set: the pairs of the model with feedback and rules applied."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal

from starlette.responses import StreamingResponse

from vse_ens.service.errors import ApiError
from vse_ens.service.openapi import plain_text
from vse_ens.service.operations import Operations
from vse_ens.service.source_archive import reason_against, source_archive
from vse_ens.service.state import Service

_MEDIA = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8", "source": "application/zip"}
_NAMES = {"csv": "clean.csv", "jsonl": "clean.jsonl", "source": "clean.zip"}
_STREAMED = plain_text(
    "One line per pair; or, for `source`, a ZIP archive of the changed files.",
    {
        "text/csv": "image,label,source\nimg_0000001,beach,data\nimg_0000001,sea,rule\n",
        "application/jsonl": '{"image": "img_0000001", "label": "beach", "source": "data"}\n',
    },
)


def export_operations(service: Service) -> Operations:
    """Return the route of the cleaned data set."""
    api = Operations("rules")
    compute = service.compute

    @api.get("/api/export", responses=_STREAMED)
    async def export(
        format: Literal["csv", "jsonl", "source"] = "csv",  # noqa: A002  # the name of the query parameter
        defuse_formulas: bool = False,
    ) -> StreamingResponse:
        """Download the cleaned data set: pairs plus accepted minus rejected, rules applied.

        The column `source` says where a pair comes from: data, feedback or rule. With `format=source`, the answer is
        the changed files of the collection that the model was trained from. `defuse_formulas` puts an apostrophe before
        text in a CSV file that a spreadsheet would run as a formula.
        """
        served = await service.models.current()
        if format == "source":
            if reason := reason_against(served.annotator.known_, service.settings):
                raise ApiError(422, f"{reason}; use format=csv")
            archive = await compute.run(source_archive, served.annotator.known_, served.labels.cleaned)
            return _download(_one(archive), format)
        cleaned = await compute.run(served.labels.cleaned)
        blocks = cleaned.csv_lines(defuse_formulas=defuse_formulas) if format == "csv" else cleaned.json_lines()

        async def chunks() -> AsyncIterator[bytes]:
            while chunk := await compute.run(lambda: next(blocks, "")):
                yield chunk.encode()

        return _download(chunks(), format)

    return api


async def _one(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _download(content: AsyncIterator[bytes], format: str) -> StreamingResponse:  # noqa: A002
    headers = {"Content-Disposition": f'attachment; filename="{_NAMES[format]}"'}
    return StreamingResponse(content, media_type=_MEDIA[format], headers=headers)
