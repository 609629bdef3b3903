"""One-line mutants of a Python module.

Not mutated: docstrings, messages of errors and of the log, annotations, and the values of named constants and settings,
which tests use by name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

_COMPARISONS: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
}
_OPERATORS: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.Div(),
    ast.Div: ast.Mult(),
    ast.FloorDiv: ast.Mult(),
    ast.Mod: ast.Mult(),
    ast.BitAnd: ast.BitOr(),
    ast.BitOr: ast.BitAnd(),
    ast.LShift: ast.RShift(),
    ast.RShift: ast.LShift(),
}
# Calls without an effect that a test should see.
_SILENT = ("_log", "logging", "warnings", "log")

# Arguments that change no result of correct code.
_NO_EFFECT = ("strict", "copy")


class Mutant(NamedTuple):
    """A changed module."""

    line: int
    before: str
    """The lines of the changed expression or statement."""
    after: str
    source: str


def mutants(source: str) -> Iterator[Mutant]:
    """Yield the mutants of a module that compile, in the order of lines."""
    visitor = _Visitor()
    visitor.visit(ast.parse(source))
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    encoded = source.encode()
    found: dict[str, Mutant] = {}
    for node, replacement in visitor.found:
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        changed = (encoded[:begin] + replacement.encode() + encoded[end:]).decode()
        if changed == source or changed in found:
            continue
        try:
            compile(changed, "mutant", "exec")
        except SyntaxError:
            continue
        last = node.end_lineno or node.lineno
        before = "".join(lines[node.lineno - 1 : last])
        now = changed.splitlines(keepends=True)
        after = "".join(now[node.lineno - 1 : len(now) - len(lines) + last])
        found[changed] = Mutant(node.lineno, before.strip(), after.strip(), changed)
    yield from sorted(found.values(), key=lambda mutant: mutant.line)


class _Visitor(ast.NodeVisitor):
    """Collects nodes and the texts that replace them."""

    def __init__(self) -> None:
        self.found: list[tuple[ast.expr | ast.stmt, str]] = []
        self._functions = 0

    def _replace(self, node: ast.expr | ast.stmt, by: ast.AST | str) -> None:
        if isinstance(by, str):
            self.found.append((node, by))
        else:
            text = ast.unparse(ast.fix_missing_locations(by))
            self.found.append((node, f"({text})" if isinstance(node, ast.expr) else text))

    # --- not mutated ---

    def visit_arguments(self, node: ast.arguments) -> None:
        for default in (*node.defaults, *(one for one in node.kw_defaults if one is not None)):
            self.visit(default)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and self._functions:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._replace(node, "pass")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        functions, self._functions = self._functions, 0
        for statement in node.body:
            self.visit(statement)
        self._functions = functions

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._functions += 1
        self.visit_arguments(node.args)
        for statement in node.body:
            self.visit(statement)
        self._functions -= 1

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._visit_function(node)

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        if not isinstance(node.test, ast.Compare | ast.UnaryOp):
            self._replace(node.test, ast.UnaryOp(ast.Not(), node.test))
        self.generic_visit(node)

    # --- statements ---

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(call, ast.Call):
            if ast.unparse(call.func).partition(".")[0] in _SILENT:
                return
            self._replace(node, "pass")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not self._functions:
            return
        if isinstance(node.targets[0], ast.Attribute | ast.Subscript):
            self._replace(node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replace(node, "pass")
        other = _OPERATORS.get(type(node.op))
        if other is not None:
            self._replace(node, ast.AugAssign(node.target, other, node.value))
        self.visit(node.value)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None:
            self._replace(node, "pass")
            return
        if not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._replace(node, "return None")
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self._replace(node, "break")

    def visit_Break(self, node: ast.Break) -> None:
        self._replace(node, "continue")

    # --- expressions ---

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in _NO_EFFECT:
            self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        for index, operator in enumerate(node.ops):
            other = _COMPARISONS.get(type(operator))
            if other is not None:
                ops = [*node.ops[:index], other, *node.ops[index + 1 :]]
                self._replace(node, ast.Compare(node.left, ops, node.comparators))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other: ast.boolop = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._replace(node, ast.BoolOp(other, node.values))
        for value in node.values:  # each part left out
            rest = [one for one in node.values if one is not value]
            self._replace(node, rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            self._replace(node, node.operand)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        other = _OPERATORS.get(type(node.op))
        is_text = any(
            isinstance(side, ast.JoinedStr | ast.List | ast.Tuple) or _is_text(side) for side in (node.left, node.right)
        )
        if other is not None and not is_text:
            self._replace(node, ast.BinOp(node.left, other, node.right))
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._replace(node, ast.IfExp(node.test, node.orelse, node.body))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if not self._functions:
            return
        if isinstance(node.value, bool):
            self._replace(node, str(not node.value))
        elif isinstance(node.value, int | float):
            self._replace(node, repr(node.value + 1))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
