"""The command ``vse`` and its tree of commands.

Only the command that runs is imported, so that ``vse --help`` and every command start quickly. For the same reason no
command may import pyarrow or numba at module level.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from vse_ens import __version__
from vse_ens.cli import errors
from vse_ens.cli.conversion import PlainGroup
from vse_ens.cli.errors import CliState, Debug

# Python looks for garbage after every 700 new objects, and importing the libraries makes a million that stay.
_OBJECTS_BETWEEN_COLLECTIONS = 50_000


class _Command(NamedTuple):
    """A command: a function of a module in `vse_ens.cli.commands`."""

    name: str
    source: str
    """Module and function."""
    example: str
    summary: str = ""
    """The first sentence of its help, for the help of ``vse``; a test compares them."""
    cls: str = ""
    """A class of the module in place of typer's."""


class _Group(NamedTuple):
    """Commands of two words."""

    name: str
    example: str
    summary: str
    commands: tuple[_Command, ...]
    cls: str = ""


_COMMANDS = (
    _Command("demo", "demo:demo", "vse demo", "Train on the built-in data set and show suggestions."),
    _Command("info", "info:info", "vse info pairs.csv", "Show a summary of a file of pairs or of a collection."),
    _Command(
        "split",
        "split:split",
        "vse split pairs.csv --out split --seed 0",
        "Split pairs into train.parquet and test.parquet.",
    ),
    _Command("train", "train:train", "vse train split/train.parquet --out model", "Train a model on pairs."),
    _Command(
        "evaluate",
        "evaluate:evaluate",
        "vse evaluate model split/test.parquet",
        "Measure how well a model ranks held-out labels.",
    ),
    _Command(
        "annotate",
        "annotate:annotate",
        "vse annotate model img_0000001 img_0000002",
        "Suggest missing labels for images.",
    ),
    _Command(
        "calibrate",
        "calibrate:calibrate",
        "vse calibrate model --completeness 0.7 --out calibrated",
        "Set what confidences rest on: completeness and verdicts.",
    ),
    _Command(
        "search",
        "search:search",
        "vse search model beach -person",
        "Find images for labels, including images not tagged with them.",
        "search:SearchCommand",
    ),
    _Command(
        "similar",
        "similar:similar",
        "vse similar model beach",
        "Find labels similar to a label, or images similar to an image.",
    ),
    _Command(
        "explain",
        "explain:explain",
        "vse explain model img_0000001 sand",
        "Explain the score of a label for an image.",
    ),
    _Command(
        "audit",
        "audit:audit",
        "vse audit model --out audit.csv --page audit.html",
        "Find labels that are likely wrong, missing or duplicate.",
    ),
    _Command(
        "export",
        "export:export",
        "vse export model --out labels.parquet",
        "Export label or image vectors for other programs.",
    ),
    _Command(
        "push",
        "push:push",
        "vse push model ann/holiday-labels --private",
        "Upload a model to the Hugging Face Hub, with a page about it.",
    ),
    _Command(
        "pull",
        "pull:pull",
        "vse pull ann/holiday-labels --out model",
        "Download a model from the Hugging Face Hub and verify every byte.",
    ),
    _Command("serve", "serve:serve", "vse serve model", "Serve a model over HTTP, with a web page."),
    _Command(
        "apply",
        "apply:apply",
        "vse apply pairs.csv --feedback model.feedback.sqlite --out clean.csv",
        "Clean a data set by feedback, audit decisions and rules.",
    ),
    _Command("undo", "undo:undo", "vse undo undo.jsonl", "Restore the files that a write changed, byte for byte."),
    _Command(
        "update",
        "update:update",
        "vse update model model.feedback.sqlite --out model-2",
        "Add new pairs, images and labels to a trained model.",
    ),
    _Command(
        "compare",
        "compare:compare",
        "vse compare pairs.csv --models context,ease --out report.html",
        "Compare models and baselines on one split.",
    ),
    _Command(
        "tune",
        "tune:tune",
        "vse tune split/train.parquet --trials 30 --out tuned.toml",
        "Search for better settings of a preset.",
    ),
    _Command(
        "reproduce",
        "reproduce:reproduce",
        "vse reproduce --quick --out reproduction",
        "Rerun the experiments of the paper.",
    ),
    _Command("doctor", "doctor:doctor", "vse doctor", "Check the installation and this machine."),
)
_GROUPS = (
    _Group(
        "feedback",
        "vse feedback model.feedback.sqlite --out accepted.csv",
        "Show feedback counts, export accepted pairs, or write verdicts to a collection.",
        (
            _Command("show", "feedback:show", "vse feedback show model.feedback.sqlite --out accepted.csv"),
            _Command("apply", "feedback:apply", "vse feedback apply model.feedback.sqlite --to Pictures"),
        ),
        "feedback:FeedbackGroup",
    ),
    _Group(
        "rules",
        "vse rules propose pairs.csv --out proposals.csv",
        "Propose aliases and implications between labels, accept them as rules, list and undo rules.",
        (
            _Command("propose", "rules:propose", "vse rules propose pairs.csv --out proposals.csv"),
            _Command("apply", "rules:apply_proposals", "vse rules apply rules.jsonl proposals.csv"),
            _Command("list", "rules:list_rules", "vse rules list rules.jsonl"),
            _Command("undo", "rules:undo_rules", "vse rules undo rules.jsonl 3"),
        ),
    ),
    _Group(
        "data",
        "vse data scenes --images 2000 --out pairs.csv",
        "Generate a data set, or convert one.",
        (
            _Command("scenes", "data.scenes:scenes", "vse data scenes --images 2000 --out pairs.csv"),
            _Command("convert", "data.convert:convert", "vse data convert pairs.csv --out scenes.jsonl"),
            _Command(
                "openimages", "data.published:openimages", "vse data openimages openimages --out openimages.parquet"
            ),
            _Command(
                "nuswide",
                "data.published:nuswide",
                "vse data nuswide NUS-WIDE --labels tags5018 --out nuswide.parquet",
            ),
            _Command("iaprtc12", "data.published:iaprtc12", "vse data iaprtc12 iaprtc12 --out iaprtc12.parquet"),
        ),
    ),
)


