"""Convert a published data set to a Parquet file of pairs, with progress and a summary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vse_ens.cli.commands.info import summary_json
from vse_ens.cli.console import Console, Progress, facts

if TYPE_CHECKING:
    from vse_ens.data.annotations import Annotations

ByteProgress = Callable[[int, int], None]
"""Called with the bytes read so far and in total."""

DownloadedPath = Annotated[
    Path, typer.Argument(metavar="PATH", show_default=False, help="The downloaded folder or file.")
]
OutFile = Annotated[Path, typer.Option(metavar="FILE", show_default=False, help="The .parquet file to write.")]

_MEGABYTE = 1_000_000


def convert(path: Path, out: Path, read: Callable[[ByteProgress], Annotations], console: Console) -> None:
    """Read a data set, write its pairs and print a summary."""
    from vse_ens.data.io.write import check_name, write_pairs

    check_name(out)
    with _read_progress(path, console) as read_progress:
        data = read(read_progress)
    with console.progress(f"writing {out}", data.pairs, "pairs") as progress:
        write_pairs(out, data, progress)
    summary = data.summary()
    console.result({"file": str(out), **summary_json(summary)}, facts([("file", str(out)), *summary.rows()]))
    console.finish(f"{data.pairs:,} pairs are in {out}.", "train", out, "--out", "model")


@contextmanager
def _read_progress(path: Path, console: Console) -> Iterator[ByteProgress]:
    """Show progress in megabytes; the total is known at the first call."""
    with ExitStack() as stack:
        progress: Progress | None = None

        def report(done: int, total: int) -> None:
            nonlocal progress
            if progress is None:
                progress = stack.enter_context(console.progress(f"reading {path}", total // _MEGABYTE, "MB"))
            progress(done // _MEGABYTE)

        yield report
