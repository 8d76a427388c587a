"""Formulas that say less, or more.

Whether a change makes the kernel accept more depends on where the formula stands: a goal that loses a conjunct is
weaker, a hypothesis that loses one is one that helps less.  ``Scope.side`` knows for those that lead into a question
within their own function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.mutant import Edit
from tests.mutation.operators.scope import Scope, formula_call

_ATOMS = frozenset({"eq", "ne", "lt", "le", "between"})


def formulas(scope: Scope) -> Iterator[Edit]:
    for node in scope.nodes:
        match node:
            case ast.Call():
                yield from _call(scope, node, formula_call(node))
            case ast.Attribute(value=ast.Name(id="f")) if _shortcut(scope.parent(node)):
                pass
            case ast.Attribute(value=ast.Name(id="f"), attr="TRUE"):
                yield Edit("flip-truth", node, "f.FALSE", "`FALSE` for `TRUE`", scope.when_true_less_often(node))
            case ast.Attribute(value=ast.Name(id="f"), attr="FALSE"):
                yield Edit("flip-truth", node, "f.TRUE", "`TRUE` for `FALSE`", scope.when_true_more_often(node))
            case _:
                pass


def _call(scope: Scope, node: ast.Call, name: str) -> Iterator[Edit]:
    more, less = scope.when_true_more_often(node), scope.when_true_less_often(node)
    match name, node.args:
        case "and_", args:
            for k, a in enumerate(args):
                yield Edit("drop-conjunct", a, "*()", f"conjunct {k + 1} of `{scope.short(node)}` is gone", more)
        case "or_", args:
            for k, a in enumerate(args):
                yield Edit("drop-disjunct", a, "*()", f"disjunct {k + 1} of `{scope.short(node)}` is gone", less)
        case "lt", [_, _]:
            yield Edit("swap-bound", node.func, "f.le", f"`≤` for `<` in `{scope.short(node)}`", more)
        case "le", [_, _]:
            yield Edit("swap-bound", node.func, "f.lt", f"`<` for `≤` in `{scope.short(node)}`", less)
        case "between", [low, x, high]:
            inside = f"f.and_(f.le({scope.text(low)}, {scope.text(x)}), f.le({scope.text(x)}, {scope.text(high)}))"
            yield Edit("swap-bound", node, inside, f"`≤` for `<` in `{scope.short(node)}`", more)
        case "not_", [inner]:
            yield Edit("drop-negation", node, scope.text(inner), f"`{scope.short(node)}` without `not`")
            yield Edit("drop-goal", node, "f.TRUE", f"`{scope.short(node)}` is taken for true", more)
        case "implies", [_, conclusion]:
            text = f"`{scope.short(node)}`"
            yield Edit("drop-premise", node, scope.text(conclusion), f"{text} without its premise", less)
            yield Edit("drop-goal", node, "f.TRUE", f"{text} is taken for true", more)
        case "ite", [_, a, b]:
            yield Edit("pick-arm", node, scope.text(a), f"`{scope.short(node)}` is always its first arm")
            yield Edit("pick-arm", node, scope.text(b), f"`{scope.short(node)}` is always its second arm")
        case (("add" | "sub"), [a, ast.Call(args=[ast.Constant(value=1)]) as one]) if formula_call(one) == "integer":
            yield Edit("off-by-one", node, scope.text(a), f"`{scope.short(node)}` without the one")
        case _:
            pass
    if name in _ATOMS:
        yield Edit("drop-goal", node, "f.TRUE", f"`{scope.short(node)}` is taken for true", more)


def _shortcut(around: ast.AST) -> bool:
    """``if goal is not f.TRUE``: a question that needs no answer is not asked, and nothing else changes."""
    return isinstance(around, ast.Compare) and isinstance(around.ops[0], (ast.Is, ast.IsNot))
