"""Pictures of images, as thumbnails."""

from __future__ import annotations

from typing import Annotated, Any

from starlette.responses import Response

from vse_ens.service.operations import Header, Operations
from vse_ens.service.pictures import PictureSize
from vse_ens.service.schemas import ImageId, doc
from vse_ens.service.state import Service

# Pictures seldom change; afterwards the browser asks with the ETag.
_CACHE_CONTROL = "private, max-age=3600"


_PICTURE = {"schema": {"type": "string", "format": "binary"}}
_RESPONSES: dict[int, dict[str, Any]] = {
    200: {
        "description": "The picture, upright and without metadata.",
        "content": {"image/webp": _PICTURE, "image/jpeg": _PICTURE},
    },
    304: {"description": "The picture is the one of `If-None-Match`."},
    404: {"description": "The image or its picture is unknown."},
    415: {"description": "The file is not an image, or it is damaged or too large."},
}


def pictures_operations(service: Service) -> Operations:
    """Return the route of pictures."""
    api = Operations("catalog")

    @api.get("/api/picture", errors=(401, 403, 404, 415, 422, 503), responses=_RESPONSES)
    async def picture(
        image: ImageId,
        size: Annotated[PictureSize, doc("Longer side in pixels.")] = 320,
        if_none_match: Annotated[str, Header("If-None-Match")] = "",
    ) -> Response:
        """Return a thumbnail of the picture of an image, if the service was started with pictures."""
        served = await service.models.current()
        await service.check_known(served.annotator.known_.images, [image])
        found = await service.pictures.thumbnail(served, image, size, if_none_match.removeprefix("W/").strip('"'))
        headers = {"ETag": f'"{found.etag}"', "Cache-Control": _CACHE_CONTROL}
        if not found.content:
            return Response(status_code=304, headers=headers)
        return Response(found.content, headers=headers, media_type=found.media_type)

    return api
