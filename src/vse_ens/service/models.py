"""The one model that is served, and how another takes its place without a request noticing.

The audit behind the page's queue: made once a model, told in pages.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vse_ens.annotator import Annotator
from vse_ens.curate.audit.audit import Audit, audit_rows
from vse_ens.curate.label_map import LabelMap, make_label_map
from vse_ens.errors import ModelError, VseError
from vse_ens.model.store import MODEL
from vse_ens.service.completion import LabelCompletion
from vse_ens.service.errors import unavailable
from vse_ens.service.jobs import Background, Tell
from vse_ens.service.metrics import Metrics
from vse_ens.storage.artifact import MANIFEST
from vse_ens.storage.reader import ArtifactReader

# One millisecond at 6,000 labels.
_FEW_LABELS = 20_000

STILL_LOADING = "the model is still being loaded; try again soon"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A loaded model with all that is worked out once for it; a request keeps the one it began with."""

    annotator: Annotator
    name: str
    fingerprint: str
    completion: LabelCompletion
    audit: Background[Audit]
    label_map: Background[LabelMap]

    @classmethod
    def load(cls, path: Path) -> ServedModel:
        """Load a model directory, and use it once: kernels are compiled and pages read before anyone waits for them."""
        fingerprint, annotator = _load(path)
        if len(annotator.known_.images):
            annotator.annotate(annotator.known_.images.id(0), explain=True)
        annotator.annotate(labels=[], explain=True)
        return cls(
            annotator,
            path.resolve().name,
            fingerprint,
            LabelCompletion(annotator.known_),
            Background("audit", lambda tell: audit_of(annotator, tell)),
            Background("label map", lambda tell: make_label_map(annotator, tell)),
        )

    @property
    def quick(self) -> bool:
        """Whether suggestions for an image take so little that a thread would cost more than it gives."""
        return len(self.annotator.known_.labels) <= _FEW_LABELS

    @property
    def quick_by_labels(self) -> bool:
        """The same for an image known by its labels alone: without a context tower a vector is trained for it."""
        return self.quick and self.annotator.embeddings_.has_context

    def retire(self) -> None:
        """Another model is served: no need to go on with what was begun for later."""
        self.audit.stop()
        self.label_map.stop()


def check_model(path: Path) -> None:
    """Refuse what is no model directory, before anything is begun with it."""
    with ArtifactReader(path, MODEL) as sealed:
        sealed.document("settings", "counts")


def _load(path: Path) -> tuple[str, Annotator]:
    """A model and its fingerprint, which belong together even if another is written to the place meanwhile."""
    while True:
        fingerprint = _fingerprint(path)
        annotator = Annotator.load(path, verify=False)
        if fingerprint is not None and fingerprint == _fingerprint(path):
            return fingerprint, annotator


def _fingerprint(path: Path) -> str | None:
    """Of the manifest, which has the digests of all parts; None where it cannot be read, as loading will tell."""
    try:
        return hashlib.sha256((path / MANIFEST).read_bytes()).hexdigest()[:12]
    except OSError:
        return None


class ModelManager:
    """Holds the model; used from the event loop only."""

    def __init__(self, path: Path, metrics: Metrics, patience: float) -> None:
        self._path = path
        self._metrics = metrics
        self._patience = patience
        self._served: ServedModel | None = None
        self.failure: str | None = None
        """Why the last model could not be loaded."""
        self._tried = asyncio.Event()
        self._turn = asyncio.Lock()

    @property
    def ready(self) -> ServedModel | None:
        """The model, if there is one yet."""
        return self._served

    async def current(self) -> ServedModel:
        """The model; where the first is still being loaded, after a while."""
        if self._served is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._tried.wait(), self._patience)
            if self._served is None:
                raise unavailable(self.failure or STILL_LOADING)
        return self._served

    async def load(self) -> ServedModel:
        """Load the model directory anew and serve it; where that fails the old model stays and the reason is raised."""
        async with self._turn:
            try:
                fresh = await asyncio.to_thread(ServedModel.load, self._path)
            except Exception as error:
                self._metrics.loading_failures.inc()
                reason = error if isinstance(error, VseError) else ModelError(f"{self._path}: {error}")
                self.failure = str(reason)
                if self._served is not None:
                    _log.error("the old model goes on serving: %s", reason, exc_info=reason is not error)
                raise reason from error
            finally:
                self._tried.set()
            old, self._served, self.failure = self._served, fresh, None
        self._metrics.serving(fresh.fingerprint)
        if old is not None:
            old.retire()
            self._metrics.swaps.inc()
        _log.info("serving %s, model %s", fresh.name, fresh.fingerprint)
        return fresh

    def close(self) -> None:
        """Nobody will ask any more."""
        if self._served is not None:
            self._served.retire()


# Findings of each kind: more than a person works through between two models.
_FINDINGS = 1_000


def audit_of(annotator: Annotator, tell: Tell) -> Audit:
    """The surest findings in all pairs the model knows."""
    rows = max(1, audit_rows(annotator.known_))
    seen = 0

    def count(more: int) -> None:
        nonlocal seen
        seen += more
        tell(seen / rows)

    return annotator.audit(_FINDINGS, progress=count)
