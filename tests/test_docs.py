"""What the documents show is what happens.

Every ```console block is run, line by line after ``$``, and what it prints compared; ``...`` stands for anything. A
command must succeed, or fail where the shown output begins with ``error: ``. Every ```python block is run, and what its
``>>>`` lines print compared. A document's blocks run in order in one new folder. The commands of README run in
processes of their own, as a user runs them; those of the other documents in this one, where they can.
"""

from __future__ import annotations

import doctest
import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.console import Console

from tests.support.build_once import build_once
from tests.support.shell import run_here, run_in_shell
from vse_ens.cli.console import Progress

ROOT = Path(__file__).parents[1]
MAX_WIDTH = 160  # characters of a line of prose

# Pages with examples that another test runs, or that nobody can run here.
RUN_ELSEWHERE = {
    "docs/hub.md": "tests/export/test_hub.py",
    "docs/service.md": "tests/service/test_docs.py",
    "docs/scale.md": "tests/run/ray/test_pool.py",  # its examples name a cluster and a bucket
}
ALL = [path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))]


Run = Callable[[str, Path, dict[str, str]], tuple[int, str]]
TRAIN = re.compile(r"vse train (\S+) --out \S+")


class Block(NamedTuple):
    """A fenced block of a document."""

    language: str
    line: int
    text: str


def blocks(text: str) -> list[Block]:
    return [
        Block(match[1], text.count("\n", 0, match.start()) + 1, match[2])
        for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ]


