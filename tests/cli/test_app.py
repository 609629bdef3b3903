from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from vse_ens import __version__
from vse_ens.cli.app import VSE
from vse_ens.errors import DataError

Vse = Callable[..., Any]

ROOT = Path(__file__).parents[2]


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command there is, groups and all, by its path."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*path, name))


ALL = dict(commands(VSE))
EVERY = pytest.mark.parametrize("path", ALL, ids=lambda path: " ".join(("vse", *path)))


def document() -> str:
    return "".join((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/cli.md"))


def test_the_walk_finds_the_commands() -> None:
    assert {(), ("split",), ("info",), ("doctor",), ("demo",), ("data",), ("data", "scenes")} <= ALL.keys()


@EVERY
def test_every_command_has_help_that_ends_with_an_example(path: tuple[str, ...], vse: Vse) -> None:
    answer = vse(*path, "--help")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith(f"Usage: {' '.join(('vse', *path))}")
    heading, example = answer.out.rstrip().splitlines()[-2:]
    assert heading.strip() == "Example:"
    assert example.strip().startswith(f"$ {' '.join(('vse', *path))}")
    assert max(map(len, answer.out.splitlines())) <= 80


@EVERY
def test_group_help_lists_the_summary_of_each_command(path: tuple[str, ...], vse: Vse) -> None:
    listed = " ".join(vse(*path[:-1], "--help").out.split()) if path else ""
    sentence = " ".join(ALL[path].help.split("\n\n")[0].split())
    assert not path or f" {path[-1]} {sentence} " in listed


@EVERY
def test_every_example_is_in_the_documents_where_a_test_runs_it(path: tuple[str, ...]) -> None:
    example = ALL[path].epilog.splitlines()[-1].strip()
    assert f"\n{example}\n" in document()


@EVERY
def test_every_option_is_explained(path: tuple[str, ...]) -> None:
    for option in ALL[path].params:
        assert option.help, option.name


@EVERY
def test_every_command_answers_in_json(path: tuple[str, ...]) -> None:
    if not isinstance(ALL[path], click.Group):
        assert {"json", "debug"} <= {option.name for option in ALL[path].params}


@EVERY
def test_every_command_is_documented(path: tuple[str, ...]) -> None:
    assert re.search(rf"\b{' '.join(('vse', *path))}\b", document())


def test_version(vse: Vse) -> None:
    assert vse("--version") == (0, f"vse-ens {__version__}\n", "")


def test_without_a_command_there_is_help(vse: Vse) -> None:
    for group in ([], ["data"]):
        assert vse(*group) == (2, "", vse(*group, "--help").out)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["splt"], "error: no such command 'splt'. Did you mean 'split'? (see 'vse --help')\n"),
        (["split"], "error: missing argument 'PAIRS' (see 'vse split --help')\n"),
        (["split", "pairs.csv"], "error: missing option '--out' (see 'vse split --help')\n"),
        (
            ["info", "pairs.csv", "--jsn"],
            "error: no such option '--jsn'. Did you mean '--json'? (see 'vse info --help')\n",
        ),
    ],
)
def test_bad_usage_is_a_sentence_and_exit_code_two(arguments: list[str], sentence: str, vse: Vse) -> None:
    assert vse(*arguments) == (2, "", sentence)


@pytest.mark.parametrize("arguments", [["--debug", "info", "pairs.csv"], ["info", "pairs.csv", "--debug"]])
def test_debug_is_taken_before_and_after_the_command(
    arguments: list[str], vse: Vse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise DataError("pairs.csv is empty")

    monkeypatch.setattr("vse_ens.cli.options.Reading.read", fail)
    answer = vse(*arguments)
    assert answer.status == 1
    assert answer.err.startswith("Traceback")
    assert answer.err.endswith("error: pairs.csv is empty\n")
    assert vse("info", "pairs.csv").err == "error: pairs.csv is empty\n"


def test_help_runs_without_development_dependencies(python: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    code = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pytest", "hypothesis", "pandas", "mypy", "ruff", "pre_commit", "xdist"}:
            raise ImportError(name)

sys.meta_path.insert(0, Refuse())
from vse_ens.cli.app import main
main(sys.argv[1:])
"""
    done = python(code, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: vse")


def test_any_locale_prints_any_unicode(python: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    code = "from vse_ens.cli.app import main; main(['gr\\xf6\\xdfe \\u65e5\\u672c'])"
    done = python(code, LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.stderr == "error: no such command 'größe 日本' (see 'vse --help')\n"


def test_a_shell_can_complete(vse: Vse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_VSE_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "vse se")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert vse().out.split() == ["plain,search", "plain,serve"]
