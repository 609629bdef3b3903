"""``vse audit``: find labels that are likely wrong, missing or duplicate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from vse_ens.cli.console import Console, columns
from vse_ens.cli.formatting import confidence_text
from vse_ens.cli.options import DefuseFormulas, ModelDir, load_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from vse_ens.annotator import Annotator
    from vse_ens.curate.audit.audit import Audit

_ROWS_SHOWN = 5  # per kind in the terminal; the files have all


def audit(
    model: ModelDir,
    *,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="Maximum number of findings per kind.")] = 50,
    wrong_share: Annotated[
        float,
        typer.Option(
            metavar="X", help="Expected share of wrong labels; scales their confidence, does not change the order."
        ),
    ] = 0.02,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", show_default=False, help="Write all findings, with an empty column for decisions."
        ),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE.html", show_default=False, help="Write all findings as an HTML page.")
    ] = None,
    defuse_formulas: DefuseFormulas = False,
    console: Console,
) -> None:
    """Find labels that are likely wrong, missing or duplicate.

    Examines the pairs the model was trained on and changes nothing: the decisions are yours.
    """
    for path, suffix, option in ((out, ".csv", "--out"), (page, ".html", "--page")):
        if path is not None and path.suffix != suffix:
            raise typer.BadParameter(f"{path} must end in {suffix}", param_hint=f"'{option}'")
    if defuse_formulas and out is None:
        raise typer.BadParameter("needs --out FILE.csv", param_hint="'--defuse-formulas'")
    findings = _audit(load_model(model, console), top, wrong_share, console)
    if out is not None:
        findings.write_csv(out, defuse_formulas=defuse_formulas)
    if page is not None:
        from vse_ens.curate.audit.page import audit_page

        audit_page(findings).write(page)
    written = {"out": out, "page": page}
    files = [f"all findings: {path}" for path in written.values() if path is not None]
    console.result(
        {**findings.to_dict(), **{name: None if path is None else str(path) for name, path in written.items()}},
        *_tables(findings),
        *map(Text, files or ["use --out FILE.csv, --page FILE.html or --json for all findings"]),
    )


def _audit(annotator: Annotator, top: int, wrong_share: float, console: Console) -> Audit:
    from vse_ens.curate.audit.audit import audit_rows

    done = 0
    with console.progress("auditing", audit_rows(annotator.known_), "rows") as progress:

        def advance(rows: int) -> None:
            nonlocal done
            done += rows
            progress(done)

        return annotator.audit(top, wrong_share=wrong_share, progress=advance)


_RELATIONS = {"same": "the same", "alike": "used alike"}


def _tables(findings: Audit) -> list[RenderableType]:
    kinds = (
        (
            "Labels likely wrong",
            ("image", "label", "confidence", "reason"),
            [(row.image, row.label, confidence_text(row.confidence), row.reason) for row in findings.wrong],
        ),
        (
            "Labels likely missing",
            ("image", "label", "confidence", "reason"),
            [(row.image, row.label, confidence_text(row.confidence), row.reason) for row in findings.missing],
        ),
        (
            "Labels likely duplicate",
            ("label", "other label", "relation", "reason"),
            [(row.label, row.other, _RELATIONS[row.kind], row.reason) for row in findings.duplicates],
        ),
    )
    parts: list[RenderableType] = []
    for title, names, rows in kinds:
        parts += [Text(f"{title}: {_count(len(rows))}"), *_table(names, rows), Text()]
    return parts


def _count(rows: int) -> str:
    return f"{rows:,}" if rows <= _ROWS_SHOWN else f"the first {_ROWS_SHOWN} of {rows:,}"


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[RenderableType]:
    return [columns(names, rows[:_ROWS_SHOWN], numbers=("confidence",))] if rows else []
