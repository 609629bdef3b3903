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
        undone = undo_journal(journal, force=force)
    document = {"journal": str(journal), "files": [str(path) for path in undone.files]}
    rows = [("journal", str(journal)), ("restored", _files(len(undone.files)))]
    if undone.left:
        document["left"] = [str(path) for path in undone.left]
        rows.append(("left as they are", f"{_files(len(undone.left))}, such as {undone.left[0]}"))
        console.result(document, facts(rows))
        console.finish("The write was stopped at or before the files that were left, which were changed since.")
    else:
        console.result(document, facts(rows))
        console.finish(f"Every file is as it was before the write of {journal}.")


def _files(count: int) -> str:
    return f"{count:,} file{'' if count == 1 else 's'}"
