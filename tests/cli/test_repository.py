"""The commands whose code is in the repository and not in the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Answer
from vse_ens.cli import repository

ROOT = Path(__file__).parents[2]
COMMANDS = {
    "vse reproduce": (),
    "vse data openimages": ("folder", "--out", "pairs.parquet"),
    "vse data nuswide": ("folder", "--out", "pairs.parquet"),
    "vse data iaprtc12": ("folder", "--out", "pairs.parquet"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_without_a_clone_the_error_says_how_to_get_one(
    vse: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    monkeypatch.setattr(repository, "_ROOT", tmp_path)
    for module in ("benchmarks.commands", "benchmarks.commands.reproduce", "benchmarks.commands.published"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.chdir(tmp_path)
    words = command.split()[1:]
    answer = vse(*words, *COMMANDS[command])
    url = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]
    steps = f"git clone {url} && cd vse-ens && pip install --editable . && {command}"
    assert answer == (1, "", f"error: {command} needs a clone of the repository: {steps}\n")
    assert list(tmp_path.iterdir()) == []
    assert "Needs a clone of the repository." in " ".join(vse(*words, "--help").out.split())


def test_in_a_clone_the_code_is_found_from_any_folder(tmp_path: Path) -> None:
    (tmp_path / "All_Tags.txt").write_text("1      sky sea\n", encoding="utf-8")
    (tmp_path / "Final_Tag_List.txt").write_text("sky\nsea\n", encoding="utf-8")
    (tmp_path / "benchmarks.py").write_text("raise ImportError('not this one')\n", encoding="utf-8")
    code = "from vse_ens.cli.app import main; main(['data', 'nuswide', '.', '--out', 'pairs.parquet'])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert (tmp_path / "pairs.parquet").exists()
