"""The frames of one epoch, from `fit` to the kernel, are those that docs/architecture.md draws."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import vse_ens
from tests.support.training_runs import SMALL, small_data
from vse_ens import Annotator

SOURCE = Path(vse_ens.__file__).parent
DOCUMENT = Path(__file__).parents[3] / "docs" / "architecture.md"
KERNELS = ("compute_gradients", "train_slice", "train_steps")
Stack = list[tuple[str, str]]


def _entry(frame: FrameType) -> tuple[str, str]:
    return frame.f_code.co_qualname, Path(frame.f_code.co_filename).relative_to(SOURCE).as_posix()


def stacks_of_kernels(workers: int, **settings: Any) -> list[Stack]:
    """Train two epochs; return the frames from `fit` to each call of a training kernel, every stack once."""
    found: list[Stack] = []

    def record(frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call" or frame.f_code.co_name not in KERNELS:
            return
        # Numba reports a compiled kernel with a frame of its own, which does not know its caller.
        caller = sys._getframe(1)
        stack, above = [_entry(frame)], caller.f_back if caller.f_code is frame.f_code else caller
        while above is not None and stack[-1][0] != "Annotator.fit":
            stack.append(_entry(above))
            above = above.f_back
        stack.reverse()
        if stack not in found:
            found.append(stack)

    model = Annotator("context", workers=workers, **{**SMALL, "validate": False, **settings})
    sys.setprofile(record)
    try:
        model.fit(small_data(), progress=False)
    finally:
        sys.setprofile(None)
    return found


def drawn_chain() -> Stack:
    """The names and the files of the drawing in the document."""
    text = DOCUMENT.read_text(encoding="utf-8").split("## One epoch, from `fit` to the kernel")[1].split("```")[1]
    return [(name, path) for name, path in re.findall(r"^ *(\S+) +(\S+\.py)", text, re.MULTILINE)]


def plain(stack: Stack) -> Stack:
    """Functions within functions and kernels by the names that the document uses."""
    names = [name.rpartition("<locals>.")[2] for name, _ in stack]
    return [("kernel" if name in KERNELS else name, path) for name, (_, path) in zip(names, stack, strict=True)]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_epoch_has_the_documented_frames(workers: int) -> None:
    (stack,) = stacks_of_kernels(workers)
    assert plain(stack) == drawn_chain()
    assert len(stack) == 7


@pytest.mark.unhurried
@pytest.mark.parametrize(
    "settings",
    [
        {"tower": "context", "loss": "hinge", "label_pairs": 12},
        {"tower": "id", "loss": "softmax"},
        {"tower": "id", "loss": "hinge"},
        {"tower": "id", "loss": "hinge", "engine": "serial", "label_bias": False, "slices": 0},
    ],
    ids=["context", "softmax", "slices", "serial"],
)
def test_no_engine_has_more_than_seven_frames(settings: dict[str, Any]) -> None:
    stacks = stacks_of_kernels(1, **{"sampler": "uniform", "label_pairs": 0, **settings})
    assert stacks
    assert all(len(stack) <= 7 for stack in stacks), stacks
