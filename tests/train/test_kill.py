"""Killed at ten moments and resumed each time, a run ends with the bytes of one that was left alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[1] / "support" / "killed_run.py"
DELAYS = np.random.default_rng(11).uniform(0.0, 0.1, 10).round(4).tolist()


def finish(run: str, folder: Path, delays: list[float]) -> tuple[dict[str, bytes], list[str]]:
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, str(SCRIPT), run, str(folder / "run"), str(folder / "result.npz"), *map(str, delays)],
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert done.returncode == 0, done.stderr
    with np.load(folder / "result.npz") as result:
        return {name: result[name].tobytes() for name in result}, done.stdout.splitlines()


@pytest.mark.parametrize("run", ["validated", "whole preset"])
def test_ends_with_the_same_bytes(run: str, tmp_path: Path) -> None:
    whole, _ = finish(run, tmp_path / "whole", [])
    killed, kills = finish(run, tmp_path / "killed", DELAYS)
    assert len(kills) == 10
    assert len(set(kills)) > 2, "kills came before any round was saved"
    assert killed == whole
