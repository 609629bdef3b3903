from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.core import TyperCommand

from vse_ens.cli.conversion import PlainCommand

COUNT, SHARE = typer.Option(min=1, max=20), typer.Option(min=0.0, max=1.0)
IMPORTED = """
import sys
from vse_ens.cli.app import main
try:
    main(sys.argv[1:])
finally:
    print(*sorted({"pydantic", "pyarrow.compute"} & sys.modules.keys()), file=sys.stderr)
"""


def received(words: list[str], cls: type[TyperCommand]) -> tuple[Any, str]:
    """What a command receives from its command line, and the error message instead."""
    values: dict[str, Any] = {}
    app = typer.Typer(add_completion=False)

    @app.command(cls=cls)
    def run(
        place: Path,
        words: Annotated[list[str] | None, typer.Argument()] = None,
        *,
        text: str = "",
        name: str | None = None,
        count: Annotated[int, COUNT] = 5,
        free: int | None = None,
        share: Annotated[float, SHARE] = 0.5,
        many: Annotated[list[str] | None, typer.Option()] = None,
        numbers: Annotated[list[int] | None, typer.Option()] = None,
        folder: Annotated[Path | None, typer.Option(exists=True, file_okay=False)] = None,
        flag: bool = False,
    ) -> None:
        values.update(locals())

    try:
        typer.main.get_command(app).main(args=words, standalone_mode=False)
    except Exception as error:  # noqa: BLE001  # typer's own classes
        return None, str(error)
    return {name: (type(value), value) for name, value in values.items() if name != "values"}, ""


@pytest.mark.parametrize(
    "line",
    [
        "",
        ".",
        "missing",
        ". a b",
        ". --text= --name x --flag",
        ". --count 20 --free 007",
        ". --count 0",
        ". --count 21",
        ". --count 2.5",
        ". --count two",
        ". --count -1",
        ". --free -3",
        ". --free 1_000",
        ". --free 99999999999999999999",
        ". --share 1",
        ". --share 1.5",
        ". --many a --many b",
        ". --numbers 3 --numbers 4",
        ". --numbers x",
        ". --folder .",
        ". --folder missing",
        ". --folder pyproject.toml",
    ],
)
def test_a_command_receives_what_typer_would_give_it(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert received(line.split(), PlainCommand) == received(line.split(), TyperCommand)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="this user may read any file")
def test_a_path_that_cannot_be_read_has_the_message_of_typer(tmp_path: Path) -> None:
    tmp_path.joinpath("secret").touch(mode=0)
    words = [str(tmp_path / "secret")]
    assert received(words, PlainCommand) == received(words, TyperCommand)
    assert "not readable" in received(words, PlainCommand)[1]


def test_annotating_an_image_loads_no_library_that_it_does_not_need(model: Path) -> None:
    command = [sys.executable, "-c", IMPORTED, "annotate", str(model), "img_0000001", "--top", "3"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "img_0000001" in done.stdout
    assert done.stderr.split() == []
