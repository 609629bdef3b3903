"""Learning while people work: after so many decisions, a process of its own updates the model, which is swapped in."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from vse_ens.errors import VseError
from vse_ens.service.models import ModelManager
from vse_ens.service.schemas import LearningState

_log = logging.getLogger(__name__)


def learnt_path(model: Path) -> Path:
    """Return the directory of the updated model, beside the model that was trained."""
    return model.with_name(f"{model.resolve().name}.learnt")


class Learner:
    """Runs ``vse update`` on the trained model and all feedback, and serves the result.

    The trained model is only read: every update starts from it, so updates do not add up errors, and a restart or a
    reload serves it again. Used from the event loop only.
    """

    def __init__(self, models: ModelManager, model: Path, feedback: Path, after: int) -> None:
        self._models = models
        self._command = [
            *(sys.executable, "-m", "vse_ens", "update", str(model), str(feedback)),
            *("--out", str(learnt_path(model)), "--workers", "1"),
        ]
        self._out = learnt_path(model)
        self._after = after
        self._decisions = 0
        self._updates = 0
        self._failure: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None

    @property
    def state(self) -> LearningState:
        """How far the next update is."""
        return LearningState(
            after=self._after,
            decisions=self._decisions,
            running=self._task is not None,
            updates=self._updates,
            failure=self._failure,
        )

    def note(self, decisions: int) -> None:
        """Count decisions that were stored; enough of them start an update, one at a time."""
        self._decisions += decisions
        if self._decisions >= self._after and self._task is None:
            self._decisions = 0
            self._task = asyncio.create_task(self._update())
            self._task.add_done_callback(self._finished)

    def close(self) -> None:
        """Abandon an update that is running."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
        if self._task is not None:
            self._task.cancel()

    async def _update(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        _, said = await self._process.communicate()
        if self._process.returncode:
            lines = said.decode(errors="replace").strip().splitlines() or ["no message"]
            self._failure = lines[-1]
            _log.error("the model could not be updated: %s", self._failure)
            return
        try:
            await self._models.load(self._out)
        except VseError as error:
            self._failure = str(error)
            return
        self._failure = None
        self._updates += 1

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._task = self._process = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failure = str(error)
            _log.error("the model could not be updated", exc_info=error)
        # What was decided meanwhile may be enough for the next update.
        if not task.cancelled():
            self.note(0)
