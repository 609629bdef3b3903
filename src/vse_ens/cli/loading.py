"""What the commands that load a published data set share: read with progress, write the pairs, show the summary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vse_ens.cli.info import as_document
from vse_ens.cli.progress import Progress
from vse_ens.cli.screen import Screen, facts

if TYPE_CHECKING:
    from vse_ens.data.annotations import Annotations

Tell = Callable[[int, int], None]

Downloaded = Annotated[
    Path,
    typer.Argument(metavar="PATH", show_default=False, help="The folder, or the file, that you downloaded."),
]
Out = Annotated[Path, typer.Option(metavar="FILE", show_default=False, help="The .parquet file to write.")]

_MEGABYTE = 1_000_000


def load(path: Path, out: Path, read: Callable[[Tell], Annotations], screen: Screen) -> None:
    """Read a data set, write its pairs, and say what is in them."""
    from vse_ens.data.pair_file import check_name, write_pairs

    check_name(out)
    with _reading(path, screen) as tell:
        data = read(tell)
    with screen.progress(f"writing {out}", data.pairs, "pairs") as done:
        write_pairs(out, data, done)
    summary = data.summary()
    screen.result({"file": str(out), **as_document(summary)}, facts([("file", str(out)), *summary.rows()]))


@contextmanager
def _reading(path: Path, screen: Screen) -> Iterator[Tell]:
    """A progress of megabytes, of which the total comes with the first report."""
    with ExitStack() as stack:
        progress: Progress | None = None

        def tell(done: int, total: int) -> None:
            nonlocal progress
            if progress is None:
                progress = stack.enter_context(screen.progress(f"reading {path}", total // _MEGABYTE, "MB"))
            progress(done // _MEGABYTE)

        yield tell
