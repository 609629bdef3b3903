"""Sources of pictures: files of a folder or collection, and drawings made from labels."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from vse_ens.annotator import Annotator
from vse_ens.data.collections.pictures import DRAWN, Pictures
from vse_ens.data.io.read import read
from vse_ens.errors import ConfigError
from vse_ens.service.errors import ApiError
from vse_ens.service.pictures.folder import PictureFolder
from vse_ens.service.pictures.thumbnail import encode, make_thumbnail
from vse_ens.service.settings import origin_of

_URL = re.compile(r"https?://", re.IGNORECASE)
_MAX_ORIGINS = 10
_SAMPLE = 10_000  # locations that are read for their origins
_TRIED = 20  # images whose files are looked for at the start


class PictureSource:
    """Pictures by image id."""

    description: str
    """Where the pictures come from, after "pictures:"."""
    origins: frozenset[str] = frozenset()
    """Schemes and hosts of pictures on other servers."""

    def url(self, image: str) -> str | None:  # noqa: ARG002  # this service makes every picture
        """Return the address of a picture on another server; None if this service has to make it."""
        return None

    def state(self, image: str) -> str:
        """Return a text that changes whenever the picture does; raise an `ApiError` if there is none."""
        raise NotImplementedError

    def render(self, image: str, size: int) -> bytes:
        """Return the encoded picture within a square of ``size`` pixels."""
        raise NotImplementedError


class FilePictures(PictureSource):
    """Pictures in a folder, or at the locations that a collection gave."""

    def __init__(self, pictures: Pictures, root: str | None = None) -> None:
        self._pictures = pictures
        self._folder = PictureFolder(root or pictures.root, pictures.root)
        self.description = root or pictures.root
        found = (origin_of(location) for location in islice(pictures.locations.values(), _SAMPLE))
        self.origins = frozenset(islice(dict.fromkeys(filter(None, found)), _MAX_ORIGINS))
        if self.origins:
            self.description += f" and {', '.join(sorted(self.origins))}"

    def url(self, image: str) -> str | None:
        """Return the location if it is a URL."""
        location = self._pictures.location(image)
        return location if _URL.match(location) and origin_of(location) in self.origins else None

    def state(self, image: str) -> str:
        """Return the location with the time and size of the file."""
        location = self._location(image)
        with self._folder.open(location) as file:
            status = os.fstat(file.fileno())
        return f"{self.description}\0{location}\0{status.st_mtime_ns}\0{status.st_size}"

    def render(self, image: str, size: int) -> bytes:
        """Return a thumbnail of the file."""
        with self._folder.open(self._location(image)) as file:
            return make_thumbnail(file, size)

    def any_exists(self, images: Sequence[str]) -> bool:
        """Whether one of the first few images has a picture."""
        for image in images[:_TRIED]:
            try:
                if self.url(image) or self.state(image):
                    return True
            except ApiError:
                continue
        return not images

    def _location(self, image: str) -> str:
        location = self._pictures.location(image)
        if _URL.match(location):
            raise ApiError(404, "the picture is on another server; its address is the url of the image")
        return location


class DrawnPictures(PictureSource):
    """Simple drawings of what the labels of an image name."""

    description = "drawn from the labels"

    def __init__(self, labels_of: Callable[[str], Sequence[str]]) -> None:
        self._labels_of = labels_of

    def state(self, image: str) -> str:
        """Return the labels."""
        from vse_ens.service.pictures.drawings import DRAWING_VERSION

        return "\0".join(("drawn", str(DRAWING_VERSION), image, *self._labels_of(image)))

    def render(self, image: str, size: int) -> bytes:
        """Return a drawing."""
        from vse_ens.service.pictures.drawings import draw_labels

        return encode(draw_labels(image, self._labels_of(image), size))


def read_source(images: str) -> Pictures:
    """Return the pictures that ``--images`` names; a collection gives their locations."""
    if images == DRAWN:
        return Pictures("", DRAWN)
    if "://" in images:
        raise ConfigError(f'--images {images} is an address; use --image-url "{images.rstrip("/")}/{{image}}"')
    path = Path(images).expanduser()
    if path.is_dir():
        return Pictures(str(path.absolute()), "folder")
    if not path.exists():
        raise ConfigError(f"--images {images} does not exist; give the folder of the pictures")
    found = read(path).pictures
    if found is None:
        raise ConfigError(f"--images {images} does not say where pictures are; give their folder")
    return found


def source_for(annotator: Annotator, given: Pictures | None) -> PictureSource | None:
    """Return the source for a model: ``given`` by ``--images``, or else the one that it was trained from."""
    own = annotator.known_.pictures
    chosen = given or own
    if chosen is None:
        return None
    if chosen.format == DRAWN:
        from vse_ens.data.datasets.scenes.drawing import labels_by_source

        return DrawnPictures(labels_by_source(chosen.root, annotator.known_labels))
    if given is not None and given.format == "folder" and own is not None and own.format != DRAWN:
        # The folder may have another name than on the machine of the training.
        return FilePictures(own, given.root)
    return FilePictures(chosen)
