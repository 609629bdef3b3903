"""The checkpoint directory: arrays and a JSON state, stored as a model is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from vse_ens.storage.artifact import ARRAYS, ArtifactSpec
from vse_ens.storage.reader import ArtifactReader, read_artifact
from vse_ens.storage.writer import write_artifact

CHECKPOINT = ArtifactSpec(
    noun="checkpoint",
    version=2,
    document="state.json",
    parts=frozenset({ARRAYS}),
    remedy="delete the checkpoint and start without --resume",
    max_text_bytes=1 << 29,  # the history has about 300 bytes per epoch
)


class StoredState(NamedTuple):
    """The state of a training run: arrays, which are read-only memory maps, and the rest as plain JSON."""

    arrays: Mapping[str, NDArray[Any]]
    state: dict[str, Any]


def save_state(path: str | Path, arrays: Mapping[str, NDArray[Any]], state: dict[str, Any]) -> None:
    """Replace a checkpoint directory atomically."""
    with write_artifact(Path(path), CHECKPOINT) as writer:
        writer.document({"state": state}, arrays)
        writer.arrays(arrays, finite=False)


def load_state(path: str | Path) -> StoredState:
    """Load a checkpoint directory; all contents are checked, but arrays may contain infinities and NaN."""
    return read_artifact(Path(path), CHECKPOINT, _read)


def _read(reader: ArtifactReader) -> StoredState:
    document = reader.document("state")
    return StoredState(reader.arrays(ARRAYS, document["arrays"], verify=True, finite=False), document["state"])
