"""Where the pictures of a collection are, so that a page can show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError

PICTURE_ARRAYS = _TEXT, _OFFSETS = "picture_locations", "picture_offsets"
"""The arrays of a model directory that hold the locations."""


DRAWN = "drawn"
"""The format of pictures that are drawn from labels; the root then says how the labels were generated, if known."""


@dataclass(frozen=True)
class Pictures:
    """The picture of an image is at ``root / image id``, unless ``locations`` says otherwise."""

    root: str
    """The folder of the collection, as an absolute path."""
    format: str
    """The format of the collection, a name for ``--format``."""
    locations: Mapping[str, str] = field(default_factory=dict)
    """Paths, absolute or relative to the root, or URLs, by image id; empty for a plain folder of images."""
    source: str = ""
    """The absolute path of the collection itself, such as a COCO file; empty if it is the root, or unknown."""

    def location(self, image: str) -> str:
        """Return the path, relative to the root if it is not absolute, or the URL of the picture of an image."""
        return self.locations.get(image, image)

    def arrays(self, images: Vocabulary) -> dict[str, NDArray[Any]]:
        """Return the locations as arrays to save, in the order of ``images``; none if there are no locations."""
        if not self.locations:
            return {}
        encoded = [self.locations.get(image, "").encode("utf-8", "replace") for image in images]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(one) for one in encoded], out=offsets[1:])
        return {_TEXT: np.frombuffer(b"".join(encoded), np.uint8), _OFFSETS: offsets}

    @classmethod
    def stored(cls, settings: Mapping[str, Any], images: Vocabulary, arrays: Mapping[str, NDArray[Any]]) -> Pictures:
        """Return the pictures of a saved model."""
        root, kind = (settings.get(name) if isinstance(settings, Mapping) else None for name in ("root", "format"))
        if not isinstance(root, str) or not isinstance(kind, str):
            raise DataError("the settings of pictures have no root or format")
        source = settings.get("source", "")
        if not isinstance(source, str):
            raise DataError("the source of pictures in the settings is not text")
        if not arrays:
            return cls(root, kind, source=source)
        text, offsets = (arrays.get(name, np.empty(0)) for name in PICTURE_ARRAYS)
        if (text.dtype.name, text.ndim, offsets.dtype.name, offsets.ndim) != ("uint8", 1, "int64", 1):
            raise DataError(f"the arrays {_TEXT} and {_OFFSETS} must be one-dimensional, of type uint8 and int64")
        if len(offsets) != len(images) + 1 or np.any(np.diff(offsets) < 0) or offsets[0] or offsets[-1] != len(text):
            raise DataError(f"{_OFFSETS} does not describe the locations of {len(images)} images")
        return cls(root, kind, _StoredLocations(images, text, offsets), source)


class _StoredLocations(Mapping[str, str]):
    """Locations in the arrays of a model, read on demand."""

    def __init__(self, images: Vocabulary, text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self._images = images
        self._text = text
        self._offsets = offsets

    def __getitem__(self, image: str) -> str:
        number = self._images.number(image, missing=None)
        if number is None or self._offsets[number] == self._offsets[number + 1]:
            raise KeyError(image)
        return bytes(self._text[self._offsets[number] : self._offsets[number + 1]]).decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        for number in np.flatnonzero(np.diff(self._offsets)):
            yield self._images.id(int(number))

    def __len__(self) -> int:
        return int(np.count_nonzero(np.diff(self._offsets)))
