from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Answer
from vse_ens.service import server
from vse_ens.service.keys import Key
from vse_ens.service.settings import Settings

Vse = Callable[..., Answer]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """What would be served; each is announced and stops at once."""
    found: list[Settings] = []

    def run(settings: Settings, announce: Callable[[Settings], None]) -> None:
        found.append(settings)
        announce(settings)

    monkeypatch.setattr(server, "run", run)
    monkeypatch.delenv("VSE_API_KEY", raising=False)
    monkeypatch.delenv("VSE_READ_KEY", raising=False)
    return found


def test_address_is_shown_and_feedback_is_beside_the_model(vse: Vse, started: list[Settings], tmp_path: Path) -> None:
    model = tmp_path / "model"
    answer = vse("serve", model, "--image-url", "https://a.example/{image}")
    assert (answer.status, answer.err) == (0, "")
    assert "http://127.0.0.1:8765/" in answer.out.replace("\n", "")
    feedback = tmp_path / "model.feedback.sqlite"
    assert started == [Settings(model, feedback=feedback, image_url="https://a.example/{image}", own_images=True)]
    assert vse("serve", model, "--json").document == {"model": str(model), "address": "http://127.0.0.1:8765/"}


def test_the_key_comes_from_a_file_or_the_environment(
    vse: Vse, started: list[Settings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "key"
    key.write_text("a-key-from-a-file\n")
    key.chmod(0o600)
    monkeypatch.setenv("VSE_API_KEY", "from-the-environment")
    assert vse("serve", "model", "--host", "0.0.0.0").status == 0
    assert vse("serve", "model", "--api-key-file", key).status == 0
    assert [one.keys for one in started] == [(Key("from-the-environment"),), (Key("a-key-from-a-file"),)]


def test_keys_have_names_and_some_only_read(
    vse: Vse, started: list[Settings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (
        ("full", "# ours\nanna:key-of-anna-0123456789\n\nBen K : key-of-ben-0123456789\n"),
        ("read", "r" * 16),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    full, read = tmp_path / "full", tmp_path / "read"
    assert vse("serve", "model", "--api-key-file", full, "--read-key-file", read).status == 0
    both = (Key("key-of-anna-0123456789", "anna"), Key("key-of-ben-0123456789", "Ben K"))
    assert started[0].keys == (*both, Key("r" * 16, read_only=True))
    monkeypatch.setenv("VSE_READ_KEY", "s" * 16)
    assert vse("serve", "model", "--host", "0.0.0.0").status == 0
    assert started[1].keys == (Key("s" * 16, read_only=True),)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("anna:short", "line 1: the API key of anna has 5 characters"),
        ("\n:a-key-nobody-guesses", "line 2: write NAME:KEY"),
        ("a\tb:a-key-nobody-guesses", "line 1: write NAME:KEY"),
        ("anna:a-key-nobody-guesses\nben:a-key-nobody-guesses", "two API keys are the same"),
    ],
)
def test_a_line_that_is_no_key_is_named(
    vse: Vse, started: list[Settings], tmp_path: Path, text: str, sentence: str
) -> None:
    (tmp_path / "keys").write_text(text)
    (tmp_path / "keys").chmod(0o600)
    answer = vse("serve", "model", "--api-key-file", tmp_path / "keys")
    assert (answer.status, started) == (1, [])
    assert sentence in answer.err.replace("\n", " ")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--host", "0.0.0.0"), "is reachable from other machines without a key"),
        (("--image-url", "https://a.example/"), "does not contain {image}"),
        (("--port", "70000"), "--port must be"),
        (("--no-images", "--images", "photos"), "--no-images contradicts --images"),
        (("--image-url", "https://a.example/{image}", "--images", "photos"), "give either --images or --image-url"),
    ],
)
def test_bad_options_are_refused(vse: Vse, started: list[Settings], options: Any, sentence: str) -> None:
    answer = vse("serve", "model", *options)
    assert answer.status in (1, 2)
    assert sentence in answer.err.replace("\n", " ")
    assert started == []


@pytest.mark.parametrize(("content", "sentence"), [(b"", "is empty"), (b"\xff", "is not a text file"), (None, "key")])
def test_a_key_file_without_a_key_is_named(
    vse: Vse, started: list[Settings], tmp_path: Path, content: bytes | None, sentence: str
) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
        file.chmod(0o600)
    answer = vse("serve", "model", "--api-key-file", file)
    assert answer.status == 1
    assert sentence in answer.err.replace("\n", " ")
    assert "key" in answer.err


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o640, 0o444])
def test_a_key_file_that_others_can_read_is_refused(
    vse: Vse, started: list[Settings], tmp_path: Path, mode: int
) -> None:
    file = tmp_path / "key"
    file.write_text("a-key-from-a-file")
    file.chmod(mode)
    answer = vse("serve", "model", "--api-key-file", file)
    assert (answer.status, started) == (1, [])
    assert f"can be read by other users of this machine; run: chmod 600 {file}" in answer.err.replace("\n", " ")
    assert "set its mode to 0400" in answer.err.replace("\n", " ")


def test_an_endless_key_file_is_not_read_to_its_end(vse: Vse, started: list[Settings], tmp_path: Path) -> None:
    file = tmp_path / "key"
    with file.open("wb") as opened:
        opened.truncate(1 << 40)
    file.chmod(0o600)
    assert vse("serve", "model", "--api-key-file", file).status == 1
    assert started == []


def test_pictures_of_the_source_are_shown_unless_disabled(vse: Vse, started: list[Settings]) -> None:
    assert vse("serve", "model").status == vse("serve", "model", "--no-images", "--picture-cache", 5).status == 0
    assert vse("serve", "model", "--images", "photos").status == 0
    shown = [(one.images, one.own_images, one.picture_cache_bytes) for one in started]
    assert shown == [(None, True, 10**9), (None, False, 5 * 10**6), ("photos", True, 10**9)]


def test_a_note_about_pictures_is_one_line_beside_the_result(vse: Vse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "run", lambda settings, announce: announce(settings, "pictures: /photos"))
    answer = vse("serve", "model", "--json")
    assert answer.document["address"]
    assert answer.err == "pictures: /photos\n"


def test_a_model_is_verified_unless_told_otherwise(vse: Vse, started: list[Settings]) -> None:
    assert vse("serve", "model").status == vse("serve", "model", "--no-verify").status == 0
    assert [one.verify for one in started] == [True, False]


def test_without_the_libraries_it_says_how_to_get_them(
    vse: Vse, monkeypatch: pytest.MonkeyPatch, started: list[Settings]
) -> None:
    monkeypatch.delitem(sys.modules, "vse_ens.service.server")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    answer = vse("serve", "model")
    assert answer.status == 1
    assert "pip install 'vse-ens[service]'" in answer.err


def test_a_port_that_is_taken_is_named(vse: Vse, model: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = vse("serve", model, "--port", port, "--feedback", tmp_path / "f.sqlite")
    assert answer.status == 1
    assert f"--port {port}: " in answer.err


def test_no_model_is_an_error_and_not_a_service(vse: Vse, tmp_path: Path) -> None:
    answer = vse("serve", tmp_path / "nowhere", "--port", 0)
    assert answer.status == 1
    assert answer.err.startswith(f"error: there is no model {tmp_path}/nowhere")
    assert list(tmp_path.iterdir()) == []
