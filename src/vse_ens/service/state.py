"""All that the answers need, in one hand; made once an application."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import UnknownIdError
from vse_ens.service.errors import ApiError
from vse_ens.service.executor import BoundedExecutor
from vse_ens.service.metrics import Metrics
from vse_ens.service.models import ModelManager, ServedModel
from vse_ens.service.settings import Settings
from vse_ens.service.verdicts import Feedback


class Service:
    """The model, the feedback on it, and the threads that work for both."""

    def __init__(self, settings: Settings) -> None:
        limits = settings.limits
        self.settings = settings
        self.metrics = Metrics()
        self.holder = ModelManager(settings.model, self.metrics, limits.ready_seconds)
        self.heavy = BoundedExecutor("heavy", limits.threads, limits.waiting, limits.answer_seconds)
        # Of their own, so that a click is kept at once while others search.
        self.disk = BoundedExecutor("disk", 1, limits.waiting, limits.answer_seconds)
        self._feedback = Feedback(settings.feedback) if settings.feedback is not None else None
        self._first: asyncio.Task[ServedModel] | None = None

    def start(self) -> asyncio.Task[ServedModel]:
        """Begin to load the first model; requests come in meanwhile and wait for it."""
        if self._first is None:
            self._first = asyncio.create_task(self.holder.load())
        return self._first

    def close(self) -> None:
        """When the last answer is given."""
        self.holder.close()
        self.heavy.close()
        self.disk.close()
        if self._feedback is not None:
            self._feedback.close()

    @property
    def feedback(self) -> Feedback | None:
        """What people said of suggestions, where that is kept."""
        return self._feedback

    def kept_feedback(self) -> Feedback:
        """The same, for requests that make no sense without."""
        if self._feedback is None:
            raise ApiError(403, "this service keeps no feedback; start it with --feedback FILE.sqlite")
        return self._feedback

    async def check_known(self, vocabulary: Vocabulary, ids: Iterable[str]) -> None:
        """Refuse unknown ids here, not on the event loop: looking for the nearest compares thousands of spellings."""
        for one in ids:
            if one not in vocabulary:
                raise UnknownIdError(one, vocabulary.kind, await self.heavy.run(vocabulary.nearest, one))
