"""A service in a process of its own, on a free port of this machine."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx

# What `vse serve` does, with limits that a test can reach.
_LIMITED = """
import json, sys
from pathlib import Path
from vse_ens.service.server import run
from vse_ens.service.settings import Limits, Settings

limits = Limits(body_bytes=10_000, head_bytes=5_000, connections=20, stop_seconds=1.0, **json.loads(sys.argv[2]))
settings = Settings(Path(sys.argv[1]), port=0, limits=limits)
run(settings, lambda served: print(json.dumps({"address": served.address}), flush=True))
"""

_ENDLESS_WORK = """
from vse_ens.service import server
from vse_ens.service.models import ServedModel

def endless(*_, **__):
    print("begun", flush=True)
    while True:
        pass

def load(path, load=ServedModel.load, **how):
    served = load(path, **how)
    served.annotator.search = served.annotator.annotate_numbers = endless
    return served

ServedModel.load = load
"""

# For hangs only: whoever is slow, on a busy machine, is served.
_PATIENT: dict[str, float] = {"receive_seconds": 300.0, "send_seconds": 300.0, "idle_seconds": 300}


class Process:
    """A running service, and all it has said on standard error."""

    def __init__(self, command: list[str]) -> None:
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  # closed by close
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._log, text=True)
        try:
            address = json.loads(self._document())["address"]
        except ValueError:
            self.close()
            raise AssertionError(self.log) from None
        self.port = urlsplit(address).port or 0
        self.http = httpx.Client(base_url=address, timeout=300)

    def _document(self) -> str:
        """What is said on standard output when the model is there: one JSON document, or nothing at all."""
        text = ""
        for line in self.process.stdout or ():
            text += line
            if line.startswith("}") or line.endswith("}\n"):
                break
        return text

    @property
    def log(self) -> str:
        self._log.seek(0)
        return self._log.read()

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=300)


@contextmanager
def serving(model: Path, *options: str) -> Iterator[Process]:
    """``vse serve`` as a user has it."""
    command = [sys.executable, "-m", "vse_ens", "serve", str(model), "--port", "0", "--json", *options]
    yield from _running(command)


@contextmanager
def serving_with_endless_work(model: Path) -> Iterator[Process]:
    """The same with low limits and requests without an end: a search blocks a thread, suggestions the event loop."""
    yield from _limited(_ENDLESS_WORK + _LIMITED, model, _PATIENT)


@contextmanager
def serving_with_low_limits(model: Path) -> Iterator[Process]:
    """The same with few connections and small requests, however long these take."""
    yield from _limited(_LIMITED, model, _PATIENT)


@contextmanager
def serving_with_short_limits(model: Path) -> Iterator[Process]:
    """The same with limits of time that a test can wait for. A client that stalls reaches them too and asks again."""
    yield from _limited(_LIMITED, model, {"receive_seconds": 0.5, "idle_seconds": 1})


def _limited(code: str, model: Path, seconds: dict[str, float]) -> Iterator[Process]:
    return _running([sys.executable, "-c", code, str(model), json.dumps(seconds)])


def _running(command: list[str]) -> Iterator[Process]:
    started = Process(command)
    try:
        yield started
    finally:
        started.http.close()
        started.close()
