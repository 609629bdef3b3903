"""The parts that the readers of catalogues share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from vse_ens.data.collections.base import Item
from vse_ens.data.collections.files import as_label, count_of
from vse_ens.errors import DataError

_MAX_DEPTH = 100


class CatalogueCollection(ABC):
    """A catalogue in a database; its pictures are at absolute paths."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: Sequence[str] = ()

    @property
    @abstractmethod
    def format(self) -> str:
        """The name of the format."""

    @abstractmethod
    def find_root(self) -> str:
        """Return the folder that ids are relative to; empty if ids are whole paths."""

    @abstractmethod
    def read(self, root: str) -> Iterator[Item]:
        """Yield images with some of their labels; the rows of an image follow each other."""

    @cached_property
    def root(self) -> Path:
        """The folder that ids are relative to."""
        return Path(self._root or "/")

    @cached_property
    def _root(self) -> str:
        return self.find_root()

    def items(self, on_progress: Callable[[int, int | None], None] | None = None) -> Iterator[Item]:
        """Yield every image with all its labels."""
        done, seen = 0, set()
        before = _changed(self.path)
        repeated = 0
        for item in _merged(self.read(self._root)):
            if item.image in seen:
                repeated += 1
                continue
            seen.add(item.image)
            done += 1
            yield item
            if on_progress is not None:
                on_progress(done, None)
        if not done:
            raise DataError(f"{self.path} has no image")
        notes = [f"image ids are paths below {self._root}"] if self._root else []
        if repeated:
            notes.append(f"skipped {count_of(repeated, 'row')} of an image that occurred before")
        if _changed(self.path) != before:
            notes.append(f"{self.path} changed while it was read; read it again for the newest labels")
        self.notes = notes


def located(root: str, path: str, label: str | None) -> Item:
    """Return an image at a path, with an id relative to the root; without a root the path is the id."""
    path = path.replace("\\", "/")
    labels = () if label is None else (label,)
    if not root:
        return Item(path, labels, path)
    return Item(path.removeprefix(root).lstrip("/"), labels)


def tag_paths(rows: Iterable[tuple[Any, ...]], skip: Callable[[str], bool] | None = None) -> dict[Any, str]:
    """Return each tag's path such as ``place|beach`` from rows of (id, id of the parent, name).

    A tag without a name is left out of paths, and so is a parent that does not exist. ``skip`` leaves out a tag and all
    below it.
    """
    known = {number: (parent, as_label(name)) for number, parent, name in rows}
    paths = {}
    for number in known:
        parts: list[str] = []
        at: Any = number
        for _ in range(_MAX_DEPTH):  # parents of a damaged catalogue may form a circle
            if at not in known:
                break
            at, name = known[at]
            if name is not None:
                parts.append(name)
        path = "|".join(reversed(parts))
        if path and not (skip is not None and skip(path)):
            paths[number] = path
    return paths


def _merged(items: Iterator[Item]) -> Iterator[Item]:
    """Merge items of the same image that follow each other."""
    image, picture = None, None
    labels: dict[str, None] = {}
    for item in items:
        if item.image != image:
            if image is not None:
                yield Item(image, tuple(labels), picture)
            image, picture, labels = item.image, item.picture, {}
        labels |= dict.fromkeys(item.labels)
    if image is not None:
        yield Item(image, tuple(labels), picture)


def _changed(path: Path) -> Mapping[str, int]:
    try:
        status = path.stat()
    except OSError:
        return {}
    return {"size": status.st_size, "time": status.st_mtime_ns}
