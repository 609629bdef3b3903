"""``vse apply``: write the decisions on audit findings to a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vse_ens.cli.console import Console
from vse_ens.cli.options import CollectionFormat, CollectionPath, WriteOptions


def apply(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="AUDIT.csv",
            show_default=False,
            help="The file of vse audit --out, with accept or reject in the column decision.",
        ),
    ],
    to: CollectionPath,
    *,
    source_format: CollectionFormat = None,
    writing: WriteOptions,
    console: Console,
) -> None:
    """Write audit decisions to a collection.

    An accepted row removes a wrong label, adds a missing one, or replaces a duplicate by the other label. Rows without
    a decision change nothing. Image files are never changed; vse undo restores everything else.
    """
    from vse_ens.data.collections.write import audit_edits

    collection = writing.open(to, source_format)
    with console.status(f"reading {file}"):
        edits = audit_edits(file, collection)
    writing.write(collection, edits, console)
