"""The model directory: its files, and how they are saved and loaded; docs/model-format.md describes the format."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.collections.pictures import PICTURE_ARRAYS, Pictures
from vse_ens.data.summary import Summary
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError, ModelError
from vse_ens.storage.artifact import ARRAYS, ArtifactSpec
from vse_ens.storage.atomic import reserve
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

_FEATURE_NAMES = "feature_names"
_SCHEMA = pa.schema([("id", pa.large_string())])
_ARROW_MAGIC = b"ARROW1\0\0"
# The numbers of two fields in Arrow's Message.fbs: the header of a message, and the compression of a record batch.
_MESSAGE_HEADER, _BATCH_COMPRESSION = 2, 3


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
            if known.pictures.source:
                settings["pictures"]["source"] = known.pictures.source
            arrays |= known.pictures.arrays(known.images)
        if known.feature_names is not None:
            arrays[_FEATURE_NAMES] = np.frombuffer(json.dumps(known.feature_names).encode(), np.uint8)
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


@contextmanager
def reserve_target(path: str | Path) -> Iterator[None]:
    """Hold ``path`` for a run that ends with `save_model`.

    Raises at the start if saving would be refused: another run holds the path, its contents would be lost, or nothing
    can be written there.
    """
    with reserve(Path(path), error=ModelError):
        if Path(path).exists():
            MODEL.check_replaceable(Path(path))
        yield


def load_model(path: str | Path, *, verify: bool = True, in_memory: bool = False) -> StoredModel:
    """Load a model directory as a read-only memory map, or with ``in_memory`` as a copy in RAM.

    Names, sizes, headers, the settings, the card, the ids and the pairs are always checked. ``verify`` also reads every
    byte once, and checks all digests and that all numbers of ``arrays`` are finite. `vse_ens.model.loaded` checks what
    the arrays mean.
    """
    return read_artifact(Path(path), MODEL, lambda reader: _read(reader, verify), in_memory=in_memory)


def _read(reader: ArtifactReader, verify: bool) -> StoredModel:
    document = reader.document("settings", "counts")
    arrays = dict(reader.arrays(ARRAYS, document["arrays"], verify=verify, finite=True))
    # Where pictures are belongs to the data, not to the model.
    pictures = {name: arrays.pop(name) for name in PICTURE_ARRAYS if name in arrays}
    names = _feature_names(reader, arrays.pop(_FEATURE_NAMES)) if _FEATURE_NAMES in arrays else None
    return StoredModel(
        settings=document["settings"],
        arrays=arrays,
        known=_read_known(reader, document, pictures, names, verify),
        card=reader.text(CARD),
    )


def _read_known(
    reader: ArtifactReader,
    document: dict[str, Any],
    pictures: Mapping[str, NDArray[Any]],
    names: tuple[str, ...] | None,
    verify: bool,
) -> Annotations:
    counts = document["counts"]
    images = _read_ids(reader, IMAGES, "image", counts.get("images"), verify)
    labels = _read_ids(reader, LABELS, "label", counts.get("labels"), verify)
    expected = {
        "indptr": {"dtype": "int64", "shape": [len(images) + 1]},
        "indices": {"dtype": "int32", "shape": [counts.get("pairs")]},
    }
    pairs = reader.arrays(PAIRS, expected, verify=verify, finite=False)
    settings = document["settings"].get("pictures")
    try:
        where = None if settings is None else Pictures.stored(settings, images, pictures)
        return Annotations(images, labels, pairs["indptr"], pairs["indices"], feature_names=names, pictures=where)
    except DataError as error:
        raise reader.damaged(PAIRS, str(error)) from error


def _feature_names(reader: ArtifactReader, text: NDArray[Any]) -> tuple[str, ...]:
    try:
        names = json.loads(text.tobytes())
    except (ValueError, RecursionError):
        names = None
    if type(names) is not list or not all(type(name) is str for name in names):
        raise reader.damaged(ARRAYS, f"the array {_FEATURE_NAMES!r} is not a JSON array of names")
    return tuple(names)


def _read_ids(reader: ArtifactReader, name: str, kind: str, count: Any, verify: bool) -> Vocabulary:
    if verify:
        reader.verify(name)
    try:
        ids = read_ids(reader.map(name), kind)
    except ValueError as error:
        raise reader.damaged(name, str(error)) from error
    if len(ids) != count:
        raise reader.damaged(name, f"it contains {len(ids):,} ids and should contain {count}")
    return ids


def write_ids(sink: Any, vocabulary: Vocabulary) -> None:
    """Write a vocabulary as an Arrow IPC file of one batch with one column ``id``, uncompressed to be memory-mapped."""
    # Arrow writes neighboring bytes along with a slice. Concatenation copies the slice, so equal ids give equal bytes.
    ids = pa.concat_arrays([vocabulary.arrow, pa.array([], pa.large_string())])
    with pa.ipc.new_file(sink, _SCHEMA) as writer:
        writer.write_batch(pa.record_batch([ids], schema=_SCHEMA))


def read_ids(mapped: memoryview, kind: str) -> Vocabulary:
    """Return the vocabulary in a memory map, or raise a ValueError with the fault."""
    try:
        ids = _batch(pa.py_buffer(mapped)).column(0)
        ids.validate(full=True)
    except (pa.ArrowException, OSError, struct.error) as error:
        raise ValueError(f"it is not an Arrow file of ids ({error})") from error
    if ids.null_count:
        raise ValueError("it contains ids that are null")
    try:
        return Vocabulary(ids, kind)
    except DataError as error:
        raise ValueError(str(error)) from error


def _batch(file: pa.Buffer) -> pa.RecordBatch:
    """Return the only batch of an Arrow IPC file, without copying it.

    The file is read as the stream of messages that it contains, because each message can then be inspected first: a
    compressed batch could expand to any size.
    """
    if file.slice(0, len(_ARROW_MAGIC)).to_pybytes() != _ARROW_MAGIC:
        raise ValueError("it is not an Arrow file")
    source = pa.BufferReader(file)
    source.seek(len(_ARROW_MAGIC))
    messages = list(islice(pa.ipc.MessageReader.open_stream(source), 3))
    if [message.type for message in messages] != ["schema", "record batch"]:
        raise ValueError("it does not contain one batch with one column of ids")
    schema = pa.ipc.read_schema(messages[0])
    if schema != _SCHEMA:
        raise ValueError("it does not contain one batch with one column of ids")
    if _is_compressed(messages[1].metadata.to_pybytes()):
        raise ValueError("it is compressed, so that it cannot be mapped")
    return pa.ipc.read_record_batch(messages[1], schema)


def _is_compressed(message: bytes) -> bool:
    """Whether the metadata of a record batch, a flatbuffer that Arrow has verified, names a compression."""

    def field(table: int, number: int) -> int:
        """Return where a field of a table is; 0 if it is absent."""
        fields = table - struct.unpack_from("<i", message, table)[0]
        size = struct.unpack_from("<H", message, fields)[0]
        entry = 4 + 2 * number
        offset = struct.unpack_from("<H", message, fields + entry)[0] if entry < size else 0
        return table + offset if offset else 0

    def follow(place: int) -> int:
        return place + int(struct.unpack_from("<I", message, place)[0])

    header = field(follow(0), _MESSAGE_HEADER)
    return bool(field(follow(header), _BATCH_COMPRESSION))


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
