"""A third meaning of formulas: plain Python, at given values of the variables.  It shares nothing with Z3.

Floats are rounded by the tests' own oracle (fractions and binary search), so they are slow, and right.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeAlias

from tests.semantics.oracles import key, nearest
from verified_tir.ir.dtype import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, DType
from verified_tir.ir.floats import bits_of
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term, subterms, value_of
from verified_tir.testing.dtypes import float_of_bits

Value: TypeAlias = bool | int | float
Functions: TypeAlias = Callable[[str, tuple[Value, ...], str], Value]

DTYPES: dict[str, DType] = {"F16": FLOAT16, "BF16": BFLOAT16, "F32": FLOAT32, "F64": FLOAT64}


class NoValue(Exception):
    """The term divides by zero, or asks for the bits of a NaN: what that gives is up to the solver."""


def evaluate(t: Term, values: Mapping[str, Value], functions: Functions | None = None) -> Value:
    """The value of a term; variables by name, uninterpreted functions by ``functions(name, arguments, sort)``.

    :raises NoValue: where the term has none that is known.
    """
    memo: dict[Term, Value] = {}
    for u in reversed(_in_order(t)):
        memo[u] = _apply(u, [memo[a] for a in u.args], values, functions)
    return memo[t]


def _in_order(t: Term) -> list[Term]:
    """Every subterm, each before its arguments."""
    uses = dict.fromkeys(subterms(t), 0)
    for u in uses:
        for a in u.args:
            uses[a] += 1
    ready, found = [t], []
    while ready:
        u = ready.pop()
        found.append(u)
        for a in u.args:
            uses[a] -= 1
            if not uses[a]:
                ready.append(a)
    return found


def constant(sort: str, value: Value) -> Term:
    """A value as a constant of a sort."""
    if sort == f.BOOL:
        return f.boolean(bool(value))
    return f.floating(sort, bits_of(DTYPES[sort], value)) if sort in DTYPES else f.integer(int(value))


def value_of_bits(sort: str, payload: int) -> Value:
    """A model's value: floats are given by their bits."""
    if sort == f.BOOL:
        return bool(payload)
    return float_of_bits(DTYPES[sort], payload) if sort in DTYPES else payload


def _apply(t: Term, args: list[Value], values: Mapping[str, Value], functions: Functions | None) -> Value:
    match t.op:
        case "const":
            return value_of_bits(t.sort, value_of(t))
        case "var":
            return values[str(t.payload)]
        case "app":
            assert functions is not None
            return functions(str(t.payload), tuple(args), t.sort)
        case "ite":
            return args[1] if args[0] else args[2]
        case "=":
            return key(args[0]) == key(args[1])
        case "div" | "mod":
            return _euclidean(t.op, int(args[0]), int(args[1]))
        case "bvand" | "bvor" | "bvxor":
            assert isinstance(t.payload, int)
            a, b = (int(x) % (1 << t.payload) for x in args)
            return {"bvand": a & b, "bvor": a | b, "bvxor": a ^ b}[t.op]
    if t.op in _LOGIC:
        return _LOGIC[t.op](*args)
    return _float(t, [float(a) for a in args])


_LOGIC: dict[str, Callable[..., Value]] = {
    "not": lambda a: not a, "and": lambda *a: all(a), "or": lambda *a: any(a), "=>": lambda a, b: not a or b,
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "<=": lambda a, b: a <= b, "<": lambda a, b: a < b,
    "fp.eq": lambda a, b: a == b, "fp.lt": lambda a, b: a < b, "fp.leq": lambda a, b: a <= b,
    "fp.isNaN": math.isnan, "fp.isInfinite": math.isinf, "fp.abs": math.fabs,
    "fp.isZero": lambda a: a == 0.0, "fp.isNegative": lambda a: not math.isnan(a) and math.copysign(1.0, a) < 0,
}  # fmt: skip


def _euclidean(op: str, a: int, b: int) -> int:
    """SMT-LIB: the remainder is never negative."""
    if b == 0:
        raise NoValue
    quotient = a // b if b > 0 else -(a // -b)
    return quotient if op == "div" else a - b * quotient


_ADD: Callable[..., Fraction] = operator.add
_SUBTRACT: Callable[..., Fraction] = operator.sub
_MULTIPLY: Callable[..., Fraction] = operator.mul


def _float(t: Term, args: list[float]) -> Value:
    """Operations that round; of finite numbers exactly and then once."""
    dtype = DTYPES.get(t.sort)
    if dtype is None:
        raise NoValue
    match t.op, args:
        case "fp.add", [a, b]:
            special, exact = a + b, _ADD
        case "fp.sub", [a, b]:
            special, exact = a - b, _SUBTRACT
        case "fp.mul", [a, b]:
            special, exact = a * b, _MULTIPLY
        case "fp.from_fp", [a]:
            special, exact = a, Fraction
        case _:
            raise NoValue
    if not all(map(math.isfinite, args)) or (number := exact(*map(Fraction, args))) == 0:
        return special
    return nearest(dtype, number)
