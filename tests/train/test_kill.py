"""Killed at ten moments and resumed each time, a run ends with the bytes of one that was left alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[1] / "support" / "killed_run.py"
# By what the run has done, not by seconds, so that every kill lands on every machine.
KILLS = [f"4:{moment}" for moment in ("round", "before", "writing", "round", "before") * 2]


def finish(run: str, folder: Path, kills: list[str]) -> tuple[dict[str, bytes], list[str]]:
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, str(SCRIPT), run, str(folder / "run"), str(folder / "result.npz"), *kills],
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert done.returncode == 0, done.stderr
    with np.load(folder / "result.npz") as result:
        return {name: result[name].tobytes() for name in result}, done.stdout.splitlines()


@pytest.mark.parametrize(("run", "phases"), [("validated", {"trial"}), ("whole preset", {"trial", "anew"})])
def test_ends_with_the_same_bytes(run: str, phases: set[str], tmp_path: Path) -> None:
    whole, _ = finish(run, tmp_path / "whole", [])
    killed, places = finish(run, tmp_path / "killed", KILLS)
    assert len(set(places)) == len(KILLS), "a child did not get further than the last"
    assert {place.split()[0] for place in places} == phases
    assert killed == whole
