"""Child processes, so that RAM and compiled code of one measurement do not affect another, and their RAM."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CODE = """\
import json, sys
from {module} import {name}
print(json.dumps({name}(*json.loads(sys.argv[1]))))
"""


def command(function: Callable[..., Any], *arguments: Any) -> list[str]:
    """Return the command that calls a module's function in a new interpreter and prints its result as JSON."""
    code = _CODE.format(module=function.__module__, name=function.__name__)
    return [sys.executable, "-c", code, json.dumps(arguments)]


def call(function: Callable[..., Any], *arguments: Any, **environment: str) -> Any:
    """Return the result of ``function`` in a child process. Arguments and result must be JSON values."""
    done = subprocess.run(
        command(function, *arguments), check=True, stdout=subprocess.PIPE, text=True, env=os.environ | environment
    )
    return json.loads(done.stdout.splitlines()[-1])


def resident_bytes() -> int:
    """Return the RAM that this process holds now."""
    return _status("VmRSS")


def peak_bytes() -> int:
    """Return the most RAM that this process has held.

    `getrusage` would include the peak of the process that started this one.
    """
    return _status("VmHWM")


class PeakPrivateRam:
    """The most private RAM that this process holds within a block; memory-mapped files do not count."""

    def __enter__(self) -> PeakPrivateRam:
        self.bytes = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.02):
            self.bytes = max(self.bytes, _status("RssAnon"))


def cpu_seconds(process: int) -> float:
    """Return the processor time that a running process has used."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _status(field: str) -> int:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[field].split()[0]) * 1024
