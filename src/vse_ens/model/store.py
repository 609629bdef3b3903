"""The model directory: what is in it, how it is saved and loaded. The format is told in docs/model-format.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError
from vse_ens.model.draft import writing
from vse_ens.model.id_file import read_ids, write_ids
from vse_ens.model.kind import ARRAYS, Kind
from vse_ens.model.sealed import Sealed, reading
from vse_ens.model.tensors import write_tensors

PAIRS = "pairs.safetensors"
CARD = "README.md"
IMAGES = "images.arrow"
LABELS = "labels.arrow"

MODEL = Kind(
    noun="model",
    version=1,
    document="model.json",
    parts=frozenset({ARRAYS, PAIRS, IMAGES, LABELS, CARD}),
    remedy="copy the model afresh or train it again",
)


@dataclass(frozen=True)
class StoredModel:
    """All there is to a trained model."""

    settings: dict[str, Any]
    """Configuration, seed, metrics and the like: plain JSON."""
    arrays: Mapping[str, NDArray[Any]]
    """The numbers that were learnt, by name."""
    known: Annotations
    """The vocabularies and the pairs it was trained on; features and notes are not stored."""
    card: str
    """The model card: Markdown for a person to read."""


def save_model(path: str | Path, stored: StoredModel) -> None:
    """Write a model directory, whole or not at all; equal models give equal bytes."""
    known = stored.known
    counts = {"images": len(known.images), "labels": len(known.labels), "pairs": known.pairs}
    with writing(Path(path), MODEL) as draft:
        draft.document({"settings": stored.settings, "counts": counts}, stored.arrays)
        draft.arrays(stored.arrays, finite=True)
        with draft.file(PAIRS) as file:
            write_tensors(file, {"indptr": known.indptr, "indices": known.indices}, finite=False)
        with draft.file(IMAGES) as file:
            write_ids(file, known.images)
        with draft.file(LABELS) as file:
            write_ids(file, known.labels)
        with draft.file(CARD) as file:
            file.write(stored.card.encode())


def check_place(path: str | Path) -> None:
    """Raise where `save_model` would refuse to replace what is there: to be asked before the work, not after it."""
    if Path(path).exists():
        MODEL.check_replaceable(Path(path))


def load_model(path: str | Path, *, verify: bool = True) -> StoredModel:
    """Load a model directory as a read-only memory map.

    Names, sizes, headers, the settings and the card are always checked. With ``verify`` all contents are: that reads
    every byte once. Without it hardly any is read, whatever the size, and a damaged number or id would go unseen.
    """
    return reading(Path(path), MODEL, lambda sealed: _read(sealed, verify))


def _read(sealed: Sealed, verify: bool) -> StoredModel:
    document = sealed.document("settings", "counts")
    return StoredModel(
        settings=document["settings"],
        arrays=sealed.arrays(ARRAYS, document["arrays"], verify=verify, finite=True),
        known=_read_known(sealed, document["counts"], verify),
        card=sealed.text(CARD),
    )


def _read_known(sealed: Sealed, counts: dict[str, Any], verify: bool) -> Annotations:
    images = _read_ids(sealed, IMAGES, "image", counts.get("images"), verify)
    labels = _read_ids(sealed, LABELS, "label", counts.get("labels"), verify)
    expected = {
        "indptr": {"dtype": "int64", "shape": [len(images) + 1]},
        "indices": {"dtype": "int32", "shape": [counts.get("pairs")]},
    }
    pairs = sealed.arrays(PAIRS, expected, verify=verify, finite=False)
    make = Annotations if verify else Annotations.trusted
    try:
        return make(images, labels, pairs["indptr"], pairs["indices"])
    except DataError as error:
        raise sealed.damaged(PAIRS, str(error)) from error


def _read_ids(sealed: Sealed, name: str, kind: str, count: Any, verify: bool) -> Vocabulary:
    if verify:
        sealed.verify(name)
    try:
        ids = read_ids(sealed.map(name), kind, verify=verify)
    except ValueError as error:
        raise sealed.damaged(name, str(error)) from error
    if len(ids) != count:
        raise sealed.damaged(name, f"it holds {len(ids):,} ids and should hold {count}")
    return ids
