"""``vse data convert``: write pairs in the format of another program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vse_ens.cli.commands.info import summary_json
from vse_ens.cli.console import Console, facts
from vse_ens.cli.options import PairsFile, ReadOptions


def convert(
    source: PairsFile,
    *,
    out: Annotated[
        Path, typer.Option(metavar="PATH", show_default=False, help="The file or folder to write; see --to.")
    ],
    to: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default="by the suffix",
            help="Format: parquet, csv, tsv, jsonl, or one of a plug-in, such as recbole, lenskit, movielens and xmc.",
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="Held-out pairs to write beside, for recbole and xmc."),
    ] = None,
    reading: ReadOptions,
    console: Console,
) -> None:
    """Convert pairs from any format that vse reads to one of another program."""
    from vse_ens.data.io.write import format_of, write_as

    form = format_of(out, to)
    data = reading.read(source, console)
    held_out = None if test is None else reading.read(test, console)
    for note in data.notes:
        console.note(note)
    with console.status(f"writing {out}"):
        files = write_as(out, data, form, test=held_out)
    summary = data.summary()
    console.result(
        {"format": form, "files": [str(file) for file in files], **summary_json(summary)},
        facts([("format", form), ("files", ", ".join(map(str, files))), *summary.rows()]),
    )
    console.finish(f"{data.pairs:,} pairs are in {out}.")
