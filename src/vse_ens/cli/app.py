"""The command ``vse`` and its tree of commands.

Neither this module nor a command may import pyarrow or numba at module level: ``vse --help`` must be quick.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from vse_ens import __version__
from vse_ens.cli import errors
from vse_ens.cli.commands.annotate import annotate
from vse_ens.cli.commands.apply import apply
from vse_ens.cli.commands.audit import audit
from vse_ens.cli.commands.compare import compare
from vse_ens.cli.commands.data.convert import convert
from vse_ens.cli.commands.data.iaprtc12 import iaprtc12
from vse_ens.cli.commands.data.nuswide import nuswide
from vse_ens.cli.commands.data.openimages import openimages
from vse_ens.cli.commands.data.scenes import scenes
from vse_ens.cli.commands.demo import demo
from vse_ens.cli.commands.doctor import doctor
from vse_ens.cli.commands.evaluate import evaluate
from vse_ens.cli.commands.explain import explain
from vse_ens.cli.commands.export import export
from vse_ens.cli.commands.feedback import FeedbackGroup, show
from vse_ens.cli.commands.feedback import apply as apply_feedback
from vse_ens.cli.commands.info import info
from vse_ens.cli.commands.pull import pull
from vse_ens.cli.commands.push import push
from vse_ens.cli.commands.reproduce import reproduce
from vse_ens.cli.commands.rules import apply_proposals, list_rules, propose, undo_rules
from vse_ens.cli.commands.search import SearchCommand, search
from vse_ens.cli.commands.serve import serve
from vse_ens.cli.commands.similar import similar
from vse_ens.cli.commands.split import split
from vse_ens.cli.commands.train import train
from vse_ens.cli.commands.undo import undo
from vse_ens.cli.commands.update import update
from vse_ens.cli.errors import CliState, Debug
from vse_ens.cli.options import add_command

app = typer.Typer(
    name="vse",
    epilog="\b\nExample:\n  $ vse demo",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"vse-ens {__version__}")
        raise typer.Exit


@app.callback()
def vse(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Learn which labels belong to which image from (image, label) pairs alone."""


add_command(app, demo, example="vse demo")
add_command(app, info, example="vse info pairs.csv")
add_command(app, split, example="vse split pairs.csv --out split --seed 0")
add_command(app, train, example="vse train split/train.parquet --out model")
add_command(app, evaluate, example="vse evaluate model split/test.parquet")
add_command(app, annotate, example="vse annotate model img_0000001 img_0000002")
add_command(app, search, example="vse search model beach -person", cls=SearchCommand)
add_command(app, similar, example="vse similar model beach")
add_command(app, explain, example="vse explain model img_0000001 sand")
add_command(app, audit, example="vse audit model --out audit.csv --page audit.html")
add_command(app, export, example="vse export model --out labels.parquet")
add_command(app, push, example="vse push model ann/holiday-labels --private")
add_command(app, pull, example="vse pull ann/holiday-labels --out model")
add_command(app, serve, example="vse serve model")
feedback = typer.Typer(
    cls=FeedbackGroup,
    help="Show feedback counts, export accepted pairs, or write verdicts to a collection.",
    epilog="\b\nExample:\n  $ vse feedback model.feedback.sqlite --out accepted.csv",
    no_args_is_help=True,
)
add_command(feedback, show, example="vse feedback show model.feedback.sqlite --out accepted.csv")
add_command(feedback, apply_feedback, example="vse feedback apply model.feedback.sqlite --to Pictures")
app.add_typer(feedback, name="feedback")
add_command(app, apply, example="vse apply pairs.csv --feedback model.feedback.sqlite --out clean.csv")
rules = typer.Typer(
    help="Propose aliases and implications between labels, accept them as rules, list and undo rules.",
    epilog="\b\nExample:\n  $ vse rules propose pairs.csv --out proposals.csv",
    no_args_is_help=True,
)
add_command(rules, propose, example="vse rules propose pairs.csv --out proposals.csv")
add_command(rules, apply_proposals, name="apply", example="vse rules apply rules.jsonl proposals.csv")
add_command(rules, list_rules, name="list", example="vse rules list rules.jsonl")
add_command(rules, undo_rules, name="undo", example="vse rules undo rules.jsonl 3")
app.add_typer(rules, name="rules")
add_command(app, undo, example="vse undo undo.jsonl")
add_command(app, update, example="vse update model model.feedback.sqlite --out model-2")
add_command(app, compare, example="vse compare pairs.csv --models context,ease --out report.html")
add_command(app, reproduce, example="vse reproduce --quick --out reproduction")
add_command(app, doctor, example="vse doctor")

data = typer.Typer(
    help="Generate a data set, or convert one.",
    epilog="\b\nExample:\n  $ vse data scenes --images 2000 --out pairs.csv",
    no_args_is_help=True,
)
add_command(data, scenes, example="vse data scenes --images 2000 --out pairs.csv")
add_command(data, convert, example="vse data convert pairs.csv --to lenskit --out lenskit")
add_command(data, openimages, example="vse data openimages openimages --out openimages.parquet")
add_command(data, nuswide, example="vse data nuswide NUS-WIDE --labels tags5018 --out nuswide.parquet")
add_command(data, iaprtc12, example="vse data iaprtc12 iaprtc12 --out iaprtc12.parquet")
app.add_typer(data, name="data")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``vse`` and exit the process with its exit code; ``arguments`` default to those of the process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # IDs may be any Unicode text, whatever the locale.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    state = CliState()
    command = typer.main.get_command(app)
    sys.exit(
        errors.run(
            lambda: command.main(args=arguments, prog_name="vse", standalone_mode=False, obj=state),
            state,
        )
    )
