"""``vse compare``: models and baselines on one split."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from vse_ens.cli.argv import given, typed_command
from vse_ens.cli.console import Console
from vse_ens.cli.options import Reading
from vse_ens.cli.train_progress import TrainingProgress

if TYPE_CHECKING:
    from vse_ens.experiments.compare.entries import Entry
    from vse_ens.experiments.compare.results import Comparison, Result
    from vse_ens.experiments.compare.store import Run

_INTERRUPTED = 130


def compare(
    context: typer.Context,
    pairs: Annotated[
        Path | None,
        typer.Argument(
            metavar="PAIRS",
            show_default=False,
            help="A file of (image, label) pairs: csv, tsv, txt, jsonl or parquet, also gzipped.",
        ),
    ] = None,
    *,
    models: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Presets and baselines (popularity, cooccurrence, ease, als), with commas; settings after a colon: "
            "vse-ens:loss=logistic,epochs=50,ease:regularization=10.",
        ),
    ] = "context,vse-ens,warp,opt-auc,popularity,cooccurrence,ease",
    budget: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0.0, show_default=False, help="Stop the training of each model then."),
    ] = None,
    dimensions: Annotated[
        int | None,
        typer.Option(metavar="K", min=1, show_default="each model's own", help="The length of a vector in all models."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the split, and of every model.")] = 0,
    workers: Annotated[int | None, typer.Option(metavar="N", min=1, show_default="all cores", help="Threads.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="REPORT.html", show_default=False, help="Write an HTML report with curves and settings."),
    ] = None,
    rankings: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            show_default="REPORT.rankings",
            help="Where to keep what every model ranked: all metrics are computed from it.",
        ),
    ] = None,
    from_rankings: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", show_default=False, help="Compute table and report anew from such a folder; train nothing."
        ),
    ] = None,
    reading: Reading,
    screen: Console,
) -> None:
    """Compare models and baselines on one split.

    One label of every image is held out; all learn from the same other pairs and are ranked by the same evaluator.
    """
    if pairs is None and from_rankings is None:
        raise typer.BadParameter("give a file of pairs, or a folder with --from-rankings", param_hint="'PAIRS'")
    if out is not None and (out.is_dir() or out == rankings):
        raise typer.BadParameter(f"{out} is a folder; name a file such as report.html", param_hint="'--out'")
    if from_rankings is not None:
        idle = [name for name in given(context) if name not in ("from_rankings", "out", "json", "debug")]
        if idle:
            hint = "PAIRS" if idle[0] == "pairs" else f"--{idle[0].replace('_', '-')}"
            raise typer.BadParameter("it means nothing with --from-rankings", param_hint=f"'{hint}'")
        _show(_load(from_rankings, screen), out, from_rankings, screen)
        return

    from vse_ens.experiments.compare.entries import parse_entries
    from vse_ens.experiments.compare.run import compare as run_comparison

    entries = parse_entries(models, seed=seed, dimensions=dimensions)  # a wrong name is told before any file is read
    kept = rankings or (out and out.with_name(f"{out.stem}.rankings"))
    with ExitStack() as stack:
        folder = kept or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vse-compare-")))
        data = reading.read(Path(str(pairs)), screen)
        for note in data.notes:
            screen.say(f"note: {note}")
        comparison = run_comparison(
            data,
            entries,
            folder,
            _Watcher(screen, len(entries)),
            pairs=str(pairs),
            command=typed_command(context),
            seed=seed,
            budget=budget,
            workers=workers,
        )
    _show(comparison, out, kept, screen)


def _load(folder: Path, screen: Console) -> Comparison:
    with screen.busy(f"reading {folder}"):
        from vse_ens.experiments.compare.results import Comparison

        return Comparison.load(folder)


class _Watcher:
    """Tells on standard error how it goes."""

    def __init__(self, screen: Console, total: int) -> None:
        self._screen = screen
        self._total = total
        self._number = 0

    @contextmanager
    def during(self, entry: Entry) -> Iterator[Callable[[Any], None]]:
        """A line that says who is at work, and how far it is."""
        from vse_ens.config import Config

        self._number += 1
        self._screen.say(f"{self._number} of {self._total}: {entry.name}")
        if isinstance(entry.method, Config):
            with TrainingProgress(self._screen.err, entry.method.metric) as progress:
                yield progress
        else:
            with self._screen.busy(f"fitting {entry.name}"):
                yield lambda _: None

    def after(self, run: Run, error: Exception | None) -> None:
        """What came of it."""
        from vse_ens.experiments.compare.store import seconds_text

        if error is None:
            self._screen.say(f"   recall@10 {run.curve[-1][1]:.4f} after {seconds_text(run.seconds)} s")
            return
        if self._screen.debug:
            self._screen.say("".join(traceback.format_exception(error)).rstrip())
        self._screen.say(f"   failed: {run.error}")


def _show(comparison: Comparison, out: Path | None, rankings: Path | None, screen: Console) -> None:
    from vse_ens.experiments.compare.store import remarks

    if out is not None:
        from vse_ens.experiments.compare.page import comparison_page

        comparison_page(comparison).write(out)
    document = {
        **comparison.to_dict(),
        "report": None if out is None else str(out),
        "rankings": None if rankings is None else str(rankings),
    }
    split = comparison.record.split
    below = [
        f"{result.run.name}: {remark}"
        for result in comparison.results
        for remark in remarks(result.run, comparison.record.budget)
    ]
    places = [("report", out), ("rankings", rankings)]
    below += [f"{name}: {path}" for name, path in places if path is not None]
    screen.result(
        document,
        Text(
            f"{split['test']:,} images with one held-out label each, ranked among {split['labels']:,}; "
            "± is half the width of the 95 % interval"
        ),
        Text(),
        _table(comparison),
        *([Text(), *map(Text, below)] if below else []),
    )
    if comparison.interrupted:
        raise typer.Exit(_INTERRUPTED)
    if comparison.failed:
        raise typer.Exit(1)


def _table(comparison: Comparison) -> Table:
    from vse_ens.experiments.compare.results import METRICS

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", pad_edge=False)
    for name in ("model", *METRICS, "seconds", "draws/s"):
        table.add_column(name, justify="left" if name == "model" else "right", overflow="fold")
    for result in comparison.results:
        table.add_row(*_row(comparison, result))
    return table


def _row(comparison: Comparison, result: Result) -> list[Text]:
    from vse_ens.experiments.compare.results import METRICS
    from vse_ens.experiments.compare.store import seconds_text, speed_text

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
    return [*cells, Text(seconds_text(run.seconds)), Text(speed_text(run.draws_per_second))]
