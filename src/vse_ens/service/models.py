"""The served model, and how it is replaced without interrupting requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path

from vse_ens.annotator import Annotator
from vse_ens.curate.audit.audit import Audit, audit_rows
from vse_ens.curate.label_completion import LabelCompletion
from vse_ens.curate.rules.propose import Proposals, propose_rules
from vse_ens.data.current_labels import CurrentLabels, ImageLabels
from vse_ens.data.feedback.pairs import read_suggestion_verdicts
from vse_ens.data.feedback.verdicts import Feedback
from vse_ens.data.rules.store import RulesFile
from vse_ens.errors import ModelError, VseError
from vse_ens.model.embeddings import Floats
from vse_ens.model.store import MODEL
from vse_ens.progress import summed
from vse_ens.service.errors import unavailable
from vse_ens.service.jobs import BackgroundJob
from vse_ens.service.ranking import ImageRanker
from vse_ens.service.source_archive import source_state
from vse_ens.service.telemetry import ServiceMetrics
from vse_ens.storage.artifact import MANIFEST
from vse_ens.storage.reader import ArtifactReader, manifest_digest

STILL_LOADING = "the model is still loading; try again soon"

# Scoring one image takes about a millisecond with 6,000 labels.
_MAX_LABELS_ON_LOOP = 20_000
# Findings of each kind: more than a person reviews before the next model is trained.
_AUDIT_TOP = 1_000
# Images whose label scores are kept: 80 kB each with 20,000 labels.
_KEPT_SCORES = 32

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class ServedModel:
    """A loaded model with everything computed once per model; a request uses one instance from start to end."""

    annotator: Annotator
    name: str
    fingerprint: str
    saved_at: str | None
    completion: LabelCompletion
    audit: BackgroundJob[Audit]
    proposals: BackgroundJob[Proposals]
    labels: CurrentLabels
    ranker: ImageRanker
    verdicts: int
    """The number of verdicts on suggestions when they were last read."""

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        verify: bool,
        feedback: Feedback | None = None,
        rules: RulesFile | None = None,
        completeness: float | None = None,
    ) -> ServedModel:
        """Load a model directory and run it once, so that no request waits for compilation or page faults.

        ``verify`` reads all files into RAM and checks every byte. Otherwise only as much is read as answers need.
        """
        fingerprint, annotator = _load(path, verify)
        rows = max(1, audit_rows(annotator.known_))
        verdicts = [] if feedback is None else read_suggestion_verdicts(feedback.path)
        if completeness is not None and annotator.calibration_ is not None:
            annotator.calibrate(completeness=completeness)
        annotator.use_verdicts(verdicts)
        if len(annotator.known_.images):
            annotator.annotate(annotator.known_.images.id(0), explain=True)
        annotator.annotate(labels=[], explain=True)
        labels = CurrentLabels(annotator.known_, feedback, rules)
        labels.verdicts.refresh()  # of a large file, the first time takes seconds
        return cls(
            annotator,
            path.resolve().name,
            fingerprint,
            _saved_at(path),
            LabelCompletion.of(annotator.known_),
            BackgroundJob(
                "audit", lambda report: annotator.audit(_AUDIT_TOP, progress=summed(lambda n: report(n / rows)))
            ),
            BackgroundJob("proposals", lambda progress: propose_rules(annotator.known_, progress=progress)),
            labels,
            ImageRanker(annotator, labels, fingerprint),
            len(verdicts),
        )

    def assume(self, completeness: float | None, feedback: Feedback | None) -> None:
        """Set how complete the labels are, None to estimate it; confidences of a finished audit stay as they are."""
        self.annotator.calibrate(completeness=completeness)
        self.use_verdicts(feedback)

    def use_verdicts(self, feedback: Feedback | None) -> None:
        """Correct confidences by the verdicts so far; those of a finished audit stay as they are."""
        verdicts = [] if feedback is None else read_suggestion_verdicts(feedback.path)
        self.verdicts = len(verdicts)
        self.annotator.use_verdicts(verdicts)
        self.ranker.recalibrate()

    @cached_property
    def label_scores(self) -> Callable[[tuple[str, ...], str | None], Floats]:
        """Scores of all labels for an image with some labels; kept for the next letter that is typed."""
        return lru_cache(_KEPT_SCORES)(lambda labels, image: self.annotator.label_scores(list(labels), image))

    @cached_property
    def complete(self) -> Callable[[tuple[tuple[str, int], ...]], LabelCompletion]:
        """Completion of labels that rules and feedback change: the names in force, and labels new to the model."""
        return lru_cache(2)(LabelCompletion)

    @cached_property
    def source(self) -> tuple[str | None, str | None]:
        """The format of the collection that the model was trained from, or why it cannot be written."""
        return source_state(self.annotator.known_)

    def is_fast(self, image: ImageLabels) -> bool:
        """Whether suggestions for an image are cheap enough to compute on the event loop.

        Without a context tower, an image with other labels than in the data needs a vector, which is trained first.
        """
        few = len(self.annotator.known_.labels) <= _MAX_LABELS_ON_LOOP
        return few and (not image.has_changed or self.annotator.embeddings_.has_context)

    def retire(self) -> None:
        """Stop the background jobs, because another model has replaced this one."""
        self.audit.stop()
        self.ranker.stop()
        self.proposals.stop()


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


def _saved_at(path: Path) -> str | None:
    """Return when a model was saved: equal models are equal bytes, so only the time of the file tells."""
    try:
        return datetime.fromtimestamp((path / MANIFEST).stat().st_mtime, UTC).isoformat(timespec="seconds")
    except OSError:
        return None


@dataclass(eq=False)
class ModelManager:
    """Loads and replaces the served model; used from the event loop only."""

    path: Path
    metrics: ServiceMetrics
    timeout: float
    """The seconds that a request waits for the first model."""
    verify: bool = True
    feedback: Feedback | None = None
    rules: RulesFile | None = None
    completeness: float | None = field(default=None, init=False)
    """How complete the labels are, if somebody said so on the page."""
    loaded: ServedModel | None = field(default=None, init=False)
    """The served model, or None if none is loaded yet."""
    failure: str | None = field(default=None, init=False)
    """Why the last model could not be loaded."""
    _first_attempt_done: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _load_lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def current(self) -> ServedModel:
        """Return the served model; wait for the first one to load, up to the timeout."""
        if self.loaded is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._first_attempt_done.wait(), self.timeout)
            if self.loaded is None:
                raise unavailable(self.failure or STILL_LOADING)
        return self.loaded

    async def load(self, path: Path | None = None) -> ServedModel:
        """Load the model directory, or another, and serve it; on failure the old model stays and an error is raised."""
        path = path or self.path
        async with self._load_lock:
            try:
                new = await asyncio.to_thread(
                    ServedModel.load,
                    path,
                    verify=self.verify,
                    feedback=self.feedback,
                    rules=self.rules,
                    completeness=self.completeness,
                )
            except Exception as error:
                self.metrics.loading_failures.inc()
                reason = error if isinstance(error, VseError) else ModelError(f"{path}: {error}")
                self.failure = str(reason)
                if self.loaded is not None:
                    _log.error("still serving the old model: %s", reason, exc_info=reason is not error)
                raise reason from error
            finally:
                self._first_attempt_done.set()
            old, self.loaded, self.failure = self.loaded, new, None
        self.metrics.set_model(new.fingerprint)
        if old is not None:
            old.retire()
            self.metrics.swaps.inc()
        _log.info("serving %s, model %s", new.name, new.fingerprint)
        return new

    def close(self) -> None:
        """Stop the background jobs of the served model."""
        if self.loaded is not None:
            self.loaded.retire()
