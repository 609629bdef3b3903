"""``vse reproduce``: rerun the experiments of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from rich.text import Text

from vse_ens.cli.console import Console, Progress, duration
from vse_ens.cli.options import Workers
from vse_ens.cli.parameters import Option
from vse_ens.errors import ConfigError, DataError


def _data_option(name: str) -> Any:
    return Option(f"{name} as a file of pairs; without it, synthetic data of the paper's shape is used.", "PAIRS")


def reproduce(
    *,
    out: Annotated[
        Path, Option("Folder for report.html, report.md and report.json; finished parts in it are reused.", "DIR")
    ] = Path("reproduction"),
    iaprtc12: Annotated[Path | None, _data_option("IAPR-TC12")] = None,
    nuswide: Annotated[Path | None, _data_option("NUS-WIDE")] = None,
    openimages: Annotated[Path | None, _data_option("Open Images")] = None,
    data_set: Annotated[
        Sequence[str],
        Option("Only this data set: iaprtc12, nuswide or openimages; may be repeated.", "NAME", name="--data-set"),
    ] = (),
    quick: Annotated[bool, Option("Smaller synthetic data, one seed, no tuning: a few minutes.")] = False,
    seeds: Annotated[int | None, Option("Trainings of each model on real data.", "N", min=1, default="3")] = None,
    trials: Annotated[
        int | None, Option("Settings to try for each model.", "N", min=0, default="the whole grid")
    ] = None,
    minutes: Annotated[
        float | None, Option("CPU time after which one training is ended.", "M", min=0.0, default="15")
    ] = None,
    fresh: Annotated[bool, Option("Run finished parts again.")] = False,
    workers: Workers = None,
    console: Console,
) -> None:
    """Rerun the experiments of the paper.

    Writes its tables and figures as one page, in the order of the paper, next to its numbers, and a
    verdict on each of its statements. A stopped run continues. Needs a clone of the repository.

    Example: vse reproduce --quick --out reproduction
    """
    from benchmarks.paper.numbers import DATA_SETS
    from benchmarks.paper.run import FULL, QUICK
    from benchmarks.paper.run import reproduce as run

    if out.exists() and not out.is_dir():
        raise DataError(f"{out} is a file; choose a folder with --out")
    for name in data_set:
        if name not in DATA_SETS:
            raise ConfigError(f"--data-set must be one of {', '.join(DATA_SETS)}, got {name!r}")
    effort = QUICK if quick else FULL
    if seeds is not None:
        effort = replace(effort, seeds=seeds)
    if trials is not None:
        effort = replace(effort, trials=trials)
    if minutes is not None:
        effort = replace(effort, limits=replace(effort.limits, seconds=60.0 * minutes), stand_in_seconds={})
    files = {"iaprtc12": iaprtc12, "nuswide": nuswide, "openimages": openimages}
    with _ReproduceProgress(console) as progress:
        document = run(
            out,
            progress,
            effort=effort,
            paths={name: path for name, path in files.items() if path is not None},
            data_sets=tuple(data_set or DATA_SETS),
            workers=workers,
            fresh=fresh,
        )
    lines = [
        f"{finding['outcome']}: {finding['statement']} ({finding['source']})\n    {finding['evidence']}\n"
        for finding in document["verdicts"]
    ]
    console.result(
        document,
        *(Text(line) for line in lines),
        Text(f"{out / 'report.html'}, report.md, report.json: written after {duration(document['seconds'])}"),
    )
    console.finish(f"{len(lines)} statements of the paper were checked; {out / 'report.html'} shows all results.")


class _ReproduceProgress:
    """Print a line per training, and a bar for the iterations of the current group of trainings."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: Progress | None = None

    def __enter__(self) -> _ReproduceProgress:
        return self

    def __exit__(self, *_error: object) -> None:
        self._end_bar()

    def stage(self, title: str, iterations: int) -> None:
        """Start the bar of the next group of trainings."""
        self._end_bar()
        self._bar = self._console.progress(title, iterations, "iterations").__enter__()

    def iterations(self, done: int) -> None:
        """Update the bar."""
        if self._bar is not None:
            self._bar(done)

    def message(self, text: str) -> None:
        """Print a line."""
        self._console.log(text)

    def _end_bar(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None