def pages() -> list[str]:
    """Return the documents whose examples run here: all that have some, but for `RUN_ELSEWHERE`."""
    found = [name for name in ALL if re.search(r"^```(console|python)$", (ROOT / name).read_text(), re.MULTILINE)]
    return sorted(set(found) - RUN_ELSEWHERE.keys())


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output shown under it."""
    return [(match[1], match[2]) for match in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)]


def looks_like(shown: str, printed: str) -> bool:
    """Whether output is as shown: ``...`` alone in a line stands for any lines, inside a line for any text."""
    lines = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
    anything = {re.escape("\n...\n"): "\n(?:.*\n)*?", re.escape("..."): ".*"}
    pattern = re.escape(f"\n{shown.strip(chr(10))}\n")
    for dots, meaning in anything.items():
        pattern = pattern.replace(dots, meaning)
    return re.fullmatch(pattern, f"\n{lines}\n") is not None


def without_progress(printed: str) -> str:
    """Output without the lines that say how far the work is: only work of ten seconds and more prints them."""
    return re.sub(r"^\S.*: [\d,]+ of [\d,]+ \w+, .* left\n", "", printed, flags=re.MULTILINE)


def ends_as_shown(shown: str, code: int) -> bool:
    """Whether a command fails where an error is shown, and only there: ``...`` may not hide a traceback."""
    return (code != 0) is shown.startswith("error: ")


def run_console(block: Block, folder: Path, environment: dict[str, str], run: Run = run_in_shell) -> None:
    found = commands(block.text)
    assert found, f"the console block in line {block.line} has no command"
    for command, shown in found:
        code, printed = run(command, folder, environment)
        what = f"line {block.line}: {command}\nshown:\n{shown}\nprinted:\n{printed}"
        assert ends_as_shown(shown, code), f"exit code {code}, {what}"
        assert looks_like(shown, without_progress(printed)), what


def run_python(block: Block, names: dict[str, object]) -> None:
    if ">>>" not in block.text:
        exec(compile(block.text, f"line {block.line}", "exec"), names)
        return
    example = doctest.DocTestParser().get_doctest(block.text, names, f"line {block.line}", None, 0)
    complaints: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=complaints.append, clear_globs=False)
    names.update(example.globs)
    assert not complaints, "".join(complaints)


def training_once(factory: pytest.TempPathFactory) -> Run:
    """Return `run_here`, where documents that train on the same file by the same command share the training."""

    def run(command: str, folder: Path, environment: dict[str, str]) -> tuple[int, str]:
        train = TRAIN.fullmatch(command)
        if not train or not (folder / train[1]).is_file():
            return run_here(command, folder, environment)
        pairs = (folder / train[1]).read_bytes()

        def build(path: Path) -> None:
            work = factory.mktemp("training")
            (work / train[1]).parent.mkdir(parents=True, exist_ok=True)
            (work / train[1]).write_bytes(pairs)
            code, printed = run_here(command, work, environment)
            (work / "output.json").write_text(json.dumps([code, printed]), encoding="utf-8")
            work.rename(path)

        made = build_once(factory, f"training-{hashlib.sha256(command.encode() + pairs).hexdigest()}", build)
        shutil.copytree(made, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("output.json"))
        code, printed = json.loads((made / "output.json").read_text(encoding="utf-8"))
        return code, printed

    return run


@pytest.mark.docs
@pytest.mark.parametrize("document", pages())
def test_examples_print_what_the_document_shows(
    document: str,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    plain_environment: dict[str, str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, plain_environment[name])
    run = run_in_shell if document == "README.md" else training_once(tmp_path_factory)
    names: dict[str, object] = {}
    for block in blocks((ROOT / document).read_text(encoding="utf-8")):
        if block.language == "console":
            run_console(block, tmp_path, plain_environment, run)
        elif block.language == "python":
            run_python(block, names)


def test_pages_that_run_elsewhere_exist_with_their_tests() -> None:
    assert RUN_ELSEWHERE.keys() <= set(ALL)
    assert [test for test in RUN_ELSEWHERE.values() if not (ROOT / test).is_file()] == []


@pytest.mark.parametrize("document", ALL)
def test_links_between_documents_lead_somewhere(document: str) -> None:
    path = ROOT / document
    links = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


def wide_prose(text: str) -> list[str]:
    """Lines of prose that are too wide to read: tables, fenced blocks and images cannot be broken."""
    prose = re.sub(r"^(```+).*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    return [line for line in prose.splitlines() if len(line) > MAX_WIDTH and not line.startswith(("|", "!["))]


@pytest.mark.parametrize("document", ALL)
def test_lines_of_prose_are_short(document: str) -> None:
    assert wide_prose((ROOT / document).read_text(encoding="utf-8")) == []


def test_wide_lines_are_found_in_prose_only() -> None:
    wide = "word " * 40
    assert wide_prose(f"{wide}\n| {wide} |\n```console\n{wide}\n```\nshort\n- {wide}\n") == [wide, f"- {wide}"]


def test_the_start_page_has_the_example_of_readme() -> None:
    readme, index = (
        [block.text for block in blocks((ROOT / name).read_text(encoding="utf-8")) if block.language == "python"]
        for name in ("README.md", "docs/index.md")
    )
    assert readme == index


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\nb", "a   \nb\n", True),
        ("a\n...\nd", "a\nb\nc\nd", True),
        ("a\n...\nd", "a\nd", True),
        ("took ... s", "took 1.2 s", True),
        ("took ... s", "took 1.2\n s", False),
        ("a.c", "abc", False),
        ("a", "a\nb", False),
        ("a\n...\nd", "a\nb", False),
        ("...\nb", "a\nb", True),
        ("...\nb", "b", True),
        ("a\n...", "a\nb\nc", True),
        ("  a", "a", False),
    ],
)
def test_output_is_compared_with_what_is_shown(shown: str, printed: str, same: bool) -> None:
    assert looks_like(shown, printed) is same


def test_progress_of_a_slow_machine_is_left_out() -> None:
    line = Progress(Console(), "evaluating", 1917, "images").line(1000, 94.2)
    assert without_progress(f"a\n{line}\nb\n") == "a\nb\n"
    assert without_progress("14 of 1,917 held-out labels are left\n") == "14 of 1,917 held-out labels are left\n"


@pytest.mark.parametrize(
    ("shown", "code", "same"),
    [
        ("a\n", 0, True),
        ("", 0, True),
        ("error: no file\n", 1, True),
        ("...\n", 1, False),
        ("a\nerror: no file\n", 1, False),
        ("error: no file\n", 0, False),
    ],
)
def test_a_command_fails_only_where_an_error_is_shown(shown: str, code: int, same: bool) -> None:
    assert ends_as_shown(shown, code) is same


def test_a_failure_behind_dots_is_found(tmp_path: Path, plain_environment: dict[str, str]) -> None:
    with pytest.raises(AssertionError, match="exit code 3, line 7: echo Traceback; exit 3"):
        run_console(Block("console", 7, "$ echo Traceback; exit 3\n...\n"), tmp_path, plain_environment)


@pytest.mark.parametrize("command", ["vse --version", "vse info pears.csv", "vse info pears.csv || echo 'no pears'"])
def test_a_command_does_the_same_in_this_process(
    command: str, tmp_path: Path, plain_environment: dict[str, str]
) -> None:
    assert run_here(command, tmp_path, plain_environment) == run_in_shell(command, tmp_path, plain_environment)


def test_blocks_and_commands_are_found() -> None:
    text = "Text\n\n```console\n$ vse a\none\ntwo\n$ vse b\n```\n\n```python\nx = 1\n```\n"
    first, second = blocks(text)
    assert commands(first.text) == [("vse a", "one\ntwo\n"), ("vse b", "")]
    assert (first.line, second) == (3, Block("python", 10, "x = 1\n"))
