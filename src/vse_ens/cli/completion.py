"""Tab completion: the script of a shell, and where it goes."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from vse_ens.errors import ConfigError

# The file of the script below the home folder; for some shells a start-up file and the line that loads the script.
_TARGETS = {
    "bash": (".bash_completions/vse.sh", ".bashrc", "source ~/.bash_completions/vse.sh"),
    "zsh": (".zfunc/_vse", ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
    "fish": (".config/fish/completions/vse.fish", "", ""),
}


def script(command: click.Command) -> str:
    """Return the completion script of the user's shell."""
    shell = _shell()
    found = get_completion_class(shell)
    if found is None:
        raise ConfigError(f"{shell} has no completion of vse; use bash, zsh, fish or PowerShell")
    return found(command, {}, "vse", "_VSE_COMPLETE").source()


def install(command: click.Command) -> str:
    """Install the completion script; return what was done."""
    text, shell = script(command), _shell()
    if shell not in _TARGETS:
        raise ConfigError(f"{shell} is configured by hand: run vse --show-completion >> $PROFILE")
    name, start_up, line = _TARGETS[shell]
    path = Path.home() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if start_up:
        loader = Path.home() / start_up
        before = loader.read_text(encoding="utf-8") if loader.exists() else ""
        if line not in before.splitlines():
            with loader.open("a", encoding="utf-8") as file:
                file.write(f"{'' if before.endswith(chr(10)) or not before else chr(10)}{line}\n")
    return f"{shell} completion is installed in {path}; it works in new terminals."


def _shell() -> str:
    """Return the name of the user's shell; Windows does not set SHELL."""
    name = Path(os.environ.get("SHELL") or "powershell").stem
    return "powershell" if name == "pwsh" else name
