"""``vse audit``: what a curator should look at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from vse_ens.cli.console import Console, columns
from vse_ens.cli.options import ModelFolder, load, probability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from vse_ens.annotator import Annotator
    from vse_ens.curate.audit.audit import Audit

_SHOWN = 5  # of each kind on the screen; a curator works through the file


def audit(
    model: ModelFolder,
    *,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="Find so many of each kind.")] = 50,
    wrong_share: Annotated[
        float,
        typer.Option(metavar="X", help="How many of all labels to expect wrong: sets that confidence, not the order."),
    ] = 0.02,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", show_default=False, help="Write all findings, with a column for decisions."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE.html", show_default=False, help="Write all findings as a page.")
    ] = None,
    screen: Console,
) -> None:
    """Find labels likely wrong, likely missing, or double.

    Looks at the pairs the model was trained on. Nothing is changed: what is right, a person decides.
    """
    for path, suffix, option in ((out, ".csv", "--out"), (page, ".html", "--page")):
        if path is not None and path.suffix != suffix:
            raise typer.BadParameter(f"{path} must end in {suffix}", param_hint=f"'{option}'")
    found = _find(load(model, screen), top, wrong_share, screen)
    if out is not None:
        found.write_csv(out)
    if page is not None:
        from vse_ens.curate.audit.page import audit_page

        audit_page(found).write(page)
    written = {"out": out, "page": page}
    places = [f"all findings: {path}" for path in written.values() if path is not None]
    screen.result(
        {**found.to_dict(), **{name: None if path is None else str(path) for name, path in written.items()}},
        *_tables(found),
        *map(Text, places or ["all findings: with --out FILE.csv, --page FILE.html or --json"]),
    )


def _find(annotator: Annotator, top: int, wrong_share: float, screen: Console) -> Audit:
    from vse_ens.curate.audit.audit import audit_rows

    done = 0
    with screen.progress("auditing", audit_rows(annotator.known_), "rows") as progress:

        def tell(rows: int) -> None:
            nonlocal done
            done += rows
            progress(done)

        return annotator.audit(top, wrong_share=wrong_share, progress=tell)


def _tables(found: Audit) -> list[RenderableType]:
    kinds = (
        (
            "Labels likely wrong",
            ("image", "label", "confidence", "reason"),
            [(one.image, one.label, probability(one.confidence), one.reason) for one in found.wrong],
        ),
        (
            "Labels likely missing",
            ("image", "label", "confidence", "reason"),
            [(one.image, one.label, probability(one.confidence), one.reason) for one in found.missing],
        ),
        (
            "Labels that could be one",
            ("label", "other label", "confidence", "reason"),
            [(one.label, one.other, probability(one.confidence), one.reason) for one in found.duplicates],
        ),
    )
    shown: list[RenderableType] = []
    for title, names, rows in kinds:
        shown += [Text(f"{title}: {_count(len(rows))}"), *_table(names, rows), Text()]
    return shown


def _count(rows: int) -> str:
    return f"{rows:,}" if rows <= _SHOWN else f"the first {_SHOWN} of {rows:,}"


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[RenderableType]:
    return [columns(names, rows[:_SHOWN], numbers=("confidence",))] if rows else []
