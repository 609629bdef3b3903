"""Pictures of images, as thumbnails."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from pydantic import AfterValidator

from vse_ens.service.openapi import errors
from vse_ens.service.pictures import PICTURE_SIZES
from vse_ens.service.schemas import Id
from vse_ens.service.state import Service

# Pictures seldom change; afterwards the browser asks with the ETag.
_CACHE_CONTROL = "private, max-age=3600"


def _known_size(size: int) -> int:
    if size not in PICTURE_SIZES:
        raise ValueError(f"the size must be one of {', '.join(map(str, PICTURE_SIZES))}, got {size}")
    return size


Size = Annotated[
    int,
    Query(description="Longer side in pixels.", json_schema_extra={"enum": list(PICTURE_SIZES)}),
    AfterValidator(_known_size),
]
_PICTURE = {"schema": {"type": "string", "format": "binary"}}
_RESPONSES: dict[int | str, dict[str, Any]] = errors(401, 403, 404, 415, 422, 503) | {
    200: {
        "description": "The picture, upright and without metadata.",
        "content": {"image/webp": _PICTURE, "image/jpeg": _PICTURE},
    },
    304: {"description": "The picture is the one of `If-None-Match`."},
}
_RESPONSES[404]["description"] = "The image or its picture is unknown."
_RESPONSES[415]["description"] = "The file is not an image, or it is damaged or too large."


def pictures_router(service: Service) -> APIRouter:
    """Return the route of pictures."""
    router = APIRouter(tags=["catalog"])

    @router.get("/api/picture", response_class=Response, responses=_RESPONSES)
    async def picture(
        image: Annotated[Id, Query(examples=["img_0000001"])],
        size: Size = 320,
        if_none_match: Annotated[str, Header(include_in_schema=False)] = "",
    ) -> Response:
        """Return a thumbnail of the picture of an image, if the service was started with pictures."""
        served = await service.models.current()
        await service.check_known(served.annotator.known_.images, [image])
        found = await service.pictures.thumbnail(served, image, size, if_none_match.removeprefix("W/").strip('"'))
        headers = {"ETag": f'"{found.etag}"', "Cache-Control": _CACHE_CONTROL}
        if not found.content:
            return Response(status_code=304, headers=headers)
        return Response(found.content, headers=headers, media_type=found.media_type)

    return router
