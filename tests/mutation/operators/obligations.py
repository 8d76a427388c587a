"""Obligations that are not asked."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.mutant import Edit
from tests.mutation.operators.scope import Scope, called

_ADDS = frozenset({"append", "extend"})


def obligations(scope: Scope) -> Iterator[Edit]:
    """Each ``yield Question(…)``, ``yield from questions(…)``, ``questions.append(Question(…))``, each question that is
    an element of something, and all questions of a ``Rewrite`` at once."""
    for node in scope.nodes:
        match node:
            case ast.Expr(value=ast.Yield(value=value) as inner) if value is not None:
                yield Edit("drop-question", inner, "(yield from ())", f"`{scope.short(inner)}` is not asked", "weaker")
            case ast.Expr(value=ast.YieldFrom(value=value) as inner):
                yield Edit("drop-question", inner, "(yield from ())", f"`{scope.short(inner)}` is not asked", "weaker")
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method), args=[argument]) as call) if (
                method in _ADDS and _asks(argument)
            ):
                yield Edit("drop-question", call, "None", f"`{scope.short(argument)}` is not asked", "weaker")
            case ast.Call() if called(node) == "Question":
                yield from _as_element(scope, node)
            case ast.Call(args=[_, questions, *_]) if called(node) == "Rewrite":
                yield Edit("drop-question", questions, "()", "none of the questions is asked", "weaker")
            case ast.Call(keywords=keywords) if called(node) == "Rewrite":
                for k in keywords:
                    if k.arg == "questions":
                        yield Edit("drop-question", k.value, "()", "none of the questions is asked", "weaker")
            case _:
                pass


def _as_element(scope: Scope, node: ast.Call) -> Iterator[Edit]:
    parent = scope.parent(node)
    match parent:
        case ast.Tuple() | ast.List():
            yield Edit("drop-question", node, "*()", f"`{scope.short(node)}` is not asked", "weaker")
        case ast.GeneratorExp() | ast.ListComp():
            yield Edit("drop-question", parent, "[]", f"no `{scope.short(node)}` is asked", "weaker")
        case _:
            pass


def _asks(node: ast.AST) -> bool:
    return any(called(n) == "Question" or "question" in called(n) for n in ast.walk(node))
