"""The checkpoint directory: arrays and a JSON state, with the same care as a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from vse_ens.storage.artifact import ARRAYS, ArtifactSpec
from vse_ens.storage.reader import ArtifactReader, reading
from vse_ens.storage.writer import writing

CHECKPOINT = ArtifactSpec(
    noun="checkpoint",
    version=1,
    document="state.json",
    parts=frozenset({ARRAYS}),
    remedy="delete the checkpoint and start without --resume",
)


class StoredState(NamedTuple):
    """What a run needs to go on: arrays, which are read-only memory maps, and the rest as plain JSON."""

    arrays: Mapping[str, NDArray[Any]]
    state: dict[str, Any]


def save_state(path: str | Path, arrays: Mapping[str, NDArray[Any]], state: dict[str, Any]) -> None:
    """Write a checkpoint directory in place of the one before it, whole or not at all."""
    with writing(Path(path), CHECKPOINT) as draft:
        draft.document({"state": state}, arrays)
        draft.arrays(arrays, finite=False)


def load_state(path: str | Path) -> StoredState:
    """Load a checkpoint directory; all contents are checked, but arrays may hold any number."""
    return reading(Path(path), CHECKPOINT, _read)


def _read(sealed: ArtifactReader) -> StoredState:
    document = sealed.document("state")
    return StoredState(sealed.arrays(ARRAYS, document["arrays"], verify=True, finite=False), document["state"])
