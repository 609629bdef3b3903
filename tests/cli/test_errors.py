from __future__ import annotations

import errno
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from vse_ens.cli import errors
from vse_ens.cli.app import main
from vse_ens.cli.errors import CliState
from vse_ens.errors import DataError, UnknownIdError

ADVICE = "run it again with --debug for the traceback and please report it"


class Panic(BaseException):
    """What a fault inside a library written in Rust looks like."""


def raising(error: BaseException) -> Callable[[], None]:
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (
            DataError("pairs.csv is empty; write some pairs to it"),
            1,
            "error: pairs.csv is empty; write some pairs to it",
        ),
        (UnknownIdError("a", "image"), 1, "error: unknown image 'a'"),
        (click.BadParameter("too large", param_hint="'--seed'"), 2, "error: invalid value for '--seed': too large"),
        (PermissionError(errno.EACCES, "Permission denied", "a/b.csv"), 1, "error: a/b.csv: permission denied"),
        (OSError(errno.ENOSPC, "No space left on device", b"x"), 1, "error: x: no space left on device"),
        (OSError(errno.ENOSPC, "No space left"), 1, "error: standard output: no space left"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (
            ZeroDivisionError("division\nby zero"),
            1,
            f"error: unexpected error in vse (ZeroDivisionError: division by zero); {ADVICE}",
        ),
        (
            Panic("index out of bounds"),
            1,
            f"error: unexpected error in vse (Panic: index out of bounds); {ADVICE}",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_an_error_is_one_sentence_and_an_exit_code(
    error: BaseException, status: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert errors.run(raising(error), CliState()) == status
    assert capsys.readouterr() == ("", f"{sentence}\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("annotate m x --top abc", "--top must be a whole number, got 'abc' (see 'vse annotate --help')"),
        ("annotate m x --top 0", "--top must be at least 1, got '0' (see 'vse annotate --help')"),
        ("annotate m x --min-confidence x", "--min-confidence must be a number, got 'x' (see 'vse annotate --help')"),
        (
            "annotate m x --min-confidence 3",
            "--min-confidence must be at most 1.0, got '3' (see 'vse annotate --help')",
        ),
        (
            "info p.csv --layout wde",
            "--layout must be one of long, wide, got 'wde'; did you mean wide? (see 'vse info --help')",
        ),
        ("export m --out x --what foo", "--what must be one of labels, images, got 'foo' (see 'vse export --help')"),
        ("train {pairs} --out m --set margni=1", "unknown setting 'margni'; did you mean margin?"),
        ("train {pairs} --out m --learning-rate -1", "--learning-rate must be a number above 0 and up to 10, got -1.0"),
        ("train {pairs} --out m --lambda -1", "--lambda must be a number from 0 to 10, got -1.0"),
        ("train {pairs} --out m --workers 0", "--workers must be at least 1, got 0"),
        ("train {pairs} --out m --metric x", "--metric must be one of recall@5, recall@10, map, auc, overall; got 'x'"),
        ("train {pairs} --out m --set margin=-1", "margin must be a number above 0 and up to 1e+06, got -1"),
        ("info {pairs} --separator ab", "--separator must be a single ASCII character, got 'ab'"),
        (
            "info {pairs} --layout long --label-separator ;",
            "--label-separator is for layout wide; leave one of the two out",
        ),
        (
            "info {pairs} --no-header --image-column image",
            "--image-column names column 'image', but there is no header: give its number, from 0",
        ),
        (
            "info {pairs} --image-column 0 --label-column 0",
            "--image-column and --label-column are both column 'image' of {pairs}; name two columns",
        ),
        (
            "info {pairs} --image-column label_separator",
            "{pairs} has no column 'label_separator'; it has 'image', 'label'",
        ),
    ],
)
def test_a_message_names_the_option_and_not_the_argument(
    arguments: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "pairs.csv").write_text("image,label\na,sea\nb,sand\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(arguments.format(pairs="pairs.csv").split())
    assert capsys.readouterr() == ("", f"error: {sentence}\n".format(pairs="pairs.csv"))


def test_debug_shows_where_it_happened_and_the_sentence_last(capsys: pytest.CaptureFixture[str]) -> None:
    assert errors.run(raising(DataError("pairs.csv is empty")), CliState(debug=True)) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Traceback (most recent call last):")
    assert "test_errors.py" in err
    assert err.endswith("error: pairs.csv is empty\n")


def test_a_command_that_went_well_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert errors.run(lambda: None, CliState()) == 0
    assert capsys.readouterr() == ("", "")


def test_ctrl_c_in_a_destructor_stops_the_command_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    class Slow:
        def __del__(self) -> None:
            raise KeyboardInterrupt

    def command() -> None:
        Slow()
        for _ in range(1000):
            time.sleep(0.01)

    hook = sys.unraisablehook
    # A shell's background jobs ignore Ctrl-C: the test may be in one.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert errors.run(command, CliState()) == 130
    finally:
        signal.signal(signal.SIGINT, handler)
    assert capsys.readouterr() == ("", "interrupted\n")
    assert sys.unraisablehook is hook


def test_square_brackets_in_a_message_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    errors.run(raising(DataError("no column '[red]'")), CliState())
    assert capsys.readouterr().err == "error: no column '[red]'\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_under_standard_output_is_a_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "vse_ens", "--help"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (1, "error: standard output: no space left on device\n")


@pytest.mark.unhurried
@pytest.mark.parametrize("arguments", [["--help"], ["doctor", "--json"]])
def test_a_reader_that_leaves_early_is_no_trouble(arguments: list[str]) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "vse_ens", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    child.wait(timeout=600)
