"""Shared application state, one instance per app."""

from __future__ import annotations

import asyncio
from pathlib import Path

from vse_ens.data.feedback.verdicts import Feedback
from vse_ens.data.rules.store import RulesFile
from vse_ens.service.errors import ApiError
from vse_ens.service.jobs import BoundedExecutor
from vse_ens.service.learning import Learner, verdict_calibrator
from vse_ens.service.models import ModelManager, ServedModel
from vse_ens.service.pictures import PictureService
from vse_ens.service.settings import Settings
from vse_ens.service.telemetry import ServiceMetrics

_FEEDBACK, _RULES = ".feedback.sqlite", ".rules.jsonl"


def rules_path(feedback: Path) -> Path:
    """Return the rules file beside a feedback file: ``model.rules.jsonl`` for ``model.feedback.sqlite``."""
    name = feedback.name
    return feedback.with_name((name.removesuffix(_FEEDBACK) if name.endswith(_FEEDBACK) else name) + _RULES)


class Service:
    """The model, the feedback file, the pictures and the worker threads."""

    def __init__(self, settings: Settings) -> None:
        limits = settings.limits
        self.settings = settings
        self.metrics = ServiceMetrics()
        self.feedback = Feedback(settings.feedback) if settings.feedback is not None else None
        """The feedback file, or None if the service runs without one."""
        self._rules = RulesFile(rules_path(settings.feedback)) if settings.feedback is not None else None
        self.models = ModelManager(
            settings.model,
            self.metrics,
            limits.ready_seconds,
            verify=settings.verify,
            feedback=self.feedback,
            rules=self._rules,
        )
        self.compute = BoundedExecutor("compute", limits.threads, limits.waiting, limits.answer_seconds)
        # Separate from `compute`, so that suggestions do not wait for searches, which take seconds with many images.
        self.suggest = BoundedExecutor("suggest", limits.threads, limits.waiting, limits.answer_seconds)
        # Separate from both, so that a verdict is stored without waiting for searches.
        self.disk = BoundedExecutor("disk", 1, limits.waiting, limits.answer_seconds)
        self.pictures = PictureService(settings)
        self.learner: Learner | None = None
        if settings.learn_after and settings.feedback is not None:
            self.learner = Learner(self.models, settings.model, settings.feedback, settings.learn_after)
        self._calibrator = verdict_calibrator(self.models, self.feedback) if self.feedback is not None else None
        self._first_load: asyncio.Task[ServedModel] | None = None

    def learn(self, verdicts: int) -> None:
        """Count verdicts, which correct confidences, and from which the service may learn."""
        if self.learner is not None:
            self.learner.note(verdicts)
        if self._calibrator is not None:
            self._calibrator.note(verdicts)

    @property
    def new_verdicts(self) -> int:
        """Verdicts since confidences were last corrected by them."""
        return 0 if self._calibrator is None else self._calibrator.new

    def start(self) -> asyncio.Task[ServedModel]:
        """Start to load the first model; requests that arrive meanwhile wait for it."""
        if self._first_load is None:
            self._first_load = asyncio.create_task(self._load_first())
        return self._first_load

    async def _load_first(self) -> ServedModel:
        served = await self.models.load()
        self.pictures.source(served)  # the policy of the page names the hosts of its pictures
        return served

    def close(self) -> None:
        """Release threads and files after the last response."""
        workers = (self.learner, self._calibrator, self.models, self.compute, self.suggest, self.disk, self.pictures)
        for one in (*workers, self.feedback):
            if one is not None:
                one.close()

    def require_feedback(self) -> Feedback:
        """Return the feedback file, or raise an `ApiError` if the service runs without one."""
        if self.feedback is None:
            raise ApiError(403, "this service stores no feedback; start it with --feedback FILE.sqlite")
        return self.feedback

    def require_rules(self) -> RulesFile:
        """Return the rules file, or raise an `ApiError` if the service stores nothing."""
        if self._rules is None:
            raise ApiError(403, "this service stores no rules; start it with --feedback FILE.sqlite")
        return self._rules

    async def check_known(self, served: ServedModel, image: str) -> None:
        """Raise `UnknownIdError` for an unknown image, on a thread: similar IDs are looked for among thousands."""
        images = served.annotator.known_.images
        if image not in images:
            raise await self.compute.run(images.unknown, image)
