"""The command ``vse``: its commands are the files beside this one.

Nothing here or in a command's file may import polars, pyarrow or numba at the top: ``vse --help`` must be quick.
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
from vse_ens.cli.commands.audit import audit
from vse_ens.cli.commands.compare import compare
from vse_ens.cli.commands.data import iaprtc12, nuswide, openimages, scenes
from vse_ens.cli.commands.demo import demo
from vse_ens.cli.commands.doctor import doctor
from vse_ens.cli.commands.evaluate import evaluate
from vse_ens.cli.commands.explain import explain
from vse_ens.cli.commands.export import export
from vse_ens.cli.commands.feedback import feedback
from vse_ens.cli.commands.info import info
from vse_ens.cli.commands.reproduce import reproduce
from vse_ens.cli.commands.search import search
from vse_ens.cli.commands.serve import serve
from vse_ens.cli.commands.similar import similar
from vse_ens.cli.commands.split import split
from vse_ens.cli.commands.train import train
from vse_ens.cli.commands.update import update
from vse_ens.cli.errors import CliState, Debug
from vse_ens.cli.options import add

app = typer.Typer(
    name="vse",
    epilog="\b\nExample:\n  $ vse demo",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"vse-ens {__version__}")
        raise typer.Exit


@app.callback()
def vse(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Learn which labels belong to which image from nothing but (image, label) pairs."""


add(app, demo, example="vse demo")
add(app, info, example="vse info pairs.csv")
add(app, split, example="vse split pairs.csv --out split --seed 0")
add(app, train, example="vse train split/train.parquet --out model")
add(app, evaluate, example="vse evaluate model split/test.parquet")
add(app, annotate, example="vse annotate model img_0000001 img_0000002")
add(app, search, example="vse search model beach --without person")
add(app, similar, example="vse similar model beach")
add(app, explain, example="vse explain model img_0000001 sand")
add(app, audit, example="vse audit model --out audit.csv --page audit.html")
add(app, export, example="vse export model --out labels.parquet")
add(app, serve, example="vse serve model")
add(app, feedback, example="vse feedback model.feedback.sqlite --out accepted.csv")
add(app, update, example="vse update model model.feedback.sqlite --out model-2")
add(app, compare, example="vse compare pairs.csv --models context,ease --out report.html")
add(app, reproduce, example="vse reproduce --quick --out reproduction")
add(app, doctor, example="vse doctor")

data = typer.Typer(
    help="Make a data set, or read a published one.",
    epilog="\b\nExample:\n  $ vse data scenes --images 2000 --out pairs.csv",
    no_args_is_help=True,
)
add(data, scenes, example="vse data scenes --images 2000 --out pairs.csv")
add(data, openimages, example="vse data openimages openimages --out openimages.parquet")
add(data, nuswide, example="vse data nuswide NUS-WIDE --labels tags5018 --out nuswide.parquet")
add(data, iaprtc12, example="vse data iaprtc12 iaprtc12 --out iaprtc12.parquet")
app.add_typer(data, name="data")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``vse`` on the arguments of the process, and leave it with the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Ids are any unicode, whatever the terminal's locale says.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    session = CliState()
    tree = typer.main.get_command(app)
    sys.exit(
        errors.run(
            lambda: tree.main(args=arguments, prog_name="vse", standalone_mode=False, obj=session),
            session,
        )
    )
