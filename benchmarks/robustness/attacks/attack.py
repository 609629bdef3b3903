"""What an attack is, and the processes that attacks run in: of limited time and memory, or killed."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from vse_ens.errors import VseError

Case = tuple[str, Callable[[], object]]
"""A hostile input by its name, and what is done with it."""
MAX_MESSAGE = 1_000
"""Characters of an error; longer ones fill a terminal."""


@dataclass
class Outcome:
    """What became of the attacks of one kind."""

    tried: int = 0
    faults: list[str] = field(default_factory=list)
    """One sentence for each attack that did not hold."""
    seen: str = ""
    """What happened instead of harm, with what was measured."""
    skipped: str = ""
    """Why nothing was tried."""

    def check(self, holds: bool, fault: str) -> None:
        """Count an attack, and its fault if it did not hold."""
        self.tried += 1
        if not holds:
            self.faults.append(fault)


class Attack(NamedTuple):
    """Attacks of one kind."""

    what: str
    """The attack, for the first column of the table."""
    run: Callable[[int], Outcome]
    """Tries about as many as it is given."""
    times: int
    quick: int
    """How many a smoke test tries."""
    before: str = ""
    """What happened when it was first tried by hand; empty for attacks that were a command from the start."""


class Ended(NamedTuple):
    """How a process of limited time and memory ended."""

    fault: str
    """Empty if it returned, or refused with one sentence."""
    refused: str
    """The sentence of the refusal."""
    cpu: float
    ram: int
    """Bytes that it used beyond those of its parent."""


def limited(work: Callable[[], object], seconds: float = 10.0, ram: int = 1 << 30) -> Ended:
    """Run ``work`` in a forked process of so much CPU time and memory, which a hostile input must not exceed."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        sent = _worked(work, seconds, ram)
        with open(writing, "wb") as pipe:  # noqa: PTH123  # a descriptor
            pickle.dump(sent, pipe)
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:  # noqa: PTH123  # a descriptor
        received = _read(pipe.fileno(), 20 * seconds + 30)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if not received:
        what = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"status {status}"
        reason = {"SIGXCPU": f"more than {seconds:g} s of CPU time", "SIGKILL": "waited without end"}.get(what, what)
        return Ended(reason, "", seconds, 0)
    return Ended(*pickle.loads(received))


def _read(descriptor: int, seconds: float) -> bytes:
    """Return what a pipe gives until it is closed, or nothing after a time."""
    os.set_blocking(descriptor, False)
    received, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            piece = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            time.sleep(0.002)
            continue
        if not piece:
            return received
        received += piece
    return b""


def _worked(work: Callable[[], object], seconds: float, ram: int) -> tuple[str, str, float, int]:
    before, started = _status("VmRSS"), time.process_time()
    most = _status("VmSize") + ram
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.disable()
    fault, refused = "", ""
    quiet = os.open(os.devnull, os.O_RDWR)
    os.dup2(quiet, 1)
    try:
        work()
    except VseError as error:
        refused = str(error)
        if "\n" in refused or len(refused) > MAX_MESSAGE:
            fault = f"a message of {len(refused):,} characters"
    except MemoryError:
        fault = f"more than {ram >> 20:,} MB"
    except BaseException as error:  # noqa: BLE001  # whatever it is, it is a fault
        place = traceback.extract_tb(error.__traceback__)[-1]
        fault = f"{type(error).__name__} at {place.name}: {str(error)[:200]}"
    cpu = time.process_time() - started
    if cpu > seconds:
        fault = fault or f"more than {seconds:g} s of CPU time"
    return fault, refused, cpu, max(0, _status("VmHWM") - before)


def _status(name: str) -> int:
    with open("/proc/self/status") as file:  # noqa: PTH123
        return next(int(line.split()[1]) for line in file if line.startswith(name)) * 1024


def all_limited(
    cases: Iterable[tuple[str, Callable[[], object]]], seconds: float = 10.0, ram: int = 1 << 30
) -> Outcome:
    """Run cases in limited processes and return how many held, with the most CPU time and memory."""
    outcome, cpu, used, refused = Outcome(), 0.0, 0, 0
    for name, work in cases:
        ended = limited(work, seconds, ram)
        outcome.check(not ended.fault, f"{name}: {ended.fault}")
        cpu, used, refused = max(cpu, ended.cpu), max(used, ended.ram), refused + bool(ended.refused)
    outcome.seen = (
        f"{refused:,} refused in one sentence, {outcome.tried - refused - len(outcome.faults):,} read; "
        f"at most {cpu:.1f} s and {used / 1e6:,.0f} MB"
    )
    return outcome


def _tell(descriptor: int) -> None:
    os.write(descriptor, b"!")


class Child:
    """A forked process that tells how far it is, and can be killed."""

    def __init__(self, work: Callable[[Callable[[], None]], Any]) -> None:
        self._hear, tell = os.pipe()
        self._log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115  # closed by `end`
        self.pid = os.fork()
        if not self.pid:
            os.close(self._hear)
            status = 1
            try:
                os.setsid()
                for standard in (1, 2):
                    os.dup2(self._log.fileno(), standard)
                work(lambda: _tell(tell))
                status = 0
            except BaseException:  # noqa: BLE001  # the process must not return to its parent's code
                traceback.print_exc(file=sys.__stderr__)  # pytest has another
            finally:
                sys.stderr.flush()
                os._exit(status)
        os.close(tell)

    def heard(self) -> bool:
        """Wait until it tells something; return False if it ended."""
        return bool(os.read(self._hear, 1))

    def kill(self) -> bool:
        """Kill it with all that it started, and return whether that ended it: it had not ended before."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        return self.end() == -signal.SIGKILL

    def end(self) -> int:
        """Wait for its end and return its status."""
        os.close(self._hear)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self._log.seek(0)
        self.said = self._log.read()[-2_000:]
        self._log.close()
        return status

    def must_end(self) -> None:
        """Wait for its end, which must be a good one."""
        if self.end():
            raise RuntimeError(f"what was left alone failed: {self.said}")


def command(*arguments: object) -> None:
    """Run ``vse`` in this process; its errors are raised, not printed."""
    from vse_ens.cli.app import VSE
    from vse_ens.cli.errors import CliState

    status = VSE.main([str(one) for one in arguments], "vse", standalone_mode=False, obj=CliState())
    if status:
        raise SystemExit(status)


def killed_at(number: int, folder: Path, work: Callable[[], None]) -> bool:
    """Run ``work`` and kill it before it touches files of a folder for the ``number``-th time; return whether it did.

    Opening, renaming, removing, locking and flushing count.
    """

    def run(_: Callable[[], None]) -> None:
        _die_at(number, str(folder))
        work()

    return Child(run).end() != 0


def _die_at(number: int, folder: str) -> None:
    count = 0

    def touched() -> None:
        nonlocal count
        count += 1
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(("open", "os.", "sqlite3.connect")) and any(
            isinstance(one, str | os.PathLike) and os.fspath(one).startswith(folder) for one in arguments
        ):
            touched()

    flush = os.fsync

    def counted(descriptor: Any) -> None:
        touched()
        flush(descriptor)

    os.fsync = counted  # type: ignore[assignment]
    sys.addaudithook(hook)
