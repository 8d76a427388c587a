"""Errors that makers of compilers make: steps left out, binders shared, substitutions and effects forgotten."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.mutant import Edit
from tests.mutation.operators.scope import Scope, called

_WITHOUT = {
    "refresh_binders": ("shared-binder", "({0}, {{}})", "bound variables are not renamed in `{1}`"),
    "substitute": ("skip-substitution", "{0}", "nothing is replaced in `{1}`"),
    "renamed_apart": ("shared-binder", "{{}}", "loads are not renamed apart in `{1}`"),
    "written_blocks": ("nothing-written", "set()", "nothing is written, says `{1}`"),
    "read_blocks": ("nothing-written", "set()", "nothing is read, says `{1}`"),
    "opaque_calls": ("nothing-written", "[]", "nothing is opaque, says `{1}`"),
    "fork": ("shared-binder", "{0}", "`{1}` is the same context"),
    "expand_block": ("skip-substitution", "{0}.body", "a block is its body in `{1}`"),
}
"""Calls, by name: the operator, what stands in their place ({0} is the first argument or the object), and words."""


def domain(scope: Scope) -> Iterator[Edit]:
    for node in scope.nodes:
        match node:
            case ast.Call() if called(node) in _WITHOUT:
                operator, template, words = _WITHOUT[called(node)]
                subject = _subject(scope, node)
                if subject is not None:
                    text = template.format(subject, "")
                    yield Edit(operator, node, text, words.format("", scope.short(node)))
            case ast.Expr(value=ast.Call() as call) if not isinstance(scope.parent(node), ast.Module):
                if not _adds_question(call):
                    yield Edit("drop-statement", node, "pass", f"`{scope.short(node)}` is left out")
            case ast.AugAssign():
                yield Edit("drop-statement", node, "pass", f"`{scope.short(node)}` is left out")
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                yield Edit("drop-statement", node, "pass", f"`{scope.short(node)}` is left out")
            case ast.Continue() | ast.Break() | ast.Delete():
                yield Edit("drop-statement", node, "pass", f"`{scope.short(node)}` is left out")
            case _:
                pass


def _subject(scope: Scope, node: ast.Call) -> str | None:
    if called(node) in {"fork", "renamed_apart"}:
        return scope.text(node.func.value) if isinstance(node.func, ast.Attribute) else None
    return scope.text(node.args[0]) if node.args else None


def _adds_question(call: ast.Call) -> bool:
    """Those are the first group's."""
    return any(called(n) == "Question" for n in ast.walk(call))
