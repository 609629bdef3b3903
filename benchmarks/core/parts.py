"""A benchmark that is measured in parts: each is stored as soon as it is done, and can be measured again alone.

Every part has the facts of the machine, the date and the commit of its own run, and the hashes of the code it measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.core.benchmark import Parts, Raw, log
from benchmarks.core.load import OtherProcesses
from benchmarks.core.results import Result, machine
from benchmarks.core.sources import digests

_VARIOUS = "various"
"""In place of a hash, where parts were measured with different code: it equals none, so that the result is stale."""


def chosen_parts(names: Sequence[str], only: Sequence[str], stored: Mapping[str, Any]) -> list[str]:
    """Return the parts to measure: those named by ``only``, by a whole name or a word of it, else all not stored.

    A part that was skipped, for want of a library or of data, is tried again.
    """
    if not only:
        return [name for name in names if name not in stored or "skipped" in stored[name]["raw"]]
    chosen = [name for name in names if any(f" {one} " in f" {name} " for one in only)]
    unknown = [one for one in only if not any(f" {one} " in f" {name} " for name in names)]
    if unknown:
        raise ValueError(f"no part {unknown[0]!r}; choose from {', '.join(names)}, or a part of such a name")
    return chosen


def measure_parts(
    parts: Parts[Any],
    sizes: Any,
    only: Sequence[str] = (),
    stored: Result | None = None,
    keep: Callable[[Result], None] = lambda _: None,
) -> Result:
    """Measure the chosen parts, one after another, and call ``keep`` with all that is measured after each."""
    names = parts.names(sizes)
    found: Raw = dict(stored.raw["parts"]) if stored else {}
    for name in chosen_parts(names, only, found):
        log(name)
        facts, sources = machine(), digests(parts.measures(name))
        began = time.perf_counter()
        with OtherProcesses() as others:
            raw = parts.measure(sizes, name)
        if others.cores is not None:
            facts |= {"others": round(others.cores, 2)}
        found[name] = {"machine": facts, "seconds": time.perf_counter() - began, "sources": sources, "raw": raw}
        keep(joined({key: found[key] for key in names if key in found}))
    return joined({key: found[key] for key in names if key in found})


def joined(parts: Raw) -> Result:
    """Return the result of all parts: the latest machine, the sum of times, and the code that all agree on."""
    skipped = list(dict.fromkeys(part["raw"]["skipped"] for part in parts.values() if "skipped" in part["raw"]))
    latest = max((part["machine"] for part in parts.values()), key=lambda facts: str(facts["date"]), default=machine())
    sources: dict[str, str] = {}
    for part in parts.values():
        for name, digest in part["sources"].items():
            sources[name] = digest if sources.get(name, digest) == digest else _VARIOUS
    seconds = sum(part["seconds"] for part in parts.values())
    return Result(latest, seconds, {"parts": parts, "skipped": skipped}, sources)
