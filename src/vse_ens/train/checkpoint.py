"""Checkpoints: written atomically between two rounds, so that a killed run can be resumed."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.partition.store import Partition
from vse_ens.errors import ConfigError, DataError, ModelError, VseError
from vse_ens.model.checkpoint_store import CHECKPOINT, load_state, save_state
from vse_ens.model.cpu import cpu_kind
from vse_ens.portable import PORTABLE_CPU, portable_requested
from vse_ens.train.trainer import Trainer

_IDS_PER_BLOCK = 65_536
# Writing may take one part in this many of the time.
_PAUSE_FACTOR = 20

_log = logging.getLogger(__name__)


class Checkpoints:
    """Saves the state of a run between rounds.

    A checkpoint is written every ``seconds``, or less often where writing would take more than a twentieth of the time.
    If one cannot be written, for example to a full disk, the run continues: a warning is logged, the last checkpoint is
    kept, and the next one is tried when it is due. `resume` refuses a run of another kind of CPU, whose last bits
    differ; not with ``allow_mixed_cpus``.
    """

    def __init__(
        self, path: Path, data: Annotations | Partition, seconds: float = 2.0, *, allow_mixed_cpus: bool = False
    ) -> None:
        self.path = path
        self.cpus = {cpu_kind()}
        """The kinds of CPU that the run has been on."""
        self._allow_mixed_cpus = allow_mixed_cpus
        self._data = data.digest if isinstance(data, Partition) else fingerprint(data)
        self._seconds = seconds
        self._due = time.monotonic() + seconds
        self._failing = False

    def after_round(self, trainer: Trainer) -> None:
        """Write a checkpoint if it is due."""
        if time.monotonic() >= self._due:
            self.try_write(trainer)

    def try_write(self, trainer: Trainer) -> None:
        """Write a checkpoint now; log a warning, once until it succeeds again, if the file system refuses."""
        try:
            self.write(trainer)
        except DataError as error:
            if not isinstance(error.__cause__, OSError):
                raise
            if not self._failing:
                _log.warning("%s; training continues without a new checkpoint", error)
            self._failing = True
        else:
            self._failing = False

    def write(self, trainer: Trainer) -> None:
        """Write a checkpoint now."""
        began = time.monotonic()
        try:
            arrays, state = trainer.state()
            save_state(self.path, arrays, {**state, "data": self._data, "cpus": sorted(self.cpus)})
        finally:
            ended = time.monotonic()
            self._due = ended + max(self._seconds, _PAUSE_FACTOR * (ended - began))

    def resume(self, trainer: Trainer) -> bool:
        """Restore a trainer from the last checkpoint; return whether there was one."""
        if not self.path.exists():
            return False
        arrays, state = load_state(self.path)
        try:
            return self._restore(trainer, arrays, state)
        except ModelError as error:
            raise ModelError(f"{self.path} is damaged: {error}; {CHECKPOINT.remedy}") from error
        except VseError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ModelError(
                f"{self.path} is damaged: it is not the state of a training run; {CHECKPOINT.remedy}"
            ) from error

    def _restore(self, trainer: Trainer, arrays: Mapping[str, NDArray[Any]], state: Mapping[str, Any]) -> bool:
        if state["data"] != self._data:
            raise ConfigError(
                f"{self.path} is a checkpoint of other data; resume with the pairs the run was started with"
            )
        self._check_cpus(set(state.get("cpus", ())))  # checkpoints of version 0.2 do not say
        ours = trainer.config.to_dict()
        for name, theirs in state["config"].items():
            if ours.get(name) != theirs:
                raise ConfigError(
                    f"{self.path} was started with {name} {theirs!r}, not {ours.get(name)!r}; "
                    "resume with the same settings or start without --resume"
                )
        trainer.restore(arrays, state)
        return True

    def _check_cpus(self, cpus: set[str]) -> None:
        if cpus - self.cpus and not self._allow_mixed_cpus:
            portable = not portable_requested() and all(kind.startswith(f"{PORTABLE_CPU},") for kind in cpus)
            remedy = "add --portable" if portable else "resume on a CPU of that kind, or add --allow-mixed-cpus"
            raise ConfigError(
                f"{self.path} was computed as {' and '.join(sorted(cpus))}, and this CPU computes as {cpu_kind()}, so "
                f"that the last bits would differ; {remedy}"
            )
        self.cpus |= cpus


def fingerprint(data: Annotations) -> str:
    """Return a digest of the ids, pairs and features; equal for equal data."""
    digest = hashlib.blake2b(digest_size=16)
    for ids in (data.images, data.labels):
        for start in range(0, len(ids), _IDS_PER_BLOCK):
            digest.update("\0".join([*ids.arrow[start : start + _IDS_PER_BLOCK].to_pylist(), ""]).encode())
    digest.update(data.indptr.tobytes())
    digest.update(data.indices.tobytes())
    if data.features is not None:
        dense = isinstance(data.features, np.ndarray)
        rows = (data.features,) if dense else attrgetter("indptr", "indices", "data")(data.features.tocsr())
        for array in rows:
            digest.update(array.tobytes())
    return digest.hexdigest()
