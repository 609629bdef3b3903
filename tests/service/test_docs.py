"""What docs/service.md shows is what a running service answers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.service_in_subprocess import serving
from tests.support.shell import HANGS, run_here
from tests.test_docs import ROOT, blocks, commands, looks_like

pytestmark = pytest.mark.docs


def test_calls_are_answered_as_shown(tmp_path: Path, plain_environment: dict[str, str]) -> None:
    if shutil.which("curl") is None:
        pytest.skip("no program curl to make the calls of docs/service.md with; install it")
    for command in ("vse data scenes --images 2000 --out pairs.csv", "vse train pairs.csv --out model"):
        code, printed = run_here(command, tmp_path, plain_environment)
        assert code == 0, printed
    document = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
    calls = [call for block in blocks(document) if block.language == "console" for call in commands(block.text)]
    assert len(calls) >= 10
    with serving(tmp_path / "model") as process:
        environment = plain_environment | {"VSE": str(process.http.base_url).rstrip("/")}
        for call, shown in calls:
            answer = subprocess.run(
                call, shell=True, env=environment, capture_output=True, encoding="utf-8", timeout=HANGS
            )
            assert answer.returncode == 0, f"{call}\nexit code {answer.returncode}\n{answer.stderr}"
            assert looks_like(shown, answer.stdout), f"{call}\nshown:\n{shown}\nanswered:\n{answer.stdout}"
