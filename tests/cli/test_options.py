from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from vse_ens.cli.options import add_command, expand_options


@dataclass
class Colours:
    """A group of options."""

    ink: Annotated[str, typer.Option(help="The colour of the ink.")] = "black"
    glossy: Annotated[bool, typer.Option("--glossy", help="Whether it shines.")] = False


def draw(shape: Annotated[str, typer.Argument()], *, size: int = 1, colours: Colours) -> None:
    """Draw something."""
    typer.echo(f"{shape} {size} {colours}")


def test_a_group_becomes_its_options_in_its_place() -> None:
    assert list(inspect.signature(expand_options(draw)).parameters) == ["shape", "size", "ink", "glossy"]


def test_the_command_gets_the_group_filled_in() -> None:
    app = typer.Typer()
    add_command(app, draw, example="draw circle")
    answer = CliRunner().invoke(app, ["circle", "--ink", "red", "--glossy"])
    assert answer.output == "circle 1 Colours(ink='red', glossy=True)\n"
    assert CliRunner().invoke(app, ["circle", "--size", "3"]).output == (
        "circle 3 Colours(ink='black', glossy=False)\n"
    )


def test_the_function_itself_stays_as_it_was() -> None:
    assert list(inspect.signature(draw).parameters) == ["shape", "size", "colours"]
    assert expand_options(draw).__doc__ == draw.__doc__
