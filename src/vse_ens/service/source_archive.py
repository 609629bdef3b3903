"""The changed files of the collection that a model was trained from, as a ZIP archive."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

from vse_ens.data.annotations import Annotations
from vse_ens.data.cleaning import Cleaned
from vse_ens.data.collections.base import FileChange, WritableCollection
from vse_ens.data.collections.detect import open_collection
from vse_ens.data.collections.pictures import DRAWN, Pictures
from vse_ens.data.collections.write import difference_edits, write_labels
from vse_ens.errors import DataError, VseError
from vse_ens.service.errors import ApiError
from vse_ens.service.settings import Settings


def reason_against(known: Annotations, settings: Settings) -> str | None:
    """Return why the collection is not opened although it may be there.

    A model comes from anywhere and may name any path of this machine. Other machines get only what ``--images`` names.
    """
    pictures = known.pictures
    if pictures is None or pictures.format == DRAWN or settings.is_loopback:
        return None
    if settings.images is not None:
        named = Path(settings.images).expanduser().resolve()
        if _path(pictures).resolve().is_relative_to(named):
            return None
    return "other machines can reach this service, and --images does not name the collection"


def source_state(known: Annotations) -> tuple[str | None, str | None]:
    """Return the format in which `source_archive` answers, and if there is none, why; both None for a file of pairs."""
    if known.pictures is None or known.pictures.format == DRAWN:
        return None, None
    try:
        return _collection(known).format, None
    except VseError as error:
        return None, str(error)


def source_archive(known: Annotations, cleaned: Callable[[], Cleaned]) -> bytes:
    """Return the files that the cleaned labels change, at their paths inside the collection; nothing is written."""
    try:
        collection = _collection(known)
    except VseError as error:  # a model may name any format
        raise ApiError(422, f"{error}; use format=csv") from error
    root = collection.path.resolve()
    folder = root if root.is_dir() else root.parent
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(change: FileChange) -> None:
            path = change.path.resolve()
            archive.writestr(str(path.relative_to(folder) if path.is_relative_to(folder) else path.name), change.after)

        edits = difference_edits(known, cleaned().data)
        report = write_labels(collection, edits, folder / "unused", dry_run=add)
    if not report.written.files:
        raise ApiError(422, "no file of the collection changes")
    return content.getvalue()


def _path(pictures: Pictures) -> Path:
    return Path(pictures.source or pictures.root)


def _collection(known: Annotations) -> WritableCollection:
    pictures = known.pictures
    if pictures is None or pictures.format == DRAWN:
        raise DataError("the model was not trained from a collection")
    path = _path(pictures)
    if not path.exists():
        raise DataError(f"the collection {path} is not on this machine")
    collection = open_collection(path, pictures.format)
    if not isinstance(collection, WritableCollection):
        raise DataError(f"{path} is {pictures.format}, which is only read")
    return collection
