"""``vse reproduce``: the paper's experiments again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from vse_ens.cli.console import Console, Progress, duration
from vse_ens.errors import DataError

if TYPE_CHECKING:
    from vse_ens.train.progress import EpochReport


def _file(name: str) -> Any:
    return typer.Option(
        metavar="PAIRS", show_default=False, help=f"{name}: a file of (image, label) pairs; generated if not given."
    )


def reproduce(
    *,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where report.html and report.json go; finished parts in it are kept.")
    ] = Path("reproduction"),
    iaprtc12: Annotated[Path | None, _file("IAPR-TC12")] = None,
    nuswide: Annotated[Path | None, _file("NUS-WIDE")] = None,
    openimages: Annotated[Path | None, _file("Open Images")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few minutes: smaller stand-ins and shorter training.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Do finished parts again.")] = False,
    paper: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False, help="A JSON file with more of the paper's figures (docs/reproduce.md)."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed, other splits, stand-ins and models.")] = 0,
    workers: Annotated[int | None, typer.Option(metavar="N", min=1, show_default="all cores", help="Threads.")] = None,
    screen: Console,
) -> None:
    """Run the experiments of the paper's section 4 again.

    Tables 1 to 4 and figures 1 and 2, with the paper's figure beside ours where it is known, as one HTML page. Where a
    result contradicts the paper the page says so.
    """
    from vse_ens.experiments.paper.numbers import KNOWN
    from vse_ens.experiments.paper.run import FULL, QUICK
    from vse_ens.experiments.paper.run import reproduce as run

    if out.exists() and not out.is_dir():
        raise DataError(f"{out} is a file; choose a folder with --out")
    given = {"iaprtc12": iaprtc12, "nuswide": nuswide, "openimages": openimages}
    known = KNOWN.with_file(paper) if paper is not None else KNOWN
    with _Watcher(screen) as watcher:
        document = run(
            out,
            watcher,
            effort=QUICK if quick else FULL,
            paths={name: path for name, path in given.items() if path is not None},
            paper=known,
            seed=seed,
            workers=workers,
            fresh=fresh,
        )
    lines = [f"{finding['verdict']}: {finding['text']}" for finding in document["findings"]]
    screen.result(
        document,
        *(Text(line + "\n") for line in lines),
        Text(f"{out / 'report.html'}, {out / 'report.json'}: done in {duration(document['seconds'])}"),
    )


class _Watcher:
    """A line for every part, and a bar for the epochs of the model under way."""

    def __init__(self, screen: Console) -> None:
        self._screen = screen
        self._bar: Progress | None = None

    def __enter__(self) -> _Watcher:
        return self

    def __exit__(self, *_error: object) -> None:
        self._end_bar()

    def part(self, name: str, number: int, of: int) -> None:
        """A part of the work begins."""
        self._end_bar()
        self._screen.say(f"{number} of {of}: {name}")

    def epoch(self, report: EpochReport, epochs: int) -> None:
        """A model has trained an epoch."""
        if self._bar is None:
            self._bar = self._screen.progress("  training", epochs, "epochs").__enter__()
        self._bar(report.epoch)

    def step(self, text: str) -> None:
        """A part is at this step."""
        self._screen.say(f"  {text}")

    def _end_bar(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None
