"""Where the pictures of a collection are, so that a page can show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Pictures:
    """The picture of an image is at ``root / image id``, unless ``locations`` says otherwise."""

    root: str
    """The folder of the collection, as an absolute path."""
    format: str
    """The format of the collection, a name for ``--format``."""
    locations: Mapping[str, str] = field(default_factory=dict)
    """Paths, absolute or relative to the root, or URLs, by image id; empty for a plain folder of images."""

    def location(self, image: str) -> str:
        """Return the path, relative to the root if it is not absolute, or the URL of the picture of an image."""
        return self.locations.get(image, image)
