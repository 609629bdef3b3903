"""The pictures of a running service: addresses for the page, and thumbnails."""

from __future__ import annotations

import hashlib
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeVar
from urllib.parse import quote

from vse_ens.data.collections.pictures import DRAWN
from vse_ens.errors import MissingPartError
from vse_ens.service.errors import ApiError
from vse_ens.service.jobs import BoundedExecutor
from vse_ens.service.models import ServedModel
from vse_ens.service.pictures.cache import ThumbnailCache, default_cache_folder
from vse_ens.service.pictures.sources import FilePictures, PictureSource, read_source, source_for
from vse_ens.service.pictures.thumbnail import check_pillow, media_type
from vse_ens.service.settings import Settings, origin_of

PictureSize = Literal[160, 320, 640, 1280]
"""The sizes of thumbnails: the longer side in pixels."""
PICTURE_TEMPLATE = "/api/picture?image={image}&size=320"
"""The address of pictures, with a placeholder for the image ID."""

_VERSION = 1  # of the thumbnails in the cache: raise it when they are made differently
_THREADS, _WAITING = 2, 64


class Thumbnail(NamedTuple):
    """An encoded picture."""

    etag: str
    content: bytes
    media_type: str


class _Image(Protocol):
    image: str
    url: str | None


HasPicture = TypeVar("HasPicture", bound=_Image)


class PictureService:
    """Makes thumbnails on threads of its own, so that a slow picture delays only other pictures."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._given = read_source(settings.images) if settings.images is not None else None
        if self._given is not None:
            check_pillow()
        self._cache = ThumbnailCache(default_cache_folder(), settings.picture_cache_bytes)
        # Cached pictures do not wait for pictures that have to be made.
        self._files = BoundedExecutor("picture files", _THREADS, _WAITING, settings.limits.answer_seconds)
        self._makers = BoundedExecutor("thumbnails", _THREADS, _WAITING, settings.limits.answer_seconds)
        self._chosen: tuple[ServedModel, PictureSource | None] | None = None

    def close(self) -> None:
        """Wait for pictures that are being made."""
        self._files.close()
        self._makers.close()

    @property
    def origins(self) -> frozenset[str]:
        """Schemes and hosts from which the page may load pictures, besides its own."""
        given = origin_of(self._settings.image_url or "")
        source = self._chosen[1] if self._chosen is not None else None
        return frozenset([given] if given else ()) | (source.origins if source is not None else frozenset())

    def source(self, served: ServedModel) -> PictureSource | None:
        """Return the source of a model's pictures, or None if there are none."""
        if self._chosen is None or self._chosen[0] is not served:
            self._chosen = (served, self._choose(served))
        return self._chosen[1]

    def template(self, served: ServedModel) -> str | None:
        """Return the address of pictures, with ``{image}`` as a placeholder."""
        return self._settings.image_url or (PICTURE_TEMPLATE if self.source(served) is not None else None)

    def url(self, served: ServedModel, image: str) -> str | None:
        """Return the address of an image's picture; None if there is none."""
        if self._settings.image_url is not None:
            return self._settings.image_url.replace("{image}", quote(image, safe="/"))
        source = self.source(served)
        if source is None or image not in served.annotator.known_.images:
            return None
        return source.url(image) or PICTURE_TEMPLATE.replace("{image}", quote(image, safe=""))

    def with_urls(self, served: ServedModel, found: list[HasPicture]) -> list[HasPicture]:
        """Set the addresses of the pictures of images in a response, and return the images."""
        for one in found:
            one.url = self.url(served, one.image)
        return found

    async def thumbnail(self, served: ServedModel, image: str, size: int, etag: str = "") -> Thumbnail:
        """Return the picture of an image, from the cache if possible; its content is empty if it has the ``etag``."""
        source = self.source(served)
        if source is None:
            raise ApiError(404, "this service has no pictures; start it with --images FOLDER")
        found = await self._files.run(self._find, source, image, size, etag)
        if found.content or found.etag == etag:
            return found
        return await self._makers.run(self._make, source, image, size, found)

    def note(self, served: ServedModel) -> str:
        """Return a sentence that says which pictures are shown; empty if nothing need be said."""
        settings, source = self._settings, self.source(served)
        own = served.annotator.known_.pictures
        if source is None:
            if settings.own_images and settings.image_url is None and own is not None:
                return f"no pictures: {self._reason_against_own(served)}"
            return ""
        why = "" if settings.images is not None else " (where the model was trained; --no-images hides them)"
        if isinstance(source, FilePictures):
            images = served.annotator.known_.images
            first = list(islice(images, 100))
            if not source.any_exists(first):
                return f"no picture of the first images is in {source.description}; give their folder with --images"
        elif settings.images is None:
            why = " (--no-images hides them)"
        return f"pictures: {source.description}{why}"

    def _choose(self, served: ServedModel) -> PictureSource | None:
        settings = self._settings
        if self._given is None and (
            not settings.own_images or settings.image_url is not None or self._reason_against_own(served)
        ):
            return None
        return source_for(served.annotator, self._given)

    def _reason_against_own(self, served: ServedModel) -> str:
        """Return why the pictures of the training source are not shown; empty if they are."""
        own = served.annotator.known_.pictures
        if own is None:
            return "the model does not know where they are"
        try:
            check_pillow()
        except MissingPartError as error:
            return str(error)
        if own.format == DRAWN:
            return ""
        if not self._settings.is_loopback:
            return "other machines can reach this service; allow them with --images FOLDER"
        root = Path(own.root)
        if root == root.parent:
            return f"they lie anywhere below {own.root}; give their folder with --images"
        return "" if root.is_dir() else f"{own.root} does not exist here; give their folder with --images"

    def _find(self, source: PictureSource, image: str, size: int, etag: str) -> Thumbnail:
        kind = media_type()
        text = f"{_VERSION}\0{size}\0{kind}\0{source.state(image)}"
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
        content = None if key == etag else self._cache.read(key)
        return Thumbnail(key, content or b"", kind)

    def _make(self, source: PictureSource, image: str, size: int, found: Thumbnail) -> Thumbnail:
        made = found._replace(content=source.render(image, size))
        self._cache.write(made.etag, made.content)
        return made
