"""The promises of SECURITY.md name tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_promise_names_a_test_that_exists() -> None:
    promises = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## Promises")[2].partition("\n## ")[0]
    items = re.split(r"^- ", promises, flags=re.MULTILINE)[1:]
    assert len(items) >= 10
    for item in items:
        named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", item)
        assert named, f"no test is named: {item}"
        for file, name in named:
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
            assert not name or name in functions, f"{file} has no {name}"
