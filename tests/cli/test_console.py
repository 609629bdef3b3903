from __future__ import annotations

import json

import pytest

from vse_ens.cli.console import Console, columns, facts


def test_a_result_is_for_people_or_one_document_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"label": "größe 日本", "long": "x " * 100}
    Console(json=False).result(document, facts([("label", "größe 日本")]))
    assert capsys.readouterr() == ("label  größe 日本\n", "")
    Console(json=True).result(document, facts([("label", "größe 日本")]))
    out, err = capsys.readouterr()
    assert json.loads(out) == document
    assert "größe 日本" in out
    assert err == ""


def test_a_number_that_is_none_is_no_document() -> None:
    with pytest.raises(ValueError, match="JSON"):
        Console(json=True).result({"map": float("nan")})


def test_what_is_said_goes_to_standard_error_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Console().log("note: [bold] " + "long " * 50)
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "note: [bold] " + "long " * 50 + "\n"


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
