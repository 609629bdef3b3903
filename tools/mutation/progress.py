"""What became of each mutant, on disk: a run that was stopped continues where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.mutation.generate import Mutant
from tools.mutation.runner import Outcome


def digest_of(root: Path, names: Sequence[str]) -> str:
    """Return a digest of the Python files below some folders: their outcomes hold as long as it is the same."""
    digest = hashlib.sha256()
    for name in names:
        for file in sorted((root / name).rglob("*.py")):
            digest.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


class Progress:
    """Outcomes of mutants in a file of JSON lines, after a line that says of which run.

    Outcomes of another run are dropped.
    """

    def __init__(self, path: Path, run: Mapping[str, Any]) -> None:
        self._path = path
        self._outcomes: dict[tuple[str, int, str, str], Outcome] = {}
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
        # A process that was killed may leave an incomplete last line.
        whole = [line for line in lines if line.endswith("\n")]
        if whole and json.loads(whole[0]) == dict(run):
            for line in whole[1:]:
                *key, outcome = json.loads(line)
                self._outcomes[key[0], key[1], key[2], key[3]] = outcome
        else:
            whole = [json.dumps(dict(run)) + "\n"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(whole), encoding="utf-8")

    def get(self, module: str, mutant: Mutant) -> Outcome | None:
        """Return the outcome of a mutant, if it was run."""
        return self._outcomes.get((module, mutant.line, mutant.before, mutant.after))

    def add(self, module: str, mutant: Mutant, outcome: Outcome) -> None:
        """Store the outcome of a mutant."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([module, mutant.line, mutant.before, mutant.after, outcome]) + "\n")
