"""Python expressions: comparisons, quantifiers, sets, tuples, arguments, loops."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.mutant import Edit, Effect
from tests.mutation.operators.scope import Scope, called

_OTHER = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_SAME = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_SETS = (ast.BitOr, ast.BitAnd, ast.Sub)


def values(scope: Scope) -> Iterator[Edit]:
    for node in scope.nodes:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OTHER:
                text = f"{scope.text(left)} {_OTHER[type(op)]} {scope.text(right)}"
                yield Edit("swap-comparison", node, f"({text})", f"`{_OTHER[type(op)]}` in `{scope.short(node)}`")
            case ast.Compare(left=left, ops=[one, two], comparators=[middle, right]) if {type(one), type(two)} <= {
                *_OTHER
            }:
                a, b, c = scope.text(left), scope.text(middle), scope.text(right)
                words = f"an end is off by one in `{scope.short(node)}`"
                yield Edit("swap-comparison", node, f"({a} {_OTHER[type(one)]} {b} {_SAME[type(two)]} {c})", words)
                yield Edit("swap-comparison", node, f"({a} {_SAME[type(one)]} {b} {_OTHER[type(two)]} {c})", words)
            case ast.Call(func=ast.Name(id="all" | "any" as name) as func):
                other = "any" if name == "all" else "all"
                yield Edit("swap-quantifier", func, other, f"`{other}` for `{name}` in `{scope.short(node)}`")
            case ast.BinOp(left=left, op=op, right=right):
                yield from _operation(scope, node, left, op, right)
            case (
                ast.Tuple(elts=elements, ctx=ast.Load())
                | ast.List(elts=elements, ctx=ast.Load())
                | ast.Set(elts=elements)
            ):
                yield from _elements(scope, node, elements)
            case ast.keyword(arg=name, value=value) if name is not None:
                yield from _keyword(scope, node, name, value)
            case ast.comprehension(ifs=ifs):
                for test in ifs:
                    yield Edit("drop-filter", test, "True", f"`if {scope.short(test)}` of a comprehension is gone")
            case _:
                pass


def _operation(scope: Scope, node: ast.BinOp, left: ast.expr, op: ast.operator, right: ast.expr) -> Iterator[Edit]:
    one = isinstance(right, ast.Constant) and right.value == 1
    if isinstance(op, (ast.Add, ast.Sub)) and one:
        yield Edit("forget-one", node, f"({scope.text(left)})", f"`{scope.short(node)}` without the one")
    elif isinstance(op, _SETS):
        yield Edit("drop-union", node, f"({scope.text(left)})", f"`{scope.short(node)}` without its right operand")
        if not isinstance(op, ast.Sub):
            yield Edit("drop-union", node, f"({scope.text(right)})", f"`{scope.short(node)}` without its left operand")


def _elements(scope: Scope, node: ast.AST, elements: list[ast.expr]) -> Iterator[Edit]:
    """Elements of displays whose length is free: sets, lists, and tuples with a starred element; paths are places."""
    free = isinstance(node, (ast.Set, ast.List)) or any(isinstance(e, ast.Starred) for e in elements)
    path = (
        bool(elements) and isinstance(elements[0], ast.Starred) and scope.text(elements[0]).endswith(("path", "place"))
    )
    for e in elements if free and not path else ():
        if called(e) != "Question" and e in scope.parents:
            words = f"`{scope.short(node)}` without `{scope.short(e)}`"
            yield Edit("drop-element", e, "*()", words, "stricter" if scope.side(e) == "given" else "either")


_DEFAULTS: dict[str, Effect] = {
    "otherwise": "stricter",
    "given": "stricter",
    "also_written": "weaker",
}
"""What becomes of the kernel if such an argument is left to its default."""


def _keyword(scope: Scope, node: ast.keyword, name: str, value: ast.expr) -> Iterator[Edit]:
    call = scope.parent(node)
    if called(call) == "zip":  # zip's is strict=True: an assertion
        return
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        words = f"`{name}={not value.value}` in `{scope.short(call)}`"
        yield Edit("drop-keyword", value, str(not value.value), words)
    elif isinstance(call, ast.Call):
        words = f"`{name}` is left out in `{scope.short(call)}`"
        yield Edit("drop-keyword", node, "**{}", words, _DEFAULTS.get(name, "either"))
