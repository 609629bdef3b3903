"""A small shard worker and task function for tests of pools; both can be made to fail once."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vse_ens.errors import DataError
from vse_ens.run.pool import MergeSpec, Payload, TaskFn
from vse_ens.run.threads import Workers

FACTORY = f"{__name__}.ToyWorker"
MERGE = MergeSpec(f"{__name__}.joined")
TASK = f"{__name__}.toy_task"


class ToyWorker:
    """Each shard has a number that grows by the shared one, so that its result depends on all earlier runs."""

    def __init__(self, settings: Payload, workers: Workers) -> None:
        self._settings = settings
        self._numbers: dict[int, np.ndarray] = {}

    @property
    def keeps_state(self) -> bool:
        return bool(self._settings["keeps_state"])

    def add_shard(self, shard: int, arguments: Payload) -> None:
        if arguments["start"] is None:
            raise DataError("there is nothing to start from")
        self._numbers[shard] = np.array(arguments["start"])

    def run_shard(self, shard: int, shared: Sequence[Payload], arguments: Payload) -> tuple[Sequence[Payload], Payload]:
        harm = arguments.get("harm", {})
        if shard in harm.get("shards", ()):
            _harm(harm)
        self._numbers[shard] = self._numbers[shard] * (2.0 if self.keeps_state else 0.0) + shared[0]["number"] + shard
        return [{"text": f"({shard}:{self._numbers[shard][0]:g})"}], {
            "process": os.getpid(),
            "parent": os.getppid(),
            "amount": 2,
        }

    def save_shard(self, shard: int, arguments: Payload) -> Payload:
        return {"number": self._numbers[shard]} if self.keeps_state else {}

    def load_shard(self, shard: int, state: Payload) -> None:
        if state:
            self._numbers[shard] = np.array(state["number"])


def _harm(harm: dict[str, Any]) -> None:
    """Fail once: in the process that creates the mark first."""
    try:
        Path(harm["mark"]).touch(exist_ok=False)
    except FileExistsError:
        return
    kind = harm["kind"]
    if kind == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif kind == "node killed":
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    elif kind == "hangs":
        time.sleep(600)
    elif kind == "bad data":
        raise DataError("this shard is bad")
    else:
        raise ZeroDivisionError("a slip")


def joined(left: Payload, right: Payload) -> Payload:
    """Show the order and the tree in which results were merged."""
    return {"text": f"[{left['text']} {right['text']}]"}


def toy_task(settings: Payload, workers: Workers) -> TaskFn:
    """Add a number to that of the task."""
    if settings["number"] is None:
        raise DataError("there is no number to add")

    def work(task: Payload) -> Payload:
        if "harm" in task:
            _harm(task["harm"])
        return {"number": task["number"] + settings["number"], "process": os.getpid()}

    return work
