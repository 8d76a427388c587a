"""Side conditions and branches."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.mutant import Edit, Effect
from tests.mutation.operators.scope import Scope, called


def conditions(scope: Scope) -> Iterator[Edit]:
    """Each side condition: a test that refuses, a guard of a case, an operand of ``and`` and ``or``."""
    for node in scope.nodes:
        match node:
            case ast.If(test=test, body=body) if not _passes_refusal_on(test) and _refuses(scope, body):
                yield Edit("drop-condition", test, "False", f"`{scope.short(test)}` does not refuse", "weaker")
            case ast.match_case(pattern=pattern, guard=guard) if guard is not None:
                text = f"`case {scope.short(pattern)}` without `if {scope.short(guard)}`"
                yield Edit("drop-guard", guard, "True", text)
            case ast.BoolOp(op=op, values=operands):
                yield from _operands(scope, node, op, operands)
            case _:
                pass


def branches(scope: Scope) -> Iterator[Edit]:
    """Each branch that refuses nothing, taken always or never; loops cut short; truth turned round."""
    for node in scope.nodes:
        match node:
            case ast.If(test=test, body=body) if not _passes_refusal_on(test) and not _refuses(scope, body):
                yield Edit("never-branch", test, "False", f"never `if {scope.short(test)}`")
                yield Edit("always-branch", test, "True", f"always `if {scope.short(test)}`")
            case ast.Match(cases=cases):
                yield from (_never(scope, c) for c in cases if not _takes_all(c))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield Edit("drop-not", node, f"({scope.text(operand)})", f"`{scope.short(node)}` without `not`")
            case ast.IfExp(test=test):
                yield Edit("never-branch", test, "False", f"always the other of `{scope.short(node)}`")
                yield Edit("always-branch", test, "True", f"always the first of `{scope.short(node)}`")
            case ast.While(test=test):
                yield Edit("never-branch", test, "False", f"never `while {scope.short(test)}`")
            case ast.For(iter=over):
                text = scope.text(over)
                yield Edit("only-first", over, f"list({text})[:1]", f"only the first of `{scope.short(over)}`")
            case ast.Constant(value=bool() as value) if not isinstance(scope.parent(node), ast.keyword):
                yield Edit("flip-constant", node, str(not value), f"`{not value}` for `{value}`")
            case _:
                pass


def _never(scope: Scope, case: ast.match_case) -> Edit:
    """A pattern that nothing matches: an exception's, which is no value of the programs mutated here."""
    words = f"never `case {scope.short(case.pattern)}`"
    if case.guard is not None:
        return Edit("drop-case", case.guard, "False", words)
    return Edit("drop-case", case.pattern, "NotImplementedError()", words)


def _takes_all(case: ast.match_case) -> bool:
    """``case _`` without a guard: that it is not taken is a program that the type checker refuses."""
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def _operands(scope: Scope, node: ast.BoolOp, op: ast.boolop, operands: list[ast.expr]) -> Iterator[Edit]:
    neutral = "True" if isinstance(op, ast.And) else "False"
    word = "and" if isinstance(op, ast.And) else "or"
    refusal = _test_of_refusal(scope, node)
    effect: Effect = "either" if refusal is None else "stricter" if isinstance(op, ast.And) else "weaker"
    for k, a in enumerate(operands):
        if _narrows(scope, a, operands[k + 1 :]):
            continue
        text = f"`{scope.short(node)}` without the operand `{scope.short(a)}` of `{word}`"
        yield Edit("drop-operand", a, neutral, text, effect)


def _narrows(scope: Scope, operand: ast.expr, rest: list[ast.expr]) -> bool:
    """Whether an operand only permits what follows: ``x is None or x.y``, ``isinstance(x, For) and x.y``.

    Without it there is no other answer but an ``AttributeError``; the type checker refuses the program.
    """
    match operand:
        case ast.Compare(left=subject, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            pass
        case ast.Call(args=[subject, _]) if called(operand) == "isinstance":
            pass
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call(args=[subject, _]) as inner) if called(inner) == "isinstance":
            pass
        case _:
            return False
    name = scope.text(subject)
    return any(isinstance(n, ast.Attribute) and scope.text(n.value) == name for e in rest for n in ast.walk(e))


def _test_of_refusal(scope: Scope, node: ast.AST) -> ast.If | None:
    """The ``if`` that refuses, if the node is its test (not under ``not``)."""
    around = scope.parent(node)
    while isinstance(around, ast.BoolOp):
        node, around = around, scope.parent(around)
    if isinstance(around, ast.If) and around.test is node and _refuses(scope, around.body):
        return around
    return None


def _passes_refusal_on(test: ast.expr) -> bool:
    """``isinstance(x, NoMatch)``: a refusal that was found elsewhere is handed on."""
    match test:
        case ast.Call(args=[_, ast.Name(id="NoMatch" | "Unproved")]) if called(test) == "isinstance":
            return True
        case _:
            return False


def _refuses(scope: Scope, body: list[ast.stmt]) -> bool:
    """Whether a block ends in a refusal: a ``NoMatch``, words (in functions that return a problem), an exception."""
    returns = scope.function.node.returns
    returns_problem = returns is not None and ast.unparse(returns) in {"str | None", "NoMatch | None"}
    match body[-1]:
        case ast.Raise():
            return True
        case ast.Return(value=ast.Call() as value) if called(value) in {"NoMatch", "Unproved"}:
            return True
        case ast.Return(value=value) if returns_problem and value is not None:
            return not (isinstance(value, ast.Constant) and value.value is None)
        case _:
            return False
