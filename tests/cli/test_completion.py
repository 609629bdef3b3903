from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Vse = Callable[..., Any]


@pytest.mark.parametrize(
    ("shell", "script", "start_up"),
    [
        ("/bin/bash", ".bash_completions/vse.sh", ".bashrc"),
        ("/usr/bin/zsh", ".zfunc/_vse", ".zshrc"),
        ("fish", ".config/fish/completions/vse.fish", None),
    ],
)
def test_completion_is_installed_once(
    vse: Vse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str, script: str, start_up: str | None
) -> None:
    monkeypatch.setenv("SHELL", shell)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    if start_up:
        (tmp_path / start_up).write_text("alias v=vse")
    for _ in range(2):
        answer = vse("--install-completion")
        assert (answer.status, answer.err) == (0, "")
        assert str(tmp_path / script) in answer.out
    assert vse("--show-completion").out == (tmp_path / script).read_text() + "\n"
    assert "_VSE_COMPLETE" in (tmp_path / script).read_text()
    if start_up:
        first, *added = (tmp_path / start_up).read_text().splitlines()
        assert first == "alias v=vse"
        assert len(added) == 1


@pytest.mark.parametrize(
    ("shell", "message"),
    [
        ("pwsh", "error: powershell is configured by hand: run vse --show-completion >> $PROFILE\n"),
        ("/bin/ksh", "error: ksh has no completion of vse; use bash, zsh, fish or PowerShell\n"),
    ],
)
def test_completion_that_is_not_installed_says_why(
    vse: Vse, monkeypatch: pytest.MonkeyPatch, shell: str, message: str
) -> None:
    monkeypatch.setenv("SHELL", shell)
    assert vse("--install-completion") == (1, "", message)


def test_powershell_has_a_script(vse: Vse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHELL", raising=False)
    assert "Register-ArgumentCompleter" in vse("--show-completion").out
