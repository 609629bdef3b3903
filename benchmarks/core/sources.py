"""Which code a result was measured with: a hash of each part of vse_ens that a benchmark measures.

The hash is of the paths and the syntax trees: comments, docstrings and layout do not make a result stale. A moved or
renamed file does, because nobody has measured that it changes nothing.
"""

from __future__ import annotations

import ast
import hashlib
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "vse_ens"
# Fields of a syntax tree that follow from the others, or that only type checkers read.
_WITHOUT_EFFECT = {"ctx", "kind", "type_comment", "type_ignores"}


def digests(parts: Iterable[str], package: Path = PACKAGE) -> dict[str, str]:
    """Return the hash of every part: a folder or a module of vse_ens, such as ``train`` or ``data/io``."""
    return {part: _digest(package, part) for part in parts}


def changed(measured: Mapping[str, str], package: Path = PACKAGE) -> list[str]:
    """Return the parts whose code differs from what was measured, or that no longer exist."""
    return [part for part, digest in measured.items() if _digest(package, part) != digest]


def _digest(package: Path, part: str) -> str:
    found = hashlib.sha256()
    for file in files(part, package):
        # Not the bytes, which depend on the line ends of a checkout.
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
        code = _syntax(text) if file.suffix == ".py" else text
        found.update(f"{file.relative_to(package).as_posix()}\0{code}\0".encode(errors="surrogateescape"))
    return found.hexdigest()[:16]


@cache
def _syntax(source: str) -> str:
    """Return the hash of the syntax tree of a module."""
    return hashlib.sha256("".join(_written(ast.parse(source))).encode()).hexdigest()


def _written(node: object) -> Iterator[str]:
    """Yield a syntax tree as text that is the same for every version of Python, unlike `ast.dump`.

    Empty fields are left out: newer versions of Python have more of them.
    """
    if isinstance(node, ast.Constant):
        yield ascii(node.value)
    elif isinstance(node, ast.AST):
        yield type(node).__name__
        for name, value in ast.iter_fields(node):
            if isinstance(node, ast.JoinedStr):  # Python 3.12.1 adds empty strings
                value = [one for one in value if getattr(one, "value", None) != ""]
            if value is not None and value != [] and name not in _WITHOUT_EFFECT:
                yield f" {name}="
                yield from _written(value)
        yield ";"
    elif isinstance(node, list):
        for one in node:
            if not _is_docstring(one):
                yield from _written(one)
                yield ","
    else:
        yield ascii(node)


def _is_docstring(node: object) -> bool:
    """Return whether a statement is a string alone: the docstring of a module, class, function or attribute."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


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
