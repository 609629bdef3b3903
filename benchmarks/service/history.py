"""History checker: processes write at once, are killed at random and run out of disk, and the history must make sense.

Each process logs an operation before it starts and after it was acknowledged. Afterwards, a subject compares the log
with the files: every acknowledged event is there exactly once, and the state equals that of a simple model. Subjects
are feedback (`history_feedback`), rules (`history_rules`) and write-back to collections (`history_write_back`).

A kill ends a process, not the machine. That a commit waits for the disk is tested in tests/data/feedback.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import select
import shutil
import subprocess
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from signal import SIGKILL
from typing import Any, NamedTuple, NoReturn, Protocol

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.process import command
from benchmarks.service.history_feedback import FeedbackSubject
from benchmarks.service.history_rules import RulesSubject
from benchmarks.service.history_write_back import WriteBackSubject
from vse_ens.errors import VseError

# Bytes of the small file system, and seconds between the times at which it is full.
_DISK_BYTES = 8_000_000
_FULL_EVERY = 2.0
_FULL_FOR = 0.3


class Operation(NamedTuple):
    """An operation of a process; times are of one clock for all processes."""

    name: str
    what: Any
    begun: int
    ended: int | None
    """None if the process was killed before."""
    result: Any
    """The answer, if it was acknowledged."""
    error: str | None
    """The class and message of the error, if it was refused."""


class Session(Protocol):
    """What one process does with the files."""

    def draw(self, random: Random) -> Any:
        """Return a random operation as a JSON value of less than 3,000 bytes."""

    def run(self, name: str, what: Any) -> Any:
        """Run an operation under a unique name and return its answer as a JSON value."""

    def close(self) -> None:
        """Close the files as a process does that ends by itself."""


class Subject(Protocol):
    """Files that several processes write, and how to check them."""

    def open(self, folder: Path) -> Session:
        """Open the files in a process."""

    def check(self, folder: Path, operations: list[Operation]) -> tuple[list[str], dict[str, int]]:
        """Return the faults of a history, one sentence each, and counts for the report."""


SUBJECTS: dict[str, Callable[[], Subject]] = {
    "feedback": FeedbackSubject,
    "rules": RulesSubject,
    "write-back": WriteBackSubject,
}


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    seconds: float = 600.0
    """Duration of all rounds of a subject. Each round starts with no files."""
    round_seconds: float = 10.0
    processes: int = 4
    seed: int = 0
    subjects: tuple[str, ...] = tuple(SUBJECTS)


def measure(sizes: Sizes) -> Raw:
    """Run rounds of every subject, in turn with enough disk and on a small file system that fills up."""
    raw: Raw = {**asdict(sizes), "skipped": [], "faults": [], "counts": {name: {} for name in sizes.subjects}}
    small_disk = _can_mount()
    if not small_disk:
        raw["skipped"].append("A full file system: unshare cannot mount one here. File size limits were used instead.")
    rounds = max(1, round(sizes.seconds / sizes.round_seconds))
    for number, name in itertools.product(range(rounds), sizes.subjects):
        on_small_disk = small_disk and number % 2 == 1
        found = _call_round(name, sizes, number, on_small_disk)
        raw["faults"] += [f"{name}, seed {sizes.seed}, round {number}: {fault}" for fault in found["faults"]]
        counts = Counter(raw["counts"][name])
        counts.update(found["counts"], seconds=round(min(sizes.seconds, sizes.round_seconds)))
        raw["counts"][name] = dict(counts)
        log(f"{name}, round {number + 1} of {rounds}: {found['counts']}")
    return raw


def _call_round(subject: str, sizes: Sizes, number: int, on_small_disk: bool) -> dict[str, Any]:
    """Run a round in a new interpreter, because only a process without threads can fork safely."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        started = command(run_round, subject, folder, asdict(sizes), number, on_small_disk)
        if on_small_disk:
            mount = f'mount -t tmpfs -o size={_DISK_BYTES} tmpfs "$0" && exec "$@"'
            started = ["unshare", "-Urm", "sh", "-c", mount, folder, *started]
        done = subprocess.run(started, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        mount = ["unshare", "-Urm", "mount", "-t", "tmpfs", "tmpfs", folder]
        return subprocess.run(mount, check=False, capture_output=True).returncode == 0


def run_round(
    subject_name: str, folder: str, given: dict[str, Any], number: int, on_small_disk: bool
) -> dict[str, Any]:
    """Run processes for a while and return faults and counts."""
    sizes, subject = Sizes(**given), SUBJECTS[subject_name]()
    random = Random(f"{sizes.seed} {number}")  # not for secrets
    chaos = _Chaos(subject, Path(folder), sizes.processes, random, on_small_disk)
    chaos.run(min(sizes.seconds, sizes.round_seconds))
    faults, counts = subject.check(Path(folder), chaos.operations())
    return {"faults": faults, "counts": {**chaos.counts, **counts}}


@dataclass
class _Life:
    """A process, the pipe with its log, and when it is to be killed."""

    pid: int
    pipe: int
    end: float
    log: bytes = b""


class _Chaos:
    """Starts processes, kills them and fills the disk."""

    def __init__(self, subject: Subject, folder: Path, processes: int, random: Random, on_small_disk: bool) -> None:
        self._subject = subject
        self._folder = folder
        self._processes = processes
        self._random = random
        self._on_small_disk = on_small_disk
        self._lives: list[_Life] = []
        self._running: list[_Life] = []
        self.counts: Counter[str] = Counter()

    def run(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        # At least one kill, however slow the machine is.
        while time.monotonic() < deadline or not self.counts["kills"]:
            while len(self._running) < self._processes:
                self._start()
            self._read_logs(0.01)
            if self._on_small_disk:
                self._fill_disk()
            now = time.monotonic()
            for life in [one for one in self._running if one.end < now]:
                self._kill(life)
        self._ballast.unlink(missing_ok=True)
        for life in list(self._running):
            self._kill(life)

    def _start(self) -> None:
        reading, writing = os.pipe()
        seed = self._random.random()
        number = len(self._lives)
        pid = os.fork()
        if not pid:
            for life in self._running:
                os.close(life.pipe)
            os.close(reading)
            _live(self._subject, self._folder, number, Random(seed), writing, self._on_small_disk)
        os.close(writing)
        life = _Life(pid, reading, time.monotonic() + self._random.expovariate(2.0))
        self._lives.append(life)
        self._running.append(life)
        self.counts["processes"] += 1

    def _read_logs(self, seconds: float) -> None:
        readable, _, _ = select.select([life.pipe for life in self._running], [], [], seconds)
        for life in [one for one in self._running if one.pipe in readable]:
            piece = os.read(life.pipe, 1 << 16)
            life.log += piece
            if not piece:  # it ended by itself
                self._bury(life)

    def _kill(self, life: _Life) -> None:
        os.kill(life.pid, SIGKILL)
        self.counts["kills"] += 1
        while piece := os.read(life.pipe, 1 << 16):
            life.log += piece
        self._bury(life)

    def _bury(self, life: _Life) -> None:
        os.close(life.pipe)
        _, status = os.waitpid(life.pid, 0)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status):
            raise RuntimeError("a process failed; its traceback is above")
        self._running.remove(life)

    @property
    def _ballast(self) -> Path:
        return self._folder / "ballast"

    def _fill_disk(self) -> None:
        """Fill the file system for a part of the time."""
        is_time = time.monotonic() % _FULL_EVERY < _FULL_FOR
        if is_time and not self._ballast.exists():
            self.counts["times the disk was full"] += 1
            with self._ballast.open("wb", buffering=0) as file, suppress(OSError):
                while True:
                    file.write(b"\0" * 4_096)
        elif not is_time:
            self._ballast.unlink(missing_ok=True)

    def operations(self) -> list[Operation]:
        """Return the operations of all processes."""
        found: dict[str, Operation] = {}
        for life in self._lives:
            for line in life.log.splitlines():
                entry = json.loads(line)
                name = entry["name"]
                if "begun" in entry:
                    found[name] = Operation(name, entry["what"], entry["begun"], None, None, None)
                else:
                    found[name] = found[name]._replace(**entry)
        return list(found.values())


def _live(subject: Subject, folder: Path, number: int, random: Random, log_pipe: int, on_small_disk: bool) -> NoReturn:
    """Run operations until killed, or until the planned end."""
    status = 1
    try:
        if not on_small_disk and random.random() < 0.3:
            # Writes beyond fail, possibly in the middle, as they do on a full disk.
            limit = 4_096 * random.randrange(1, 100)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        _work(subject, folder, number, random, log_pipe)
        status = 0
    except BaseException:  # noqa: BLE001  # the process must not return to its parent's code
        traceback.print_exc()
    os._exit(status)


def _work(subject: Subject, folder: Path, number: int, random: Random, log_pipe: int) -> None:
    def tell(**entry: Any) -> None:
        line = json.dumps(entry).encode() + b"\n"
        assert len(line) <= select.PIPE_BUF, "longer lines are not written at once"
        os.write(log_pipe, line)

    try:
        session = subject.open(folder)
    except VseError:  # for example a full disk
        return
    for count in range(random.randrange(1, 2_000)):
        name = f"{number}.{count}"
        what = session.draw(random)
        tell(name=name, what=what, begun=time.monotonic_ns())
        try:
            result = session.run(name, what)
        except VseError as error:
            tell(name=name, ended=time.monotonic_ns(), error=f"{type(error).__name__}: {error}"[:500])
        else:
            tell(name=name, ended=time.monotonic_ns(), result=result)
    session.close()


def score(raw: Raw) -> Score:
    """Return the number of faults, and counts of what was tried."""
    checks = [Check("faults found", len(raw["faults"]), "at most", 0, digits=0)]
    counts = {name: found for name, found in raw["counts"].items() if found}
    names = list(dict.fromkeys(name for found in counts.values() for name in found))
    rows = [(name, *(f"{found.get(name, 0):,}" for found in counts.values())) for name in names]
    note = (
        f"{raw['processes']} processes write at once, in rounds of {raw['round_seconds']:g} s. "
        "Each is killed by SIGKILL after half a second on average. In every second round, the file system is full for "
        f"{_FULL_FOR:g} of every {_FULL_EVERY:g} s; in the others, a third of the processes cannot write files beyond "
        "a random size. Afterwards, the log of what was acknowledged is compared with the file and with a model."
    )
    return Score(checks, [Table(("", *counts), rows)], [note, *raw.get("notes", []), *raw["faults"][:20]])


HISTORY = Benchmark(
    "history",
    "Processes that are killed or run out of disk lose, double or change no acknowledged feedback, rule or write-back.",
    Sizes(),
    Sizes(seconds=4.0, round_seconds=2.0),
    measure,
    score,
    measures=("data/collections", "data/feedback", "data/rules", "storage"),
    repetitions=lambda sizes: int(sizes.seconds / sizes.round_seconds),
    timed=False,
)
