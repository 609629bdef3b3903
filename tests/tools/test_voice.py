"""The lint of the English in code and documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import voice


@pytest.mark.parametrize(
    ("text", "american"),
    [
        ("the colour of a Neighbour", "the color of a Neighbor"),
        ("NORMALISED", "NORMALIZED"),
        ("normalise_rows", "normalize_rows"),
        ("aria-labelledby", "aria-labelledby"),
    ],
)
def test_spelling_becomes_american(text: str, american: str) -> None:
    assert voice.american(text) == american


@pytest.mark.parametrize(
    "text",
    [
        "the file is no preset",
        "the order is that of their scores",
        "so many images",
        "a second run stops with a sentence",
        "a cluster that hangs gives a sentence",
        "users were told",
        "the search goes on",
        "pairs alone do not tell",
        "faster than that of the others",
        "found in vain",
    ],
)
def test_phrases_are_found_with_their_line(text: str) -> None:
    ((line, phrase, advice),) = voice.findings(f"plain English\n{text}\n")
    assert line == 2
    assert phrase in text
    assert advice


@pytest.mark.parametrize(
    "text", ["there is no file", "it is no longer used", "a goal", "is thatched", "a told b", "exits with an error"]
)
def test_plain_english_is_left_alone(text: str) -> None:
    assert list(voice.findings(text)) == []


def test_main_names_file_line_and_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("plain\nthe colour\n", encoding="utf-8")
    monkeypatch.setattr(voice, "ROOT", tmp_path)
    monkeypatch.setattr(voice, "files", lambda: [page])
    monkeypatch.setattr("sys.argv", ["voice"])
    assert voice.main() == 1
    assert capsys.readouterr().out == "page.md:2: 'colour'; write: color\n"
    monkeypatch.setattr("sys.argv", ["voice", "--fix"])
    assert voice.main() == 0
    assert page.read_text(encoding="utf-8") == "plain\nthe color\n"
