"""Work after every few verdicts: the model is updated by a process of its own, and confidences are corrected."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from vse_ens.curate.verdict_calibration import MIN_VERDICTS, WANTED_VERDICTS
from vse_ens.data.feedback.verdicts import Feedback
from vse_ens.errors import VseError
from vse_ens.service.models import ModelManager, ServedModel
from vse_ens.service.schemas import ConfidenceState, LearningState

# Verdicts after which confidences are corrected again; a correction takes a fraction of a second.
_EVERY = 25

_log = logging.getLogger(__name__)


class AfterVerdicts:
    """Works after every few verdicts, once at a time; used from the event loop only."""

    def __init__(self, after: int, work: Callable[[], Coroutine[Any, Any, None]], failed: str) -> None:
        self.after = after
        self.new = 0
        """Verdicts since the work was last begun."""
        self.failure: str | None = None
        """Why the work last failed; the work forgets it."""
        self._work, self._failed = work, failed
        self._task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """Whether the work is under way."""
        return self._task is not None

    def note(self, verdicts: int) -> None:
        """Count verdicts that were stored; enough of them start the work."""
        self.new += verdicts
        if self.new >= self.after and self._task is None:
            self.new = 0
            self._task = asyncio.create_task(self._work())
            self._task.add_done_callback(self._finished)

    def close(self) -> None:
        """Abandon work in progress."""
        if self._task is not None:
            self._task.cancel()

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            self.failure = str(error)
            _log.error(self._failed, self.failure, exc_info=None if isinstance(error, VseError) else error)
        # Verdicts that came meanwhile may be enough to begin again.
        self.note(0)


def learnt_path(model: Path) -> Path:
    """Return the directory of the updated model, beside the model that was trained."""
    return model.with_name(f"{model.resolve().name}.learnt")


class Learner(AfterVerdicts):
    """Runs ``vse update`` on the trained model and all feedback, and serves the result.

    The trained model is only read: every update starts from it, so updates do not add up errors, and a restart or a
    reload serves it again.
    """

    def __init__(self, models: ModelManager, model: Path, feedback: Path, after: int) -> None:
        super().__init__(after, self._update, "the model could not be updated: %s")
        self._models = models
        self._out = learnt_path(model)
        self._command = [
            *(sys.executable, "-m", "vse_ens", "update", str(model), str(feedback)),
            *("--out", str(self._out), "--workers", "1"),
        ]
        self._updates = 0
        self._process: asyncio.subprocess.Process | None = None

    @property
    def state(self) -> LearningState:
        """How far the next update is."""
        return LearningState.of(self, decisions=self.new, updates=self._updates)

    def close(self) -> None:
        """Abandon an update that is running."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
        super().close()

    async def _update(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        _, said = await self._process.communicate()
        failed, self._process = self._process.returncode, None
        if failed:
            raise VseError((said.decode(errors="replace").strip().splitlines() or ["no message"])[-1])
        await self._models.load(self._out)
        self.failure = None
        self._updates += 1


def verdict_calibrator(models: ModelManager, feedback: Feedback) -> AfterVerdicts:
    """Return what corrects the confidences of the served model by people's verdicts."""

    async def correct() -> None:
        served = await models.current()
        await asyncio.to_thread(served.use_verdicts, feedback)

    return AfterVerdicts(_EVERY, correct, "confidences could not be corrected by verdicts: %s")


def confidence_state(served: ServedModel, new: int) -> ConfidenceState | None:
    """Return what the confidences of a model rest on, with ``new`` verdicts since; None if it has none."""
    calibration = served.annotator.calibration_
    if calibration is None or calibration.completeness is None:
        return None
    found = calibration.completeness
    return ConfidenceState(
        completeness=round(found.mean, 4),
        given=found.is_given,
        verdicts=served.verdicts + new,
        used=found.correction.verdicts,
        needed=MIN_VERDICTS,
        wanted=WANTED_VERDICTS,
    )