def make_app(only: str | None = None) -> typer.Typer:
    """Return the tree of commands; with ``only``, a name or none, the others have a summary and no options."""
    app = typer.Typer(
        name="vse",
        cls=PlainGroup,
        epilog=_epilog("vse demo"),
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback()(vse)
    for command in _COMMANDS:
        if only in (None, command.name):
            _add_command(app, command)
        else:
            app.command(command.name, help=command.summary)(_not_loaded)
    for group in _GROUPS:
        loads = only in (None, group.name)
        cls = _find(group.cls) if loads and group.cls else PlainGroup
        commands = typer.Typer(cls=cls, help=group.summary, epilog=_epilog(group.example), no_args_is_help=True)
        for command in group.commands if loads else ():
            _add_command(commands, command)
        app.add_typer(commands, name=group.name)
    return app


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"vse-ens {__version__}")
        raise typer.Exit


def vse(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Learn which labels belong to which image from (image, label) pairs alone."""


def _not_loaded() -> None:
    """Stand in for a command that does not run."""


def _add_command(app: typer.Typer, command: _Command) -> None:
    from vse_ens.cli.options import add_command

    options: dict[str, Any] = {"cls": _find(command.cls)} if command.cls else {}
    add_command(app, _find(command.source), example=command.example, name=command.name, **options)


def _find(source: str) -> Any:
    module, _, name = source.partition(":")
    return getattr(import_module(f"vse_ens.cli.commands.{module}"), name)


def _epilog(example: str) -> str:
    return f"\b\nExample:\n  $ {example}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``vse`` and exit the process with its exit code; ``arguments`` default to those of the process."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # IDs may be any Unicode text, whatever the locale.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    state = CliState()
    words = sys.argv[1:] if arguments is None else arguments
    # Before the command there are flags only. Shell completion may ask for any command.
    only = None if "_VSE_COMPLETE" in os.environ else next((word for word in words if not word.startswith("-")), "")
    command = typer.main.get_command(make_app(only))
    sys.exit(
        errors.run(
            lambda: command.main(args=arguments, prog_name="vse", standalone_mode=False, obj=state),
            state,
        )
    )
