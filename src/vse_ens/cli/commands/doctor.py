"""``vse doctor``: is everything here that vse needs?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.table import Table
from rich.text import Text

from vse_ens.cli.console import Console
from vse_ens.cli.errors import FAILED

if TYPE_CHECKING:
    from vse_ens.cli.doctor_checks import Finding

_STYLES = {"ok": "green", "absent": "dim", "warning": "yellow", "broken": "bold red"}


def doctor(screen: Console) -> None:
    """Check that this machine has what vse needs.

    Versions, cores, threads, caches, room, and optional parts or how to get them. Fails only where something is
    broken that vse cannot work without.
    """
    with screen.busy("looking around"):
        from vse_ens.cli.doctor_checks import examine

        findings = examine()
    broken = [finding for finding in findings if finding.state == "broken"]
    verdict = f"broken: {', '.join(finding.topic for finding in broken)}" if broken else "all that vse needs is here"
    document = {"healthy": not broken, "checks": [finding._asdict() for finding in findings]}
    screen.result(document, _table(findings), Text(f"\n{verdict}"))
    if broken:
        raise typer.Exit(FAILED)


def _table(findings: list[Finding]) -> Table:
    table = Table.grid(padding=(0, 2))
    for finding in findings:
        advice = f"; {finding.advice}" if finding.advice else ""
        table.add_row(finding.topic, Text(finding.state, _STYLES[finding.state]), Text(finding.found + advice))
    return table
