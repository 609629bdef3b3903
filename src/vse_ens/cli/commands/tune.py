"""``vse tune``: search for better settings of a preset."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from rich.text import Text

from vse_ens.cli.console import Console, duration, facts, plural
from vse_ens.cli.errors import INTERRUPTED
from vse_ens.cli.options import PairsFile, Reading, parse_setting
from vse_ens.cli.parameters import Option, command_line, misuse
from vse_ens.config import METRICS
from vse_ens.presets import PRESETS

if TYPE_CHECKING:
    from rich.live import Live

    from vse_ens.experiments.tune import TrialResult, TuneResult

_DEFAULT_MINUTES = 10.0


def tune(
    pairs: PairsFile,
    out: Annotated[Path, Option("The preset file to write, for vse train.", "FILE.toml")],
    *,
    preset: Annotated[str, Option(f"Preset to start from: {', '.join(PRESETS)}, or a .toml file.", "NAME")] = "context",
    minutes: Annotated[
        float | None, Option("End the search after this time.", "M", default="10 without --trials")
    ] = None,
    trials: Annotated[int | None, Option("End the search when the study has N trials.", "N", min=1)] = None,
    space: Annotated[
        Path | None,
        Option(
            "The settings to search: a .toml file of ranges and choices; see docs/tuning.md.",
            "FILE",
            default="from the preset",
        ),
    ] = None,
    metric: Annotated[
        str | None, Option(f"To maximize: {', '.join(METRICS)}.", "NAME", default="from the preset")
    ] = None,
    overrides: Annotated[
        Sequence[str], Option("A setting of all trials; may be repeated.", "NAME=VALUE", name="--set")
    ] = (),
    study: Annotated[
        Path | None,
        Option("All trials; an existing study is continued.", "FILE", default="--out with the suffix .sqlite"),
    ] = None,
    report: Annotated[Path | None, Option("Write an HTML report of the search.", "REPORT.html")] = None,
    seed: Annotated[int, Option("Random seed of the search and of all trials.", "N")] = 0,
    workers: Annotated[
        int, Option("Trials at a time, which share the cores; with 1 a search is repeatable.", "N", min=1)
    ] = 1,
    reading: Reading,
    console: Console,
) -> None:
    """Search for better settings of a preset.

    Trials are measured on labels held out of the pairs: give it the training part of a split only. Started again, also
    after Ctrl-C or a crash, the search continues. Needs Optuna; see docs/tuning.md.

    Example: vse tune split/train.parquet --trials 30 --out tuned.toml
    """
    if out.suffix != ".toml":
        raise misuse("--out", f"{out} must end in .toml, such as tuned.toml")
    from vse_ens.experiments.tune import Budget, read_space
    from vse_ens.experiments.tune import tune as run_search
    from vse_ens.presets import configure

    settings = dict(map(parse_setting, overrides))
    configure(preset, **settings, metric=metric, seed=seed)  # fails on a wrong setting before the data is read
    searched = None if space is None else read_space(space)
    budget = Budget(trials, _DEFAULT_MINUTES if minutes is None and trials is None else minutes)
    data = reading.read(pairs, console)
    console.notes(data.notes)
    with TuneProgress(console, budget.trials, budget.minutes) as progress:
        result = run_search(
            data,
            study or out.with_suffix(".sqlite"),
            budget,
            preset=preset,
            settings=settings,
            space=searched,
            metric=metric,
            seed=seed,
            workers=workers,
            listener=progress,
        )
    result.write_preset(out)
    if report is not None:
        from vse_ens.experiments.tune.result import tuning_page

        tuning_page(result, pairs.name, command_line()).write(report)
    _show(result, out, report, console)
    if result.interrupted:
        raise click.exceptions.Exit(INTERRUPTED)


@dataclass
class TuneProgress:
    """Progress on standard error: a line per finished trial, and in a terminal a line with the running trials."""

    console: Console
    trials: int | None
    minutes: float | None
    _finished: int = 0
    _best: str = ""
    _live: Live | None = None

    def __enter__(self) -> TuneProgress:
        self._started = time.monotonic()
        if self.console.err.is_terminal:
            # Imported here to keep `vse --help` quick.
            from rich.live import Live

            self._live = Live(console=self.console.err, transient=True, refresh_per_second=4)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def opened(self, finished: int, default_in_space: bool) -> None:
        """Say what the study has already."""
        self._finished = finished
        if finished:
            self.console.note(f"continuing a study with {plural(finished, 'trial')}")
        if not default_in_space:
            self.console.note("the space does not have the settings of the preset, so they are not a trial")

    def epoch(self, settings: Mapping[str, Any], epoch: int, value: float) -> None:  # noqa: ARG002
        """Show an epoch of a running trial."""
        if self._live:
            total = f" of {self.trials:,}" if self.trials else ""
            line = f"trial {self._finished + 1:,}{total}  epoch {epoch}  {value:.4f}{self._best}{self._left()}"
            self._live.update(Text(line, no_wrap=True, overflow="ellipsis"))

    def finished(self, result: TrialResult, best: TrialResult | None) -> None:
        """Print the result of a trial and the best so far."""
        self._finished = max(self._finished, result.number)
        self._best = "" if best is None else f"  best {best.value:.4f} (trial {best.number})"
        value = "failed" if result.value is None else f"{result.value:.4f}"
        ended = f" {result.reason}" if result.reason else " pruned" if result.state == "pruned" else ""
        epochs = f"{plural(result.epochs, 'epoch')}, {duration(result.seconds)}"
        self.console.log(f"trial {result.number}: {value}{ended}  {epochs}{self._best}{self._left()}")

    def _left(self) -> str:
        if self.minutes is None:
            return ""
        return f"  {duration(max(0.0, 60 * self.minutes - (time.monotonic() - self._started)))} left"


def _show(result: TuneResult, out: Path, report: Path | None, console: Console) -> None:
    best, default = result.best, result.default_trial
    document = {"out": out, "report": report, **result.to_dict()}
    counts, measured = document["counts"], default is not None and default.value is not None
    matter = [f"{name} {share:.0%}" for name, share in result.importance.items() if share >= 0.01]
    rows = [
        ("preset file", out),
        ("trials", f"{counts['trials']:,}, of which {counts['pruned']:,} pruned and {counts['failed']:,} failed"),
        ("best", f"{result.metric} {best.value:.4f} on held-out labels (trial {best.number}, epoch {best.best_epoch})"),
        (result.preset, f"{result.metric} {default.value:.4f}" if default is not None and measured else None),
        ("settings", ", ".join(f"{name} {value}" for name, value in result.settings().items())),
        ("importance", ", ".join(matter) if result.importance else None),
        ("study", result.study),
        ("report", report),
    ]
    console.result(document, facts(rows))
    console.finish(f"The settings are in {out}.", "train", "PAIRS", "--preset", out, "--out", "model")
