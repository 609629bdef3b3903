"""The model directory: its files, and how they are saved and loaded; docs/model-format.md describes the format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.collections.pictures import Pictures
from vse_ens.data.summary import Summary
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError
from vse_ens.storage.artifact import ARRAYS, ArtifactSpec
from vse_ens.storage.reader import ArtifactReader, read_artifact
from vse_ens.storage.tensors import write_tensors
from vse_ens.storage.writer import write_artifact

PAIRS = "pairs.safetensors"
CARD = "README.md"
IMAGES = "images.arrow"
LABELS = "labels.arrow"

MODEL = ArtifactSpec(
    noun="model",
    version=2,
    document="model.json",
    parts=frozenset({ARRAYS, PAIRS, IMAGES, LABELS, CARD}),
    remedy="copy the model again or retrain it",
)

_SCHEMA = pa.schema([("id", pa.large_string())])


@dataclass(frozen=True)
class StoredModel:
    """The contents of a model directory."""

    settings: dict[str, Any]
    """Configuration, seed, metrics and the like, as plain JSON."""
    arrays: Mapping[str, NDArray[Any]]
    """The learned arrays, by name."""
    known: Annotations
    """The vocabularies and the training pairs, without features and notes."""
    card: str
    """The model card, in Markdown."""


def save_model(path: str | Path, stored: StoredModel) -> None:
    """Write a model directory atomically; equal models give equal bytes."""
    known = stored.known
    counts = {"images": len(known.images), "labels": len(known.labels), "pairs": known.pairs}
    with write_artifact(Path(path), MODEL) as writer:
        settings, arrays = dict(stored.settings), dict(stored.arrays)
        if known.pictures is not None:
            settings["pictures"] = {"root": known.pictures.root, "format": known.pictures.format}
            arrays |= known.pictures.arrays(known.images)
        writer.document({"settings": settings, "counts": counts}, arrays)
        writer.arrays(arrays, finite=True)
        with writer.file(PAIRS) as file:
            write_tensors(file, {"indptr": known.indptr, "indices": known.indices}, finite=False)
        with writer.file(IMAGES) as file:
            write_ids(file, known.images)
        with writer.file(LABELS) as file:
            write_ids(file, known.labels)
        with writer.file(CARD) as file:
            file.write(stored.card.encode())


def check_target(path: str | Path) -> None:
    """Raise if `save_model` would refuse to replace ``path``: a check to make before the training."""
    if Path(path).exists():
        MODEL.check_replaceable(Path(path))


def load_model(path: str | Path, *, verify: bool = True) -> StoredModel:
    """Load a model directory as a read-only memory map.

    Names, sizes, headers, the settings and the card are always checked. ``verify`` reads every byte once and checks all
    contents. Without it loading takes the same short time for any size, but a damaged number or id is not noticed.
    """
    return read_artifact(Path(path), MODEL, lambda reader: _read(reader, verify))


def _read(reader: ArtifactReader, verify: bool) -> StoredModel:
    document = reader.document("settings", "counts")
    arrays = reader.arrays(ARRAYS, document["arrays"], verify=verify, finite=True)
    return StoredModel(
        settings=document["settings"],
        arrays=arrays,
        known=_read_known(reader, document, arrays, verify),
        card=reader.text(CARD),
    )


def _read_known(
    reader: ArtifactReader, document: dict[str, Any], arrays: Mapping[str, NDArray[Any]], verify: bool
) -> Annotations:
    counts = document["counts"]
    images = _read_ids(reader, IMAGES, "image", counts.get("images"), verify)
    labels = _read_ids(reader, LABELS, "label", counts.get("labels"), verify)
    expected = {
        "indptr": {"dtype": "int64", "shape": [len(images) + 1]},
        "indices": {"dtype": "int32", "shape": [counts.get("pairs")]},
    }
    pairs = reader.arrays(PAIRS, expected, verify=verify, finite=False)
    make = Annotations if verify else Annotations.trusted
    pictures = document["settings"].get("pictures")
    try:
        where = None if pictures is None else Pictures.stored(pictures, images, arrays)
        return make(images, labels, pairs["indptr"], pairs["indices"], pictures=where)
    except DataError as error:
        raise reader.damaged(PAIRS, str(error)) from error


def _read_ids(reader: ArtifactReader, name: str, kind: str, count: Any, verify: bool) -> Vocabulary:
    if verify:
        reader.verify(name)
    try:
        ids = read_ids(reader.map(name), kind, verify=verify)
    except ValueError as error:
        raise reader.damaged(name, str(error)) from error
    if len(ids) != count:
        raise reader.damaged(name, f"it contains {len(ids):,} ids and should contain {count}")
    return ids


def write_ids(sink: Any, vocabulary: Vocabulary) -> None:
    """Write a vocabulary as an Arrow IPC file of one batch with one column ``id``, uncompressed to be memory-mapped."""
    # Arrow writes neighbouring bytes along with a slice. Concatenation copies the slice, so equal ids give equal bytes.
    ids = pa.concat_arrays([vocabulary.arrow, pa.array([], pa.large_string())])
    with pa.ipc.new_file(sink, _SCHEMA) as writer:
        writer.write_batch(pa.record_batch([ids], schema=_SCHEMA))


def read_ids(mapped: memoryview, kind: str, *, verify: bool) -> Vocabulary:
    """Return the vocabulary in a memory map, or raise a ValueError with the fault; without ``verify`` no id is read."""
    try:
        reader = pa.ipc.open_file(pa.py_buffer(mapped))
        if reader.schema != _SCHEMA or reader.num_record_batches != 1:
            raise ValueError("it does not contain one batch with one column of ids")
        ids = reader.get_batch(0).column(0)
        ids.validate(full=verify)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"it is not an Arrow file of ids ({error})") from error
    if ids.null_count:
        raise ValueError("it contains ids that are null")
    try:
        return Vocabulary(ids, kind) if verify else Vocabulary.trusted(ids, kind)
    except DataError as error:
        raise ValueError(str(error)) from error


def model_card(
    settings: Mapping[str, Any], summary: Summary, training: Mapping[str, Any], validation: Mapping[str, float] | None
) -> str:
    """Return the Markdown page about a model: settings, data, training, metrics; without times, to be reproducible."""
    lines = [
        "# A vse-ens model",
        "",
        f"Suggests labels for images. Made by vse-ens {training['version']}.",
        "",
        "## Use",
        "",
        "```python",
        "from vse_ens import Annotator",
        "",
        'model = Annotator.load("path/to/this/directory")',
        'model.annotate("an image id", top=5)',
        "```",
        "",
        "## Settings",
        "",
        *_table(settings),
        "",
        "## Data",
        "",
        *_table(dict(summary.rows())),
        "",
        "## Training",
        "",
        *_table({name: value for name, value in training.items() if name != "version"}),
    ]
    if validation:
        lines += ["", "## Validation (one label of some images held out)", "", *_table(validation)]
    return "\n".join(lines) + "\n"


def _table(rows: Mapping[str, Any]) -> list[str]:
    def text(value: Any) -> str:
        return (f"{value:.6g}" if isinstance(value, float) else str(value)).replace("|", "\\|").replace("\n", " ")

    return ["| | |", "|---|---|", *(f"| {name} | {text(value)} |" for name, value in rows.items())]
