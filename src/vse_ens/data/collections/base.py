"""The interface of collections: image files, annotation files and catalogs that people already have.

A collection is read in place as `Item`s. Collections that can be written compute `FileChange`s and write nothing
themselves: a dry run shows the changes, and `vse_ens.data.collections.journal` applies them with an undo journal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from vse_ens.data.collections.files import count_of
from vse_ens.errors import DataError

if TYPE_CHECKING:
    from vse_ens.data.io.source import Source


class Item(NamedTuple):
    """One image of a collection with its labels."""

    image: str
    """The stable id: for files the path relative to the root of the collection, with ``/`` between its parts."""
    labels: tuple[str, ...]
    """The labels in the order of the source; a hierarchy is written with ``|``, such as ``place|beach``."""
    picture: str | None = None
    """Where the picture is if it is not at ``root / image``: a path, absolute or relative to the root, or a URL."""


@dataclass(frozen=True)
class OpenOptions:
    """Options of formats; a format ignores those that mean nothing for it."""

    image_column: str | int | None = None
    """The column of image ids in a table."""
    label_columns: tuple[str | int, ...] = ()
    """The columns of labels in a table; empty for those that the format knows."""
    label_separator: str | None = None
    """The text between the labels of one field."""
    cache: bool = True
    """Whether formats that open every file of a folder keep their labels in the user's cache for the next read."""
    min_rating: float | None = None
    """The lowest rating that makes a pair; None for the choice of the format."""
    rows: str | None = None
    """A file that lists the rows to read, as ``FILE`` or ``FILE:COLUMN``; None for all."""


class Collection(Protocol):
    """A collection that can be read, more than once."""

    @property
    def format(self) -> str:
        """The name for ``--format``, such as ``coco``."""

    @property
    def path(self) -> Path:
        """The file or folder as the user named it."""

    @property
    def root(self) -> Path:
        """The folder that image ids are relative to."""

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the user: unreadable files, merged labels; complete after the last item."""

    def items(self, on_progress: Callable[[int, int | None], None] | None = None) -> Iterator[Item]:
        """Yield every image in a stable order; ``on_progress`` receives files done and files in all, if known."""


@runtime_checkable
class PairTable(Collection, Protocol):
    """A collection that is a table of pairs: it has no pictures, and its rows are read in batches."""

    def source(self) -> Source:
        """Return the rows."""


@dataclass(frozen=True)
class LabelEdit:
    """The labels to add to an image and to remove from it."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


@dataclass(frozen=True)
class FileChange:
    """The content of one file before and after a write; ``before`` is None if the file does not exist yet."""

    path: Path
    before: bytes | None
    after: bytes


@runtime_checkable
class WritableCollection(Collection, Protocol):
    """A collection that labels can be written to."""

    def changes(self, edits: Mapping[str, LabelEdit]) -> Iterator[FileChange]:
        """Yield the change of every file that the edits affect.

        A label that an image already has is not added again. A file whose content would stay the same is left out.
        An id that the collection does not have raises a `DataError`.
        """


def edited(labels: Sequence[str], edit: LabelEdit) -> list[str]:
    """Return the labels of an image after an edit, each once, in their order."""
    kept = [label for label in labels if label not in edit.remove or label in edit.add]
    return list(dict.fromkeys([*kept, *edit.add]))


Needed = Callable[[Item, LabelEdit], LabelEdit | None]
"""Returns what is left of an edit, given the labels that the image has; None for nothing."""


class Edits:
    """The edits of a write, to look up for each image that is read."""

    def __init__(self, path: Path, edits: Mapping[str, LabelEdit], needed: Needed | None = None) -> None:
        self._path = path
        self._left = dict(edits)
        self._needed = needed

    def __contains__(self, image: object) -> bool:
        return image in self._left

    def of(self, item: Item) -> LabelEdit | None:
        """Return the labels to add to an image, which it does not have, and those to remove; None if there are none.

        An image has one edit: if it occurs again, there is nothing left.
        """
        edit = self._left.pop(item.image, None)
        if edit is not None and self._needed is not None:
            edit = self._needed(item, edit)
        if edit is None:
            return None
        add = tuple(dict.fromkeys(label for label in edit.add if label not in item.labels))
        remove = tuple(label for label in edit.remove if label not in edit.add)
        return LabelEdit(add, remove) if add or remove else None

    def check_known(self) -> None:
        """Raise a `DataError` for the first image id that was not looked up, unless unknown ids are ignored."""
        if self._needed is None and self._left:
            image = next(iter(self._left))
            raise DataError(f"{self._path} has no image {image!r}; name images as vse info shows them")


class Editable(ABC):
    """A `WritableCollection` whose labels are read and changed in one pass."""

    path: Path

    @abstractmethod
    def write(self, edits: Edits) -> Iterator[FileChange]:
        """Yield the change of every file that the edits affect."""

    def changes(self, edits: Mapping[str, LabelEdit]) -> Iterator[FileChange]:
        """Yield the change of every file that the edits affect."""
        return self.write(Edits(self.path, edits))


class ImageList(ABC):
    """A collection that is read image by image, each image once; a format defines `entries`."""

    format: ClassVar[str]
    empty: ClassVar[str] = "has no image"
    """What is said of a collection without images."""
    repeated: ClassVar[tuple[str, str]] = ("row", "of an image that occurred before")
    """What is said of entries that are left out."""

    def __init__(self, path: Path, options: OpenOptions | None = None) -> None:
        self.path = path
        self.options = options or OpenOptions()
        self.notes: list[str] = []
        self.total: int | None = None
        """The number of entries, if it is known before they are read."""

    @cached_property
    def root(self) -> Path:
        """The folder that image ids are relative to."""
        return self.path if self.path.is_dir() else self.path.parent

    @abstractmethod
    def entries(self) -> Iterator[tuple[Item, Any]]:
        """Yield every image in a stable order, each with what the format needs to change its labels."""

    def items(self, on_progress: Callable[[int, int | None], None] | None = None) -> Iterator[Item]:
        """Yield every image in a stable order; ``on_progress`` receives images done and images in all, if known."""
        return (item for item, _ in self.distinct(on_progress))

    def distinct(self, on_progress: Callable[[int, int | None], None] | None = None) -> Iterator[tuple[Item, Any]]:
        """Yield the first entry of every image, and note how many others there are."""
        self.notes = []
        seen: set[str] = set()
        repeated = 0
        for entry in self.entries():
            image = entry[0].image
            if image in seen:
                repeated += 1
                continue
            seen.add(image)
            yield entry
            if on_progress is not None:
                on_progress(len(seen), self.total)
        if not seen:
            raise DataError(f"{self.path} {self.empty}")
        if repeated:
            noun, why = self.repeated
            self.notes.append(f"skipped {count_of(repeated, noun)} {why}")
