"""The calls of one click are those that docs/architecture.md draws."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import vse_ens
from tests.support.service_in_process import Client

ROOT = Path(vse_ens.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
_LINE = re.compile(r"(?P<indent> *)(?P<gap>\.\.\. )?(?P<name>[\w.]+) +(?P<file>[\w/]+\.py)(?P<rest>.*)")


class Call(NamedTuple):
    name: str
    file: str


def drawn(title: str) -> list[tuple[int, bool, Call, str]]:
    """Return the lines of a drawing: indentation, whether frames are left out before it, call, and comment."""
    block = PAGE.read_text(encoding="utf-8").split(f"## {title}\n", 1)[1].split("```", 2)[1]
    found = [_LINE.fullmatch(line) for line in block.strip("\n").splitlines()]
    assert all(found)
    return [
        (len(one["indent"]), one["gap"] is not None, Call(one["name"], one["file"]), one["rest"].strip())
        for one in found
        if one is not None
    ]


def recorded(work: Callable[[], Any]) -> set[tuple[Call, ...]]:
    """Return the stacks of our own calls while something is done, on all threads, outermost first."""
    stacks: set[tuple[Call, ...]] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(ROOT)):
            stack: list[Call] = []
            above: FrameType | None = frame
            while above is not None:
                code = above.f_code
                name = code.co_qualname.rsplit("<locals>.", 1)[-1]
                if code.co_filename.startswith(str(ROOT)) and "<" not in name:
                    stack.append(Call(name, Path(code.co_filename).relative_to(ROOT).as_posix()))
                above = above.f_back
            if stack:
                stacks.add(tuple(reversed(stack)))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return stacks


def test_one_click_is_as_drawn(serve: Callable[..., Client]) -> None:
    client = serve()
    body = {"image": "img_0000001", "label": "sea", "verdict": "accept"}
    stacks = recorded(lambda: client.post("/api/feedback", json=body))
    lines = drawn("One click, from route to scorer")
    assert len(lines) > 8
    above: list[tuple[int, Call]] = []
    for indent, gap, call, comment in lines:
        while above and above[-1][0] >= indent:
            above.pop()
        own = [stack for stack in stacks if stack[-1] == call]
        assert own, f"{call} was not called"
        if above and "on a thread" not in comment:
            parent = above[-1][1]
            assert any(parent in stack[:-1] if gap else stack[-2:-1] == (parent,) for stack in own), (parent, own)
        above.append((indent, call))
