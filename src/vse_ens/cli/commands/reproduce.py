"""``vse reproduce``: rerun the experiments of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from vse_ens.cli.console import Console, Progress
from vse_ens.cli.formatting import duration
from vse_ens.cli.options import Workers
from vse_ens.errors import DataError

if TYPE_CHECKING:
    from vse_ens.train.progress import EpochReport


def _data_option(name: str) -> Any:
    return typer.Option(
        metavar="PAIRS", show_default=False, help=f"{name} as a file of pairs; without it, synthetic data is used."
    )


def reproduce(
    *,
    out: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Folder for report.html and report.json; finished parts in it are reused."),
    ] = Path("reproduction"),
    iaprtc12: Annotated[Path | None, _data_option("IAPR-TC12")] = None,
    nuswide: Annotated[Path | None, _data_option("NUS-WIDE")] = None,
    openimages: Annotated[Path | None, _data_option("Open Images")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use smaller synthetic data and shorter training: a few minutes.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run finished parts again.")] = False,
    paper: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="A JSON file with more figures of the paper; see docs/reproduce.md.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed of splits, synthetic data and models.")] = 0,
    workers: Workers = None,
    console: Console,
) -> None:
    """Rerun the experiments of section 4 of the paper.

    Writes tables 1 to 4 and figures 1 and 2 as one HTML page, with the paper's numbers beside the new ones where they
    are known. The page says where a result contradicts the paper.
    """
    from vse_ens.experiments.paper.numbers import KNOWN_NUMBERS
    from vse_ens.experiments.paper.run import FULL, QUICK
    from vse_ens.experiments.paper.run import reproduce as run

    if out.exists() and not out.is_dir():
        raise DataError(f"{out} is a file; choose a folder with --out")
    files = {"iaprtc12": iaprtc12, "nuswide": nuswide, "openimages": openimages}
    paper_numbers = KNOWN_NUMBERS.with_file(paper) if paper is not None else KNOWN_NUMBERS
    with _ReproduceProgress(console) as progress:
        document = run(
            out,
            progress,
            effort=QUICK if quick else FULL,
            paths={name: path for name, path in files.items() if path is not None},
            paper=paper_numbers,
            seed=seed,
            workers=workers,
            fresh=fresh,
        )
    lines = [f"{finding['verdict']}: {finding['text']}" for finding in document["findings"]]
    console.result(
        document,
        *(Text(line + "\n") for line in lines),
        Text(f"{out / 'report.html'}, {out / 'report.json'}: written after {duration(document['seconds'])}"),
    )


class _ReproduceProgress:
    """Print one line per part, and a progress bar for the epochs of the current model."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: Progress | None = None

    def __enter__(self) -> _ReproduceProgress:
        return self

    def __exit__(self, *_error: object) -> None:
        self._end_bar()

    def part(self, name: str, number: int, of: int) -> None:
        """Announce the next part."""
        self._end_bar()
        self._console.log(f"{number} of {of}: {name}")

    def epoch(self, report: EpochReport, epochs: int) -> None:
        """Update the bar after an epoch."""
        if self._bar is None:
            self._bar = self._console.progress("  training", epochs, "epochs").__enter__()
        self._bar(report.epoch)

    def step(self, text: str) -> None:
        """Announce a step of the current part."""
        self._console.log(f"  {text}")

    def _end_bar(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None
