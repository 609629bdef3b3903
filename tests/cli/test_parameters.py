from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import click
import pytest

from vse_ens.cli.errors import CliState
from vse_ens.cli.parameters import Argument, Command, Option, command_line, given_parameters

IMPORTED = """
import sys
from vse_ens.cli.app import main
try:
    main(sys.argv[1:])
finally:
    print(*sorted({"pydantic", "pyarrow.compute"} & sys.modules.keys()), file=sys.stderr)
"""


@dataclass
class Colors:
    """A group of options."""

    SECTION: ClassVar = "Color options"

    ink: Annotated[str, Option("The color of the ink.", "NAME")] = "black"
    glossy: Annotated[bool, Option("Whether it shines.")] = False


RECEIVED: dict[str, Any] = {}


def draw(
    place: Annotated[Path, Argument("Where to draw.", "PLACE")],
    words: Annotated[Sequence[str], Argument("What to draw.", "[WORD]...")] = (),
    *,
    name: Annotated[str | None, Option("A name.", "NAME")] = None,
    count: Annotated[int, Option("How many.", "N", min=1, max=20)] = 5,
    free: Annotated[int | None, Option("Any number.", "N", default="none")] = None,
    share: Annotated[float, Option("A share.", "X", min=0.0, max=1.0)] = 0.5,
    many: Annotated[Sequence[str], Option("Several.", "TEXT", name="--also")] = (),
    numbers: Annotated[Sequence[int], Option("Several numbers.", "N")] = (1, 2),
    layout: Annotated[Literal["long", "wide"] | None, Option("The layout.")] = None,
    header: Annotated[bool | None, Option("Whether there is a header.")] = None,
    cache: Annotated[bool, Option("Whether to keep it.")] = True,
    colors: Colors,
) -> None:
    """Draw something.

    With ink.

    Example: vse draw here circle
    """
    RECEIVED.clear()
    RECEIVED.update(locals(), line=command_line(), given=list(given_parameters()))


def received(line: str) -> dict[str, Any]:
    Command(draw, "draw").main(line.split(), "vse draw", standalone_mode=False, obj=CliState())
    return RECEIVED


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (".", {"place": Path(), "words": (), "count": 5, "numbers": (1, 2), "layout": None, "header": None}),
        ("missing a b", {"place": Path("missing"), "words": ("a", "b")}),
        (". --name= --no-header --no-cache", {"name": "", "header": False, "cache": False}),
        (". --count 20 --free 007 --share 1 --header", {"count": 20, "free": 7, "share": 1.0, "header": True}),
        (". --free -3", {"free": -3}),
        (". --free 99999999999999999999", {"free": 99999999999999999999}),
        (". --also a --also b --numbers 3 --numbers 4", {"many": ("a", "b"), "numbers": (3, 4)}),
        (". --layout wide --ink red --glossy", {"layout": "wide", "colors": Colors("red", glossy=True)}),
        (". a --also b --no-cache", {"given": ["place", "words", "many", "cache"]}),
        (". a --also b --no-cache", {"line": "vse draw . a --also b --no-cache"}),
    ],
)
def test_function_receives_converted_values(line: str, expected: dict[str, Any]) -> None:
    found = received(line)
    assert {name: (type(found[name]), found[name]) for name in expected} == {
        name: (type(value), value) for name, value in expected.items()
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "Missing argument 'PLACE'."),
        (". --count 0", "--count must be at least 1, got '0'"),
        (". --count 21", "--count must be at most 20, got '21'"),
        (". --count 2.5", "--count must be a whole number, got '2.5'"),
        (". --count -1", "--count must be at least 1, got '-1'"),
        (". --share 1.5", "--share must be at most 1.0, got '1.5'"),
        (". --share nan", "--share must be at least 0.0, got 'nan'"),
        (". --share x", "--share must be a number, got 'x'"),
        (". --numbers x", "--numbers must be a whole number, got 'x'"),
        (". --layout wde", "--layout must be one of long, wide, got 'wde'; did you mean wide?"),
    ],
)
def test_wrong_value_is_refused_with_its_rule(line: str, message: str) -> None:
    with pytest.raises(click.UsageError) as refused:
        received(line)
    assert refused.value.format_message() == message


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="this user may read any file")
def test_unreadable_path_is_refused(tmp_path: Path) -> None:
    tmp_path.joinpath("secret").touch(mode=0)
    with pytest.raises(click.BadParameter, match="is not readable"):
        received(str(tmp_path / "secret"))


def test_help_has_sections_defaults_limits_and_the_example() -> None:
    command = Command(draw, "draw")
    with click.Context(command, info_name="vse draw") as context:
        text = command.get_help(context)
    assert text.startswith("Usage: vse draw [OPTIONS] PLACE [WORD]...\n\n  Draw something.\n\n  With ink.\n\n")
    for line in (
        "  PLACE      Where to draw.\n",
        "  --count N               How many.  [default: 5; 1 to 20]\n",
        "  --free N                Any number.  [default: none]\n",
        "  --numbers N             Several numbers.  [default: 1, 2]\n",
        "  --layout [long|wide]    The layout.\n",
        "  --header / --no-header  Whether there is a header.\n",
        "\nColor options:\n  --ink NAME  The color of the ink.  [default: black]\n",
    ):
        assert line in text
    assert text.endswith("\n\n  Example:\n    $ vse draw here circle")


def test_annotate_loads_only_the_libraries_it_needs(model: Path) -> None:
    command = [sys.executable, "-c", IMPORTED, "annotate", str(model), "img_0000001", "--top", "3"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "img_0000001" in done.stdout
    assert done.stderr.split() == []
