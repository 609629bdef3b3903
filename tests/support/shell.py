"""Commands as a user types them, and what they print."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
from pathlib import Path
from unittest.mock import patch

from vse_ens.cli.app import main

HANGS = 900  # seconds after which a command counts as hung: a busy machine is slow, and no failure


def run_in_shell(command: str, folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Return the exit code and all output of a command in a shell of its own."""
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=HANGS,
    )
    return done.returncode, done.stdout


def run_here(command: str, folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Return the same, but run ``vse`` in this process if it is all of the command: that saves a second of imports."""
    if not command.startswith("vse ") or re.search(r"[|&;<>$`*?~#]", command):
        return run_in_shell(command, folder, environment)
    # As a pipe: not a terminal, and nothing but bytes.
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with (
        patch.dict(os.environ, environment, clear=True),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
    ):
        try:
            main(shlex.split(command)[1:])
        except SystemExit as left:
            code = int(left.code or 0)
    return code, output.buffer.getvalue().decode()  # type: ignore[attr-defined]
