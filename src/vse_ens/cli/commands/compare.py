"""``vse compare``: train and evaluate models and baselines on one split."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from rich.table import Table
from rich.text import Text

from vse_ens.cli.console import Console
from vse_ens.cli.errors import FAILED, INTERRUPTED
from vse_ens.cli.options import PAIRS_HELP, Reading, Workers
from vse_ens.cli.parameters import Argument, Option, command_line, given_parameters, misuse
from vse_ens.cli.train_progress import TrainingProgress

if TYPE_CHECKING:
    from vse_ens.experiments.compare.entries import Entry
    from vse_ens.experiments.compare.results import Comparison, EntryRun, Result


def compare(
    pairs: Annotated[Path | None, Argument(PAIRS_HELP, "PAIRS")] = None,
    *,
    models: Annotated[
        str,
        Option(
            "Comma-separated presets and baselines (popularity, cooccurrence, ease, image-knn, als), with settings "
            "after a colon: vse-ens:loss=logistic,epochs=50,ease:regularization=10.",
            "NAMES",
        ),
    ] = "context,vse-ens,warp,opt-auc,popularity,cooccurrence,ease",
    budget: Annotated[float | None, Option("Time limit for the training of each model.", "SECONDS", min=0.0)] = None,
    dimensions: Annotated[
        int | None, Option("Length of a vector in all models.", "K", min=1, default="each model's own")
    ] = None,
    seed: Annotated[int, Option("Random seed of the split and of every model.", "N")] = 0,
    workers: Workers = None,
    out: Annotated[Path | None, Option("Write an HTML report with curves and settings.", "REPORT.html")] = None,
    rankings: Annotated[
        Path | None,
        Option(
            "Folder for the rankings of every model, from which all metrics are computed.",
            "DIR",
            default="REPORT.rankings",
        ),
    ] = None,
    from_rankings: Annotated[
        Path | None, Option("Recompute table and report from such a folder, without training.", "DIR")
    ] = None,
    reading: Reading,
    console: Console,
) -> None:
    """Compare models and baselines on one split.

    One label per image is held out. All models train on the same remaining pairs and are evaluated in the same way.

    Example: vse compare pairs.csv --models context,ease --out report.html
    """
    if pairs is None and from_rankings is None:
        raise misuse("PAIRS", "give a file of pairs, or a folder with --from-rankings")
    if out is not None and (out.is_dir() or out == rankings):
        raise misuse("--out", f"{out} is a folder; give a file such as report.html")
    if from_rankings is not None:
        unused = [name for name in given_parameters() if name not in ("from_rankings", "out", "json", "debug")]
        if unused:
            hint = click.get_current_context().obj.options.get(unused[0], "PAIRS")
            raise misuse(hint, "cannot be combined with --from-rankings")
        with console.status(f"reading {from_rankings}"):
            from vse_ens.experiments.compare.results import Comparison

            loaded = Comparison.load(from_rankings)
        _show(loaded, out, from_rankings, console)
        return

    from vse_ens.experiments.compare.entries import parse_entries
    from vse_ens.experiments.compare.run import compare as run_comparison

    entries = parse_entries(models, seed=seed, dimensions=dimensions)  # fails on a wrong name before reading any file
    kept = rankings or (out and out.with_name(f"{out.stem}.rankings"))
    with ExitStack() as stack:
        folder = kept or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vse-compare-")))
        data = reading.read(Path(str(pairs)), console)
        console.notes(data.notes)
        comparison = run_comparison(
            data,
            entries,
            folder,
            _CompareProgress(console, len(entries)),
            pairs=str(pairs),
            command=command_line(),
            seed=seed,
            budget=budget,
            workers=workers,
        )
    _show(comparison, out, kept, console)


@dataclass
class _CompareProgress:
    """Print progress on standard error."""

    console: Console
    total: int
    number: int = 0

    @contextmanager
    def running(self, entry: Entry) -> Iterator[Callable[[Any], None]]:
        """Announce a model and show its training progress."""
        from vse_ens.config import Config

        self.number += 1
        self.console.log(f"{self.number} of {self.total}: {entry.name}")
        if isinstance(entry.method, Config):
            with TrainingProgress(self.console.err, entry.method.metric) as progress:
                yield progress
        else:
            with self.console.status(f"fitting {entry.name}"):
                yield lambda _: None

    def finished(self, run: EntryRun, error: Exception | None) -> None:
        """Print the result of a model."""
        from vse_ens.experiments.compare.results import format_seconds

        if error is None:
            self.console.log(f"   recall@10 {run.curve[-1][1]:.4f} after {format_seconds(run.seconds)} s")
            return
        if self.console.debug:
            self.console.log("".join(traceback.format_exception(error)).rstrip())
        self.console.log(f"   failed: {run.error}")


def _show(comparison: Comparison, out: Path | None, rankings: Path | None, console: Console) -> None:
    from vse_ens.experiments.compare.results import run_notes

    if out is not None:
        from vse_ens.experiments.compare.page import comparison_page

        comparison_page(comparison).write(out)
    files, split = {"report": out, "rankings": rankings}, comparison.info.split
    below = [
        f"{result.run.name}: {note}"
        for result in comparison.results
        for note in run_notes(result.run, comparison.info.budget)
    ]
    below += [f"{name}: {path}" for name, path in files.items() if path is not None]
    console.result(
        {**comparison.to_dict(), **files},
        Text(
            f"{split['test']:,} images with one held-out label each, ranked among {split['labels']:,}; "
            "± is half the width of the 95 % interval"
        ),
        Text(),
        _table(comparison),
        *([Text(), *map(Text, below)] if below else []),
    )
    console.finish(f"{len(comparison.results):,} methods were measured on the same images.", "train", "--help")
    if comparison.interrupted:
        raise click.exceptions.Exit(INTERRUPTED)
    if comparison.failed:
        raise click.exceptions.Exit(FAILED)


def _table(comparison: Comparison) -> Table:
    from vse_ens.experiments.compare.results import METRICS

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", pad_edge=False)
    for name in ("model", *METRICS, "seconds", "draws/s"):
        table.add_column(name, justify="left" if name == "model" else "right", overflow="fold")
    for result in comparison.results:
        table.add_row(*_row(comparison, result))
    return table


def _row(comparison: Comparison, result: Result) -> list[Text]:
    from vse_ens.experiments.compare.results import METRICS, format_seconds, format_speed

    run, report = result.run, result.report
    if report is None:
        return [Text(run.name), Text(run.state, style="red")]
    cells = [Text(run.name)]
    for metric in METRICS:
        best = report[metric] == comparison.best(metric)
        cell = Text(f"{report[metric]:.4f}", style="bold" if best else "")
        if metric in ("recall@10", "map"):
            low, high = report.intervals[metric]
            cell.append(f"\n±{(high - low) / 2:.4f}", style="not bold dim")
        cells.append(cell)
    return [*cells, Text(format_seconds(run.seconds)), Text(format_speed(run.draws_per_second))]
