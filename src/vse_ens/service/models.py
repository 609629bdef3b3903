"""The served model, and how it is replaced without interrupting requests."""

from __future__ import annotations

import asyncio
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
from vse_ens.service.jobs import BackgroundJob, Progress
from vse_ens.service.telemetry import ServiceMetrics
from vse_ens.storage.reader import ArtifactReader, manifest_digest

STILL_LOADING = "the model is still loading; try again soon"

# Scoring one image takes about a millisecond with 6,000 labels.
_MAX_LABELS_ON_LOOP = 20_000
# Findings of each kind: more than a person reviews before the next model is trained.
_AUDIT_TOP = 1_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A loaded model with everything computed once per model; a request uses one instance from start to end."""

    annotator: Annotator
    name: str
    fingerprint: str
    completion: LabelCompletion
    audit: BackgroundJob[Audit]
    label_map: BackgroundJob[LabelMap]

    @classmethod
    def load(cls, path: Path, *, verify: bool) -> ServedModel:
        """Load a model directory and run it once, so that no request waits for compilation or page faults.

        ``verify`` reads all files into RAM and checks every byte. Otherwise only as much is read as answers need.
        """
        fingerprint, annotator = _load(path, verify)
        if len(annotator.known_.images):
            annotator.annotate(annotator.known_.images.id(0), explain=True)
        annotator.annotate(labels=[], explain=True)
        return cls(
            annotator,
            path.resolve().name,
            fingerprint,
            LabelCompletion(annotator.known_),
            BackgroundJob("audit", lambda progress: _run_audit(annotator, progress)),
            BackgroundJob(
                "label map", lambda progress: make_label_map(annotator.embeddings_, annotator.known_, progress)
            ),
        )

    @property
    def is_fast(self) -> bool:
        """Whether suggestions for one image are cheap enough to compute on the event loop."""
        return len(self.annotator.known_.labels) <= _MAX_LABELS_ON_LOOP

    @property
    def is_fast_by_labels(self) -> bool:
        """The same for an image given by its labels; without a context tower, that trains a vector first."""
        return self.is_fast and self.annotator.embeddings_.has_context

    def retire(self) -> None:
        """Stop the background jobs, because another model has replaced this one."""
        self.audit.stop()
        self.label_map.stop()


def check_model(path: Path) -> None:
    """Raise an error unless ``path`` is a model directory."""
    with ArtifactReader(path, MODEL) as reader:
        reader.document("settings", "counts")


def _load(path: Path, verify: bool) -> tuple[str, Annotator]:
    """Load a model and its fingerprint; repeat if the directory was replaced in between."""
    while True:
        fingerprint = _fingerprint(path)
        # A copy in RAM: a mapped file that is truncated in place would end the process.
        annotator = Annotator.load(path, verify=verify, in_memory=verify)
        if fingerprint and fingerprint == _fingerprint(path):
            return fingerprint, annotator


def _fingerprint(path: Path) -> str:
    """Hash the manifest, which holds the digests of all parts; empty if it is unreadable, which loading reports."""
    return manifest_digest(path)[:12]


def _run_audit(annotator: Annotator, progress: Progress) -> Audit:
    """Return the most confident findings among all pairs of the model."""
    rows = max(1, audit_rows(annotator.known_))
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        progress(done / rows)

    return annotator.audit(_AUDIT_TOP, progress=count)


class ModelManager:
    """Loads and replaces the served model; used from the event loop only."""

    def __init__(self, path: Path, metrics: ServiceMetrics, timeout: float, *, verify: bool = True) -> None:
        self._path = path
        self._verify = verify
        self._metrics = metrics
        self._timeout = timeout
        self._served: ServedModel | None = None
        self.failure: str | None = None
        """Why the last model could not be loaded."""
        self._first_attempt_done = asyncio.Event()
        self._load_lock = asyncio.Lock()

    @property
    def loaded(self) -> ServedModel | None:
        """The served model, or None if none is loaded yet."""
        return self._served

    async def current(self) -> ServedModel:
        """Return the served model; wait for the first one to load, up to the timeout."""
        if self._served is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._first_attempt_done.wait(), self._timeout)
            if self._served is None:
                raise unavailable(self.failure or STILL_LOADING)
        return self._served

    async def load(self) -> ServedModel:
        """Load the model directory and serve it; on failure the old model stays and the error is raised."""
        async with self._load_lock:
            try:
                new = await asyncio.to_thread(ServedModel.load, self._path, verify=self._verify)
            except Exception as error:
                self._metrics.loading_failures.inc()
                reason = error if isinstance(error, VseError) else ModelError(f"{self._path}: {error}")
                self.failure = str(reason)
                if self._served is not None:
                    _log.error("still serving the old model: %s", reason, exc_info=reason is not error)
                raise reason from error
            finally:
                self._first_attempt_done.set()
            old, self._served, self.failure = self._served, new, None
        self._metrics.set_model(new.fingerprint)
        if old is not None:
            old.retire()
            self._metrics.swaps.inc()
        _log.info("serving %s, model %s", new.name, new.fingerprint)
        return new

    def close(self) -> None:
        """Stop the background jobs of the served model."""
        if self._served is not None:
            self._served.retire()
