"""The commands in `benchmarks.commands`, which a clone of the repository has and the wheel does not."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import click

from vse_ens.cli.parameters import Command
from vse_ens.errors import MissingPartError

_ROOT = Path(__file__).parents[3]
_URL = "https://github.com/vse-ens/vse-ens"


def clone_command(source: str, path: str, summary: str) -> click.Command:
    """Return a command of the clone around ``src``; without one, a command that says how to get it."""
    module, _, function = source.partition(":")
    name = path.split()[-1]
    if (_ROOT / "benchmarks" / "commands").is_dir() and str(_ROOT) not in sys.path:
        sys.path.insert(0, str(_ROOT))
    try:
        return Command(getattr(import_module(f"benchmarks.commands.{module}"), function), name)
    except ModuleNotFoundError:
        pass

    def refuse() -> None:
        steps = f"git clone {_URL} && cd vse-ens && pip install --editable . && {path}"
        raise MissingPartError(f"{path} needs a clone of the repository: {steps}")

    any_arguments = {"ignore_unknown_options": True, "allow_extra_args": True}
    help_text = f"{summary}\n\nNeeds a clone of the repository."
    return click.Command(name, callback=refuse, help=help_text, context_settings=any_arguments)
