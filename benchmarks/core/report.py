"""docs/benchmarks.md from the stored results: what stands between a benchmark's markers is made here."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.core.benchmark import Benchmark, Check, Score, Table
from benchmarks.core.results import Result

DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def rewritten(text: str, sections: dict[str, str]) -> str:
    """The document with each section in its place; a section without a place is an error."""
    for name, section in sections.items():
        place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text, found = place.subn(lambda match, section=section: f"{match[1]}{section}\n{match[2]}", text)  # type: ignore[misc]
        if found != 1:
            raise ValueError(
                f"the document needs the markers <!-- {name} --> and <!-- /{name} --> once, not {found} times"
            )
    return text


def section(benchmark: Benchmark[object], result: Result | None) -> str:
    """One benchmark's result in Markdown."""
    if result is None:
        return f"Not measured yet: `python -m benchmarks {benchmark.name}`."
    facts = result.machine
    where = (
        f"Measured on {facts['date']}, {facts['cores']} cores of {facts['cpu']} (load {facts['load']:g} at the start), "
        f"Python {facts['python']}, NumPy {facts['numpy']}, Numba {facts['numba']}; took {result.seconds:.0f} s."
    )
    skipped = [f"Skipped: {sentence}" for sentence in result.raw["skipped"]]
    return "\n\n".join([*markdown(benchmark.score(result.raw)), *skipped, where])


def markdown(score: Score) -> list[str]:
    """Notes, checks and tables, as blocks of Markdown."""
    tables = ([_checks(score.checks)] if score.checks else []) + score.tables
    return [*score.notes, *map(table_text, tables)]


def _checks(checks: list[Check]) -> Table:
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
    return Table(("what", "measured", "promised", "goal", "verdict"), rows)


def table_text(table: Table) -> str:
    """A table in Markdown."""
    lines = [table.columns, ("---",) * len(table.columns), *table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
