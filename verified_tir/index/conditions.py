"""Conditions put together and taken apart: negation, ``and``, ``or``, choices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from verified_tir.ir.expr import FALSE, TRUE, Binary, Expr, IntImm, Not
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.poly import Poly, as_poly

NEGATED = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}


def negate(condition: Expr) -> Expr:
    """The negation of a condition, pushed down to the comparisons (on integers each has a converse)."""
    match condition:
        case IntImm(value=value):
            return FALSE if value else TRUE
        case Not(a=a):
            return a
        case Binary(op="and", a=a, b=b):
            return junction("or", [negate(a), negate(b)])
        case Binary(op="or", a=a, b=b):
            return junction("and", [negate(a), negate(b)])
        case Binary(op=op, a=a, b=b) if op in NEGATED and not a.dtype.is_float:
            return Binary(NEGATED[op], a, b)  # type: ignore[arg-type]
        case _:
            return Not(condition)


def junction(op: str, conditions: Iterable[Expr]) -> Expr:
    """The lazy ``and``/``or`` of conditions, constants and repetitions removed."""
    neutral, absorbing = (TRUE, FALSE) if op == "and" else (FALSE, TRUE)
    kept: list[Expr] = []
    for condition in (c for joined in conditions for c in operands(op, joined)):
        if condition is absorbing:
            kept.append(condition)
            break
        if condition is not neutral and condition not in kept:
            kept.append(condition)
    if kept and kept[-1] is absorbing:
        return absorbing
    result: Expr = neutral
    for condition in kept:
        result = condition if result is neutral else Binary(op, result, condition)  # type: ignore[arg-type]
    return result


def operands(op: str, condition: Expr) -> list[Expr]:
    """What is joined by ``and`` (or ``or``) in a condition, left to right."""
    if isinstance(condition, Binary) and condition.op == op:
        return [*operands(op, condition.a), *operands(op, condition.b)]
    return [condition]


def conjuncts(condition: Expr) -> list[Expr]:
    """The parts of a conjunction, left to right."""
    return operands("and", condition)


def choose(kind: Callable[[Expr, Expr, Expr], Expr], condition: Expr, a: Expr, b: Expr) -> Expr:
    """A select or if_then_else, decided where the condition is constant or the arms agree."""
    if condition is TRUE or a is b:
        return a
    return b if condition is FALSE else kind(condition, a, b)


def facts_of(conditions: Iterable[Expr]) -> Iterator[Poly]:
    """Polynomials that are ≥ 0 where all of some conditions are true."""
    for condition in conditions:
        match condition:
            case Binary(op=op, a=a, b=b) if a.dtype.is_int and a.dtype.lanes == 1 and is_index(a) and is_index(b):
                x, y = as_poly(a), as_poly(b)
                if op in ("lt", "le"):
                    yield y - x - (1 if op == "lt" else 0)
                elif op in ("gt", "ge"):
                    yield x - y - (1 if op == "gt" else 0)
                elif op == "eq":
                    yield x - y
                    yield y - x
