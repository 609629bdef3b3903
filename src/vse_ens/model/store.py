"""The model directory: what is in it, how it is saved and loaded. The format is told in docs/model-format.md.

A vocabulary as an Arrow IPC file: one batch, one column ``id``, uncompressed, so that it can be memory-mapped.

The model card: what a person who finds a model directory wants to know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations, Summary
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError
from vse_ens.storage.artifact import ARRAYS, ArtifactSpec
from vse_ens.storage.reader import ArtifactReader, reading
from vse_ens.storage.tensors import write_tensors
from vse_ens.storage.writer import writing

PAIRS = "pairs.safetensors"
CARD = "README.md"
IMAGES = "images.arrow"
LABELS = "labels.arrow"

MODEL = ArtifactSpec(
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


def _read(sealed: ArtifactReader, verify: bool) -> StoredModel:
    document = sealed.document("settings", "counts")
    return StoredModel(
        settings=document["settings"],
        arrays=sealed.arrays(ARRAYS, document["arrays"], verify=verify, finite=True),
        known=_read_known(sealed, document["counts"], verify),
        card=sealed.text(CARD),
    )


def _read_known(sealed: ArtifactReader, counts: dict[str, Any], verify: bool) -> Annotations:
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


def _read_ids(sealed: ArtifactReader, name: str, kind: str, count: Any, verify: bool) -> Vocabulary:
    if verify:
        sealed.verify(name)
    try:
        ids = read_ids(sealed.map(name), kind, verify=verify)
    except ValueError as error:
        raise sealed.damaged(name, str(error)) from error
    if len(ids) != count:
        raise sealed.damaged(name, f"it holds {len(ids):,} ids and should hold {count}")
    return ids


_SCHEMA = pa.schema([("id", pa.large_string())])


def write_ids(sink: Any, vocabulary: Vocabulary) -> None:
    """Write a vocabulary to a file-like object."""
    # Arrow writes a slice with some of what surrounds it in memory; joined to nothing it is whole, and equal ids give
    # equal bytes.
    ids = pa.concat_arrays([vocabulary.arrow, pa.array([], pa.large_string())])
    with pa.ipc.new_file(sink, _SCHEMA) as writer:
        writer.write_batch(pa.record_batch([ids], schema=_SCHEMA))


def read_ids(mapped: memoryview, kind: str, *, verify: bool) -> Vocabulary:
    """The vocabulary in a memory map; without ``verify`` no id is touched. A ValueError says what is wrong."""
    try:
        reader = pa.ipc.open_file(pa.py_buffer(mapped))
        if reader.schema != _SCHEMA or reader.num_record_batches != 1:
            raise ValueError("it does not hold one batch with one column of ids")
        ids = reader.get_batch(0).column(0)
        ids.validate(full=verify)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"it is not an Arrow file of ids ({error})") from error
    if ids.null_count:
        raise ValueError("it holds ids that are null")
    try:
        return Vocabulary(ids, kind) if verify else Vocabulary.trusted(ids, kind)
    except DataError as error:
        raise ValueError(str(error)) from error


def model_card(
    settings: Mapping[str, Any], summary: Summary, training: Mapping[str, Any], validation: Mapping[str, float] | None
) -> str:
    """Markdown: what it is, the settings, the data, the figures. No time stamps: equal models have equal cards."""
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
