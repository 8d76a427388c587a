"""One operator for another, arguments in the wrong order, a number that is off by one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.mutant import Edit
from tests.mutation.operators.scope import Scope, formula_call

_SWAPPED: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*", ast.Mod: "//", ast.LShift: ">>", ast.RShift: "<<",
}  # fmt: skip
_OPPOSITE = {ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in"}
_OTHER_FORMULA = {"add": "sub", "sub": "add", "mul": "add", "and_": "or_", "or_": "and_", "eq": "ne", "ne": "eq"}
_ORDERED = frozenset({"sub", "lt", "le", "implies", "euclid_div", "euclid_mod"})
_TESTS = (ast.If, ast.IfExp, ast.While, ast.BoolOp, ast.comprehension, ast.UnaryOp)
"""Where a comparison is a condition: what happens if it always holds, or never, is asked by other operators."""


def arithmetic(scope: Scope) -> Iterator[Edit]:
    for node in scope.nodes:
        match node:
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _SWAPPED and not _is_one(right):
                text = f"({scope.text(left)} {_SWAPPED[type(op)]} {scope.text(right)})"
                yield Edit("swap-operator", node, text, f"`{_SWAPPED[type(op)]}` in `{scope.short(node)}`")
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPPOSITE and not isinstance(
                scope.parent(node), _TESTS
            ):
                text = f"({scope.text(left)} {_OPPOSITE[type(op)]} {scope.text(right)})"
                yield Edit("swap-equality", node, text, f"`{_OPPOSITE[type(op)]}` in `{scope.short(node)}`")
            case ast.Call(func=func) if formula_call(node) in {*_OTHER_FORMULA, *_ORDERED, "ite"}:
                yield from _formula(scope, node, func, formula_call(node))
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                yield Edit("next-number", node, str(value + 1), f"{value + 1} for {value}")
            case _:
                pass


def _formula(scope: Scope, node: ast.Call, func: ast.expr, name: str) -> Iterator[Edit]:
    if other := _OTHER_FORMULA.get(name):
        yield Edit("swap-operator", func, f"f.{other}", f"`{other}` for `{name}` in `{scope.short(node)}`")
    match name, node.args:
        case "ite", [c, a, b]:
            swapped = f"f.ite({scope.text(c)}, {scope.text(b)}, {scope.text(a)})"
            yield Edit("swap-arguments", node, swapped, f"the arms of `{scope.short(node)}` change places")
        case _, [a, b] if name in _ORDERED and not isinstance(a, ast.Starred):
            swapped = f"f.{name}({scope.text(b)}, {scope.text(a)})"
            yield Edit("swap-arguments", node, swapped, f"the arguments of `{scope.short(node)}` change places")
        case _:
            pass


def _is_one(node: ast.expr) -> bool:
    """That one is forgotten is another operator's."""
    return isinstance(node, ast.Constant) and node.value == 1
