"""``vse doctor``: check the installation and this machine."""

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


def doctor(console: Console) -> None:
    """Check the installation and this machine.

    Checks versions, cores, thread limits, the kernel cache, memory, disk and optional packages. The exit code is 1 only
    if something that vse needs is broken.
    """
    with console.status("checking"):
        from vse_ens.cli.doctor_checks import run_checks

        findings = run_checks()
    broken = [finding for finding in findings if finding.state == "broken"]
    verdict = f"broken: {', '.join(finding.topic for finding in broken)}" if broken else "vse is ready to use"
    document = {"healthy": not broken, "checks": [finding._asdict() for finding in findings]}
    console.result(document, _table(findings), Text(f"\n{verdict}"))
    console.finish("Nothing needs to be repaired." if not broken else "Repair the broken parts first.", "demo")
    if broken:
        raise typer.Exit(FAILED)


def _table(findings: list[Finding]) -> Table:
    table = Table.grid(padding=(0, 2))
    for finding in findings:
        advice = f"; {finding.advice}" if finding.advice else ""
        table.add_row(finding.topic, Text(finding.state, _STYLES[finding.state]), Text(finding.found + advice))
    return table
