"""Which source files a result was measured with: a hash of each part of vse_ens that a benchmark measures."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "vse_ens"


def digests(parts: Iterable[str], package: Path = PACKAGE) -> dict[str, str]:
    """Return the hash of every part: a folder or a module of vse_ens, such as ``train`` or ``data/io``."""
    return {part: _digest(package, part) for part in parts}


def changed(measured: Mapping[str, str], package: Path = PACKAGE) -> list[str]:
    """Return the parts whose files differ from those that were measured."""
    return [part for part, digest in measured.items() if _digest(package, part) != digest]


def _digest(package: Path, part: str) -> str:
    found = hashlib.sha256()
    for file in files(part, package):
        # Not the bytes, which depend on the line ends of a checkout.
        lines = file.read_text(encoding="utf-8", errors="surrogateescape")
        found.update(f"{file.relative_to(package).as_posix()}\0{lines}\0".encode(errors="surrogateescape"))
    return found.hexdigest()[:16]


def files(part: str, package: Path = PACKAGE) -> list[Path]:
    """Return the source files of a part in a fixed order."""
    module = package / f"{part}.py"
    inside = (file for file in (package / part).rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return [module] if module.is_file() else sorted(inside)


def commit() -> str:
    """Return the commit of the checkout, with a ``+`` if the code differs from it; "unknown" without git."""
    code = ("src", "benchmarks", ":!benchmarks/results")
    try:
        head = _git("rev-parse", "--short=10", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--untracked-files=no", "--", *code) else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()
