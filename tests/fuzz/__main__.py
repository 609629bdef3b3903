"""Fuzz for some seconds per target: ``python -m tests.fuzz SECONDS [TARGET ...]``; ``make fuzz`` calls it.

Atheris mutates the stored files by what code they reach. Where it has no wheel, the same files are mutated at random.
An input that breaks a promise is stored in ``tests/fuzz/found``; `tests/fuzz/test_stored.py` runs it from then on.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import pkgutil
import random
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.support.mutations import damaged

HERE = Path(__file__).parent
MAX_BYTES = 1 << 14


def fuzz(name: str, seconds: float, seed: int) -> int:
    """Fuzz a target in this process, without Atheris; return the number of inputs."""
    from tests.fuzz.targets import TARGETS, starts

    contents = starts(name)
    chance, end, count = random.Random(seed), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        content = damaged(chance.choice(contents), chance)
        count += 1
        try:
            TARGETS[name](content)
        except Exception:  # noqa: BLE001  # whatever it is, it is a fault
            traceback.print_exc()
            keep(name, content)
            sys.exit(1)
    return count


def keep(name: str, content: bytes) -> None:
    """Store an input that broke a promise."""
    path = HERE / "found" / name / hashlib.sha256(content).hexdigest()[:16]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    print(f"{name}: stored {path}", flush=True)


def with_atheris(name: str, seconds: int) -> None:
    """Fuzz a target in this process with Atheris, which ends it."""
    import atheris

    import vse_ens.kernels

    # Imported first, and so left as they are: Numba cannot compile kernels that Atheris has changed.
    for module in pkgutil.iter_modules(vse_ens.kernels.__path__, "vse_ens.kernels."):
        importlib.import_module(module.name)
    with atheris.instrument_imports(include=["vse_ens"]):
        from tests.fuzz.targets import TARGETS, starts
    with tempfile.TemporaryDirectory() as corpus:
        contents = starts(name)
        longest = max(MAX_BYTES, *(2 * len(content) for content in contents))
        for number, content in enumerate(contents):
            (Path(corpus) / str(number)).write_bytes(content)
        options = [f"-max_total_time={seconds}", f"-max_len={longest}", "-timeout=60", "-rss_limit_mb=3000"]
        found = HERE / "found" / name
        found.mkdir(parents=True, exist_ok=True)
        atheris.Setup([name, *options, "-print_final_stats=1", f"-artifact_prefix={found}/", corpus], TARGETS[name])
        atheris.Fuzz()


def main(arguments: list[str]) -> int:
    """Fuzz each target in a process of its own, since a fault in a library may end it."""
    if arguments[:1] == ["--here"]:
        name, seconds = arguments[1], int(arguments[2])
        if importlib.util.find_spec("atheris"):
            with_atheris(name, seconds)
        else:
            print(f"{name}: {fuzz(name, seconds, seed=time.time_ns())} inputs", flush=True)
        return 0
    from tests.fuzz.targets import TARGETS

    failed = []
    for name in arguments[1:] or TARGETS:
        print(f"== {name}", flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "tests.fuzz", "--here", name, arguments[0]],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        lines = done.stdout.splitlines()
        kept = [line for line in lines if "number_of_executed_units" in line or "inputs" in line]
        print("\n".join(kept if done.returncode == 0 else lines[-40:]), flush=True)
        if done.returncode:
            failed.append(name)
        found = HERE / "found" / name
        if found.is_dir() and not any(found.iterdir()):
            found.rmdir()
    print(f"failed: {', '.join(failed)}" if failed else "no fault found")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["60"]))
