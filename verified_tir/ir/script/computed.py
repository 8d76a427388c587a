"""What a text computes from constants: ``[A[j] for j in range(4)]``, ``f"ld.{width}"``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from verified_tir.ir.script.values import Value

if TYPE_CHECKING:
    from verified_tir.ir.script.exprs import ExprParser

_LONGEST: Final = 1024
"""How many entries a list has that is made for each number of a range."""


def listed(p: ExprParser, element: ast.expr, name: str, over: ast.expr) -> tuple[Value, ...]:
    """``[element for name in range(n)]``.

    :raises ScriptError: if it is not for each number of a constant range, or that is a long one.
    """
    match over:
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]) if 1 <= len(args) <= 3:
            numbers = range(*[p.int_constant(a) for a in args])
        case _:
            raise p.error(over, "a list is made for each number of a range")
    if len(numbers) > _LONGEST:
        raise p.error(over, f"a list that is spelt out has at most {_LONGEST} entries")
    found: list[Value] = []
    with p.scope.frame():
        for k in numbers:
            p.scope.hide(name, k)
            found.append(p.value(element))
    return tuple(found)


def formatted(p: ExprParser, node: ast.expr) -> str:
    """A part of an f-string: text, or a constant without a format.

    :raises ScriptError: for anything else.
    """
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
            found = p.value(inner)
            if isinstance(found, (int, str)):
                return str(found)
    raise p.error(node, "an f-string is made of constants here")
