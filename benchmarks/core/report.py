"""The generated sections of docs/benchmarks.md, each between the markers of its benchmark."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table
from benchmarks.core.load import LIMIT
from benchmarks.core.results import Result
from benchmarks.core.sources import changed

DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks.md"
_WIDTH = 120


def fill_sections(text: str, sections: dict[str, str]) -> str:
    """Return the document with each section between its markers; a section without markers is an error."""
    for name, section in sections.items():
        place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text, found = place.subn(lambda match, section=section: f"{match[1]}{section}\n{match[2]}", text)  # type: ignore[misc]
        if found != 1:
            raise ValueError(
                f"the document must contain the markers <!-- {name} --> and <!-- /{name} --> once, not {found} times"
            )
    return text


def section(benchmark: Benchmark[object], result: Result | None) -> str:
    """Return one benchmark's result as Markdown."""
    if result is None:
        return f"Not measured yet: `python -m benchmarks {benchmark.name}`."
    notes = [*(f"Skipped: {reason}" for reason in result.raw["skipped"]), _source(result, benchmark.timed)]
    stale = stale_note([result])
    blocks = [*markdown(benchmark.score(result.raw)), *map(_wrap, notes)]
    return "\n\n".join([_wrap(stale), *blocks] if stale else blocks)


def stale_note(results: Sequence[Result]) -> str:
    """Return a sentence if measured code has changed since, or if it is not known; else an empty string."""
    parts = sorted({part for result in results for part in changed(result.sources or {})})
    if parts:
        return f"**Stale: measured before changes in {', '.join(f'`{part}`' for part in parts)}.**"
    if any(result.sources is None for result in results):
        return "**Perhaps stale: it is not known with which code this was measured.**"
    return ""


def cores_of(facts: Raw) -> str:
    """Return the number of cores and the CPU of a result's machine."""
    return f"{facts['cores']} core{'' if facts['cores'] == 1 else 's'} of {facts['cpu']}"


def _source(result: Result, timed: bool) -> str:
    """Return when, with which code and on which machine a result was measured."""
    facts = result.machine
    load = f"load {facts['load']:g} at the start"
    if "others" in facts:
        load += f", {facts['others']:g} cores used by other processes meanwhile"
        if timed and facts["others"] > LIMIT:
            load += ": **busy**"
    commit = f" at commit {facts['commit']}" if "commit" in facts else ""
    repetitions = f", repetitions: {facts['repetitions']}" if "repetitions" in facts else ""
    return (
        f"Measured on {facts['date']}{commit}, {cores_of(facts)} ({load}), Python "
        f"{facts['python']}, NumPy {facts['numpy']}, Numba {facts['numba']}; took {result.seconds:.0f} s{repetitions}."
    )


def markdown(score: Score) -> list[str]:
    """Return notes, checks and tables as blocks of Markdown."""
    tables = ([_check_table(score.checks)] if score.checks else []) + score.tables
    return [*map(_wrap, score.notes), *map(markdown_table, tables)]


def _wrap(text: str) -> str:
    # Code spans stay whole: a line that starts with a part of one, such as "+ x", could become a list.
    whole = re.sub(r"`[^`]*`", lambda span: span[0].replace(" ", "\0"), text)
    return textwrap.fill(whole, _WIDTH, break_long_words=False, break_on_hyphens=False).replace("\0", " ")


def _check_table(checks: list[Check]) -> Table:
    rows = [
        (
            check.name,
            f"{check.value:.{check.digits}f}{check.unit}",
            f"{check.bound} {check.limit:g}{check.unit}",
            "" if check.goal is None else f"{check.goal:g}{check.unit}",
            check.verdict,
        )
        for check in checks
    ]
    return Table(("check", "measured", "promised", "goal", "verdict"), rows)


def markdown_table(table: Table) -> str:
    """Return a table as Markdown."""
    lines = [table.columns, ("---",) * len(table.columns), *table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
