"""A collection as a source of pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from vse_ens.data.arrow import lists_to_arrow, strings_to_arrow
from vse_ens.data.collections.base import Collection
from vse_ens.data.collections.pictures import Pictures
from vse_ens.data.io.source import Batch

_BATCH_IMAGES = 1 << 13


class CollectionSource:
    """The images of a collection with their lists of labels."""

    unit = "image"
    expected_rows = 1024

    def __init__(self, collection: Collection, on_progress: Callable[[int, int | None], None] | None = None) -> None:
        self.name = str(collection.path)
        self._collection = collection
        self._on_progress = on_progress
        self._locations: dict[str, str] = {}

    @property
    def notes(self) -> Sequence[str]:
        """The format, and the notes of the collection."""
        return [f"read {self.name} as {self._collection.format}", *self._collection.notes]

    def batches(self) -> Iterator[Batch]:
        """Yield all images in order."""
        items = self._collection.items(self._on_progress)
        while batch := list(islice(items, _BATCH_IMAGES)):
            self._locations.update({item.image: item.picture for item in batch if item.picture is not None})
            yield Batch(
                strings_to_arrow([item.image for item in batch]), lists_to_arrow([list(item.labels) for item in batch])
            )

    def line_numbers(self, rows: Sequence[int]) -> list[int]:
        """Return the position of each image, counted from 1."""
        return [row + 1 for row in rows]

    def pictures(self) -> Pictures:
        """Return where the pictures are; complete after the last batch."""
        root, source = (str(path.absolute()) for path in (self._collection.root, self._collection.path))
        return Pictures(root, self._collection.format, self._locations, source if source != root else "")
