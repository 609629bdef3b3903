"""``vse push`` and ``vse pull``, against a stand-in of the Hub on this machine."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.hub_stand_in import TOKEN, HubStandIn, hub_stand_in, use_hub
from tests.support.saved_models import random_annotator
from tests.support.stored_models import contents

Vse = Callable[..., Any]

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("huggingface_hub") is None, reason="huggingface_hub is not installed"),
    # huggingface_hub 2.4 uploads a file in a way that its HTTP library calls outdated.
    pytest.mark.filterwarnings("ignore:Use 'content=<:DeprecationWarning"),
]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubStandIn]:
    with hub_stand_in() as running:
        use_hub(monkeypatch, running.url, str(tmp_path / "cache"))
        yield running


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hub") / "model"
    random_annotator("id", images=30, labels=12).save(path)
    return path


def test_push_and_pull(vse: Vse, hub: HubStandIn, saved: Path, tmp_path: Path) -> None:
    answer = vse("push", saved, "ann/holiday", "--private", "--license", "cc0-1.0", "--tag", "beach", "--json")
    assert (answer.status, answer.err) == (0, "")
    assert answer.document["repository"] == "ann/holiday"
    assert answer.document["url"].endswith(answer.document["commit"])
    assert hub.repos["ann/holiday"].private
    assert b"license: cc0-1.0" in hub.files("ann/holiday")["README.md"]

    out = tmp_path / "pulled"
    answer = vse("pull", "ann/holiday", "--out", out, "--json")
    assert answer.document["images"] == 30
    assert contents(out) == contents(saved)


def test_another_revision(vse: Vse, hub: HubStandIn, saved: Path, tmp_path: Path) -> None:
    assert vse("push", saved, "ann/holiday", "--revision", "trial").status == 0
    answer = vse("pull", "ann/holiday", "--out", tmp_path / "a")
    assert (answer.status, answer.out) == (1, "")
    assert "ann/holiday on the Hub is not a model of vse-ens" in answer.err
    assert vse("pull", "ann/holiday", "--out", tmp_path / "b", "--revision", "trial").status == 0


def test_existing_files_are_kept(vse: Vse, hub: HubStandIn, saved: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    answer = vse("pull", "ann/holiday", "--out", tmp_path / "notes")
    assert "notes is not a model directory; choose another --out" in answer.err
    assert hub.requests == []


def test_without_the_library(vse: Vse, saved: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for command in (("push", saved, "ann/holiday"), ("pull", "ann/holiday", "--out", tmp_path / "model")):
        answer = vse(*command)
        assert answer.status == 1
        assert "error: models on the Hub need the library huggingface_hub: pip install 'vse-ens[hub]'" in answer.err


@pytest.mark.slow
def test_the_environment_of_the_library_counts(
    hub: HubStandIn, saved: Path, tmp_path: Path, python: Callable[..., Any]
) -> None:
    """In a process of its own: the address, the token, the cache and the offline mode come from the environment."""
    code = "from vse_ens.cli.app import main; main()"
    environment = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_XET": "1"}
    pushed = python(code, "push", str(saved), "ann/holiday", **environment, HF_TOKEN=TOKEN)
    assert pushed.returncode == 0, pushed.stderr
    pulled = python(code, "pull", "ann/holiday", "--out", str(tmp_path / "a"), **environment)
    assert pulled.returncode == 0, pulled.stderr
    hub.requests.clear()
    again = python(code, "pull", "ann/holiday", "--out", str(tmp_path / "b"), **environment, HF_HUB_OFFLINE="1")
    assert again.returncode == 0, again.stderr
    assert contents(tmp_path / "b") == contents(saved)
    assert hub.requests == []
