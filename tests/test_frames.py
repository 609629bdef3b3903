"""Reading and write-back call what docs/architecture.md draws."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.service.test_request_frames import Call, drawn, recorded
from vse_ens import Annotations
from vse_ens.data.collections.detect import open_collection
from vse_ens.data.collections.write import feedback_edits, writable, write_labels
from vse_ens.data.feedback.verdicts import Feedback


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of images with tags."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "images"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.jpg").write_bytes(b"")
        (folder / f"{name}.txt").write_text("sea, sand\n")
    return folder


def check(title: str, work: Callable[[], Any]) -> None:
    """Compare the calls of ``work`` with a drawing: each under the one above it, directly or after a gap."""
    stacks = recorded(work)
    above: list[tuple[int, Call]] = []
    for indent, gap, call, _ in drawn(title):
        while above and above[-1][0] >= indent:
            above.pop()
        own = [stack for stack in stacks if stack[-1] == call]
        assert own, f"{call} was not called"
        if above:
            parent = above[-1][1]
            assert any(parent in stack[:-1] if gap else stack[-2:-1] == (parent,) for stack in own), (parent, own)
        above.append((indent, call))


def test_one_reading_is_as_drawn(collection: Path) -> None:
    check("One reading, from a collection to pairs", lambda: Annotations.read(collection))


def test_one_write_back_is_as_drawn(collection: Path, tmp_path: Path) -> None:
    path = tmp_path / "feedback.sqlite"
    feedback = Feedback(path)
    feedback.add("a.jpg", "beach", "accept", by="anna", source="page", confidence=0.5, model="m")
    feedback.close()

    def write() -> None:
        write_labels(writable(open_collection(collection)), feedback_edits(path), tmp_path / "undo.jsonl")

    check("One write-back, from feedback to files", write)
    assert (collection / "a.txt").read_text() == "sea, sand, beach\n"
