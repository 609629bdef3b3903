"""The trainings of a reproduction, run side by side, with results on disk."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

from benchmarks.core.load import OtherProcesses
from benchmarks.core.sources import commit, digests
from benchmarks.paper import authors_java
from benchmarks.paper.data_sets import DataSet
from benchmarks.paper.equivalence import EquivalenceObserver
from benchmarks.paper.training import Limits, Stopped, TrainingRun
from vse_ens.config import Config
from vse_ens.experiments.machine import describe_machine
from vse_ens.storage.atomic import write_json
from vse_ens.system import available_cores

# Raised when the stored results no longer mean the same.
_FORMAT = 4
_ENGINE = ("kernels", "train", "model", "evaluate", "streams")

Result = dict[str, Any]


class Listener(Protocol):
    """Receives the progress of a reproduction."""

    def stage(self, title: str, iterations: int) -> None:
        """Handle the start of a group of trainings with this number of iterations in all."""

    def iterations(self, done: int) -> None:
        """Handle the number of finished iterations of the stage."""

    def message(self, text: str) -> None:
        """Handle the end of a training, or another step."""


@dataclass(frozen=True)
class Job:
    """One training."""

    data_set: DataSet
    group: str
    """What it is for: a group of `benchmarks.paper.findings`, or of `benchmarks.paper.run`."""
    name: str
    """The model, the sampler, or the model with the candidate's settings."""
    config: Config
    limits: Limits
    stop_at: int | None = None
    """The iteration at which it would have stopped early, whose model is measured as well."""
    tunes: bool = False
    """Whether it is measured on labels held out of the training part."""

    @property
    def part(self) -> str:
        """The name of the file with its result."""
        return f"{self.data_set.name}-{self.group}-{self.name}-seed{self.config.seed}"

    @property
    def key(self) -> dict[str, Any]:
        """Everything that the result depends on, except for the time limit."""
        limits = {name: value for name, value in asdict(self.limits).items() if name != "seconds"}
        return {
            "config": self.config.to_dict(),
            "pairs": self.data_set.digest,
            "group": self.group,
            "limits": limits,
            "stop_at": self.stop_at,
            "engine": engine_digest(),
        }

    def accepts(self, result: Result) -> bool:
        """Return whether a stored result is as good as a new one: it is complete, or had as much time."""
        return result["ending"] != "out of time" or bool(result["seconds"] >= self.limits.seconds)

    def run(self, stopped: Callable[[], bool], on_epoch: Callable[[int], None]) -> Result:
        """Train and measure."""
        split = self.data_set.tuning_split if self.tunes else self.data_set.split(self.config.seed)
        if self.group == "java":
            return authors_java.train(self.name, split, self.config.seed, stopped, on_epoch, self.config.epochs)
        run = TrainingRun(self.config, split, self.limits, stopped, on_epoch, stop_at=self.stop_at)
        if self.group == "samplers" and self.config.sampler == "vse-ens" and self.config.seed == 0:
            run.observe = observer = EquivalenceObserver(self.config, split.train)
            return {**run.run(), "equivalence": observer.rows}
        return run.run()


def measured(work: Callable[[], Result]) -> Result:
    """Return a result with where it comes from: the code, the machine, and what else ran there meanwhile."""
    machine = describe_machine()
    facts = {"commit": commit(), **{name: machine[name] for name in ("date", "processor", "python", "numba")}}
    before = os.getloadavg()[0]
    started = time.perf_counter()
    with OtherProcesses() as others:
        result = work()
    provenance = {
        **facts,
        "load": [round(before, 2), round(os.getloadavg()[0], 2)],
        "others": None if others.cores is None else round(others.cores, 3),
        "wall_seconds": round(time.perf_counter() - started, 1),
    }
    return {**result, "provenance": provenance}


@cache
def engine_digest() -> str:
    """Return a hash of the code that trains and measures: a result of other code is not used again."""
    return hashlib.sha256("".join(digests(_ENGINE).values()).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class ResultCache:
    """A folder with the result of each finished part as a JSON file."""

    folder: Path
    fresh: bool = False
    """Ignore results of earlier runs."""

    def get(self, part: str, key: Mapping[str, Any]) -> Any:
        """Return the stored result of a part; None if there is none with this key, or if it is damaged."""
        if self.fresh:
            return None
        try:
            stored = json.loads(self._path(part).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        same = isinstance(stored, dict) and stored.get("key") == _as_stored(key)
        return stored.get("result") if same else None

    def put(self, part: str, key: Mapping[str, Any], result: Any) -> None:
        """Store a result, atomically."""
        write_json(self._path(part), {"key": _as_stored(key), "result": result})

    def _path(self, part: str) -> Path:
        return self.folder / f"{part}.json"


def _as_stored(key: Mapping[str, Any]) -> Any:
    """Return a key as it is read back: tuples are lists."""
    return json.loads(json.dumps({"format": _FORMAT, **key}))


def run_jobs(
    title: str, jobs: Sequence[Job], cache: ResultCache, listener: Listener, workers: int | None
) -> Iterator[tuple[Job, Result]]:
    """Yield the result of every job, stored ones first, the others as they finish.

    Every training uses one core; ``workers`` of them run side by side. If the caller stops, so do they.
    """
    missing = []
    for job in jobs:
        stored = cache.get(job.part, job.key)
        if stored is None or not job.accepts(stored):
            missing.append(job)
        else:
            yield job, stored
    if not missing:
        return
    listener.stage(title, sum(job.config.epochs for job in missing))
    stop, lock = threading.Event(), threading.Lock()
    done = 0

    def on_epoch(_epoch: int) -> None:
        nonlocal done
        with lock:
            done += 1
            listener.iterations(done)

    # The longest first, so that none of them is left over at the end.
    missing.sort(key=lambda job: job.config.epochs * job.data_set.data.pairs, reverse=True)
    with ThreadPoolExecutor(workers or available_cores()) as pool:
        running = {pool.submit(measured, partial(job.run, stop.is_set, on_epoch)): job for job in missing}
        try:
            while running:
                # With a time limit, because Ctrl-C does not interrupt a wait without one on every system.
                finished, _ = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in finished:
                    job, result = running.pop(future), future.result()
                    cache.put(job.part, job.key, result)
                    listener.message(_sentence(job, result))
                    yield job, result
        except Stopped:
            raise KeyboardInterrupt from None
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


def _sentence(job: Job, result: Result) -> str:
    end = {"done": "", "out of time": " (out of time)", "diverged": " (diverged)"}[result["ending"]]
    return (
        f"{job.data_set.title}, {job.group}, {job.name}, seed {job.config.seed}: recall@10 "
        f"{result['metrics']['recall@10']:.4f} after {result['iterations']} iterations, "
        f"{result['seconds']:,.1f} CPU seconds{end}"
    )
