from __future__ import annotations

import json

import pytest
from rich.text import Text

from vse_ens.cli import errors
from vse_ens.cli.console import Console, columns, facts
from vse_ens.cli.errors import CliState
from vse_ens.errors import DataError


def report(error: Exception) -> None:
    def fail() -> None:
        raise error

    errors.run(fail, CliState())


def test_a_result_is_for_people_or_one_document_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"label": "größe 日本", "long": "x " * 100}
    Console(json=False).result(document, facts([("label", "größe 日本")]))
    assert capsys.readouterr() == ("label  größe 日本\n", "")
    Console(json=True).result(document, facts([("label", "größe 日本")]))
    out, err = capsys.readouterr()
    assert json.loads(out) == document
    assert "größe 日本" in out
    assert err == ""


def test_closing_message_is_for_terminals_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    Console().finish("Done.", "serve", "my model")
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    Console().finish("Done.", "serve", "my model")
    out, err = capsys.readouterr()
    # Some versions of rich drop the last line break of what they read.
    assert (out, Text.from_ansi(err).plain.splitlines()) == ("", ["Done.", "next: vse serve 'my model'"])
    assert err.endswith("\n")
    Console(json=True).finish("Done.", "serve", "model")
    assert capsys.readouterr() == ("", "")


HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b31m\x7f\u202eabc"


def controls(text: str) -> set[str]:
    return {one for one in text if not one.isprintable()} - {"\n"}


def test_no_escape_sequence_in_an_id_reaches_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    Console().result({}, facts([(HOSTILE, HOSTILE)]), columns((HOSTILE,), [(HOSTILE,)]), Text(HOSTILE), HOSTILE)
    Console().note(HOSTILE)
    Console(json=True).result({"label": HOSTILE})
    report(DataError(f"{HOSTILE}.csv is empty"))
    out, err = capsys.readouterr()
    assert controls(out + err) == set()
    assert "\\x1b[2J\\x9b31m\\x7f\\u202eabc" in err
    assert json.loads(out[out.rindex("{") :]) == {"label": HOSTILE}


def test_styles_still_reach_the_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    Console().result({}, Text("a\x1b[2J", style="bold"))
    assert capsys.readouterr().out == "\x1b[1ma\\x1b[2J\x1b[0m\n"


def test_a_number_that_is_none_is_no_document() -> None:
    with pytest.raises(ValueError, match="JSON"):
        Console(json=True).result({"map": float("nan")})


def test_notes_go_to_stderr_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Console().log("note: [bold] " + "long " * 50 + "end")
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "note: [bold] " + "long " * 50 + "end\n"


def test_being_busy_is_seen_in_a_terminal_only(capsys: pytest.CaptureFixture[str]) -> None:
    with Console().status("reading"):
        pass
    assert capsys.readouterr() == ("", "")


def test_tables_fit_the_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    Console().result({}, facts([("note", "word " * 30), ("path", "/" + "x" * 90)]))
    Console().result({}, columns(("file", "pairs"), [("y" * 70, "12")], numbers=("pairs",)))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40
    assert sum(line.count("x") for line in lines) == 90
    assert sum(line.count("y") for line in lines) == 70
