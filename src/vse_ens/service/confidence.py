"""The confidences of the served model, corrected by people's verdicts: when it is loaded, and as verdicts come in."""

from __future__ import annotations

import asyncio
import logging

from vse_ens.curate.verdict_calibration import MIN_VERDICTS, WANTED_VERDICTS
from vse_ens.data.feedback.verdicts import Feedback
from vse_ens.errors import VseError
from vse_ens.service.models import ModelManager, ServedModel
from vse_ens.service.schemas import ConfidenceState

# Verdicts after which confidences are corrected again; a correction takes a fraction of a second.
_EVERY = 25

_log = logging.getLogger(__name__)


def confidence_state(served: ServedModel, new: int) -> ConfidenceState | None:
    """Return what the confidences of a model rest on, with ``new`` verdicts since; None if it has none."""
    calibration = served.annotator.calibration_
    if calibration is None or calibration.completeness is None:
        return None
    found = calibration.completeness
    return ConfidenceState(
        completeness=round(found.mean, 4),
        given=found.is_given,
        verdicts=served.verdicts.seen + new,
        used=found.correction.verdicts,
        needed=MIN_VERDICTS,
        wanted=WANTED_VERDICTS,
    )


class VerdictCalibrator:
    """Corrects confidences after every few verdicts; used from the event loop only."""

    def __init__(self, models: ModelManager, feedback: Feedback) -> None:
        self._models = models
        self._feedback = feedback
        self.new = 0
        """Verdicts since the last correction."""
        self._task: asyncio.Task[None] | None = None

    def note(self, verdicts: int) -> None:
        """Count verdicts that were stored; enough of them start a correction, one at a time."""
        self.new += verdicts
        if self.new >= _EVERY and self._task is None:
            self.new = 0
            self._task = asyncio.create_task(self._correct())
            self._task.add_done_callback(self._finished)

    def close(self) -> None:
        """Abandon a correction that is running."""
        if self._task is not None:
            self._task.cancel()

    async def _correct(self) -> None:
        served = await self._models.current()
        try:
            await asyncio.to_thread(served.use_verdicts, self._feedback)
        except VseError as error:
            _log.error("confidences could not be corrected by verdicts: %s", error)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled():
            if (error := task.exception()) is not None:
                _log.error("confidences could not be corrected by verdicts", exc_info=error)
            self.note(0)
