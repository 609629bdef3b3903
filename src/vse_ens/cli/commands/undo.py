"""``vse undo``: restore the files that a write changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vse_ens.cli.console import Console, facts


def undo(
    journal: Annotated[
        Path, typer.Argument(metavar="JOURNAL", show_default=False, help="The journal that the write reported.")
    ],
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Also restore files that were changed after the write.")
    ] = False,
    console: Console,
) -> None:
    """Restore the files that a write changed, byte for byte.

    New files are removed. Nothing is restored if a file was changed after the write, unless --force is given.
    """
    from vse_ens.data.collections.journal import undo as undo_journal

    with console.status(f"restoring the files of {journal}"):
        files = undo_journal(journal, force=force)
    console.result(
        {"journal": str(journal), "files": [str(path) for path in files]},
        facts([("journal", str(journal)), ("restored", f"{len(files):,} file{'' if len(files) == 1 else 's'}")]),
    )
    console.finish(f"Every file is as it was before the write of {journal}.")
