"""Checks that all writers of labels share."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from vse_ens.data.collections.base import LabelEdit
from vse_ens.errors import DataError


def check_known(path: Path, edits: Mapping[str, LabelEdit], images: Container[str]) -> None:
    """Raise a `DataError` for the first image id that a collection does not have."""
    for image in edits:
        if image not in images:
            raise DataError(f"{path} has no image {image!r}; name images as vse info shows them")


def edited(labels: Sequence[str], edit: LabelEdit) -> list[str]:
    """Return the labels of an image after an edit, each once, in their order."""
    kept = [label for label in labels if label not in edit.remove or label in edit.add]
    return list(dict.fromkeys([*kept, *edit.add]))
