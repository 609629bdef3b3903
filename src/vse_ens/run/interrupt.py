"""Ctrl-C as a wish, not an axe: the work under way is finished first."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interrupt:
    """Inside the block, the first Ctrl-C only sets ``requested``; a second one interrupts as usual.

    Outside the main thread signals cannot be caught, and nothing changes.
    """

    def __init__(self) -> None:
        self.requested = False
        self._before: Any = None

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, _signal: int, _frame: FrameType | None) -> None:
        self.requested = True
        signal.signal(signal.SIGINT, self._before)
