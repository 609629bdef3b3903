"""The list of statements: code and tests that it names exist, and every finding belongs to a statement."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest
from benchmarks.paper.findings import findings_of
from benchmarks.paper.statements import STATEMENTS, Statement, statement_table

from .made_up import document

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda one: one.text)
def test_code_and_test_exist(statement: Statement) -> None:
    module, _, name = statement.code.partition(":")
    assert hasattr(import_module(module), name) if name else import_module(module)
    file, _, test = statement.test.partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_a_statement_has_a_verdict_or_the_key_of_one() -> None:
    assert all(bool(one.verdict) != bool(one.key) for one in STATEMENTS)


def test_every_finding_belongs_to_a_statement() -> None:
    found = {finding.key for name in ("iaprtc12", "openimages") for finding in findings_of(document(name))}
    assert found == {one.key for one in STATEMENTS if one.key}


def test_the_table_counts_outcomes() -> None:
    found = document(cost=[])
    found["verdicts"] = [vars(finding) for finding in findings_of(found)]
    rows = {row[0]: row[-1] for row in statement_table(found).rows}
    assert rows["the accuracies themselves"] == "agrees (3)"
    assert rows["5 images, 10 labels, 5 factors; positions 2 and 8"] == "agrees; contradicts"
    assert rows["WARP O(Tk)"] == "not run"
