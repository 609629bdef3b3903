"""The changed files of the collection that a model was trained from, as a ZIP archive."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

from vse_ens.data.annotations import Annotations
from vse_ens.data.cleaning import Cleaned
from vse_ens.data.collections.base import FileChange
from vse_ens.data.collections.detect import open_collection
from vse_ens.data.collections.write import difference_edits, writable, write_labels
from vse_ens.errors import DataError
from vse_ens.service.errors import ApiError


def source_archive(known: Annotations, cleaned: Callable[[], Cleaned]) -> bytes:
    """Return the files that the cleaned labels change, at their paths inside the collection; nothing is written."""
    source = known.pictures
    if source is None or not Path(source.root).exists():
        raise ApiError(422, "the model was not trained from a collection on this machine; use format=csv")
    try:
        collection = writable(open_collection(Path(source.root), source.format))
    except DataError as error:
        raise ApiError(422, f"{error}; use format=csv") from error
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(change: FileChange) -> None:
            path = change.path.resolve()
            root = Path(source.root).resolve()
            archive.writestr(str(path.relative_to(root) if path.is_relative_to(root) else path.name), change.after)

        edits = difference_edits(known, cleaned().data)
        write_labels(collection, edits, Path(source.root) / "unused", dry_run=add)
    return content.getvalue()
