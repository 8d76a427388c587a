"""Formulas at concrete values: what a term is where its variables and functions have given ones.

Integers are Python's, floats are Python floats that the format has.  A sum, difference, product, quotient or square
root of floats of at most 24 significant bits, computed in float64 and then rounded, is correctly rounded (S. A.
Figueroa, "When is double rounding innocuous?", 1995); a fused multiply-add is computed as a fraction.

What is not known here (conversions to integers and bits, division by zero, :class:`NoValue`) has no value.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Final, TypeAlias, final

from verified_tir.ir.dtype import FLOATS, DType
from verified_tir.ir.float_bits import float_of, round_exact, round_to
from verified_tir.ir.floats import bits_of, exponent_bits, significand_bits
from verified_tir.logic.formula import BOOL, FLOAT_SORTS, Payload, Term, value_of

Value: TypeAlias = bool | int | float
Key: TypeAlias = tuple[Payload, str, tuple[str, ...], tuple[Value | str, ...]]

DTYPES: Final[Mapping[str, DType]] = {form.sort: dtype for dtype, form in FLOATS.items()}


class NoValue(Exception):
    """The term has no value that is known here."""


@final
class Evaluation:
    """Formulas made ready to be evaluated many times, at other values of their leaves each time.

    :param leaves: terms whose values are given; what is beneath them is not looked at.
    :raises NoValue: for an operation that is not known here.
    """

    __slots__ = ("_constants", "_steps")

    def __init__(self, roots: Sequence[Term], leaves: Sequence[Term]) -> None:
        slots = {t: k for k, t in enumerate(leaves)}
        steps: list[tuple[Callable[..., Value] | None, tuple[int, ...]]] = []
        constants: list[Value] = []
        computed: list[Term] = []
        for root in roots:
            for t in _inside_out(root):
                if t.op == "const" and t not in slots:
                    slots[t] = len(leaves) + len(constants)
                    constants.append(constant_value(t))
        for root in roots:
            stack = [root]
            while stack:
                t = stack[-1]
                missing = [] if t in slots else [a for a in t.args if a not in slots]
                if missing:
                    stack.extend(missing)
                    continue
                stack.pop()
                if t not in slots:
                    slots[t] = len(leaves) + len(constants) + len(computed)
                    computed.append(t)
                    steps.append((_operation(t), tuple([slots[a] for a in t.args])))
            steps.append((None, (slots[root],)))
        self._steps, self._constants = steps, constants

    def holds(self, values: Sequence[Value]) -> bool:
        """Whether all of the formulas are true at these values of the leaves."""
        found = [*values, *self._constants]
        for operation, args in self._steps:
            if operation is None:
                if not found[args[0]]:
                    return False
            else:
                found.append(operation(*[found[k] for k in args]))
        return True

    def value(self, values: Sequence[Value]) -> Value:
        """The value of the last formula, which may be of any sort."""
        found = [*values, *self._constants]
        for operation, args in self._steps:
            if operation is not None:
                found.append(operation(*[found[k] for k in args]))
        return found[self._steps[-1][1][0]]


def evaluate(t: Term, values: Mapping[Term, Value], functions: Mapping[Key, Value]) -> Value:
    """The value of a term.  Variables and functions without a given value have the one of :func:`default`.

    :raises NoValue: if it is not known.
    """
    memo: dict[Term, Value] = {}
    for u in _inside_out(t):
        args = [memo[a] for a in u.args]
        match u.op:
            case "const":
                memo[u] = constant_value(u)
            case "var":
                memo[u] = values[u] if u in values else default(u.sort)
            case "app":
                memo[u] = functions.get(key_of(u, args), default(u.sort))
            case _:
                memo[u] = _operation(u)(*args)
    return memo[t]


def key_of(t: Term, args: Sequence[Value]) -> Key:
    """A function at given arguments: equal arguments, equal keys (floats by their bits)."""
    sorts = tuple([a.sort for a in t.args])
    shown = tuple([float(a).hex() if s in FLOAT_SORTS else a for a, s in zip(args, sorts, strict=True)])
    return t.payload, t.sort, sorts, shown


def default(sort: str) -> Value:
    """The value of whatever is given none."""
    return True if sort == BOOL else 1.0 if sort in FLOAT_SORTS else 0


def constant_value(t: Term) -> Value:
    """The value of a constant."""
    number = value_of(t)
    if t.sort == BOOL:
        return bool(number)
    return float_of(DTYPES[t.sort], number) if t.sort in FLOAT_SORTS else number


def as_number(sort: str, value: Value) -> int:
    """A value as models have it: floats as their bits."""
    return bits_of(DTYPES[sort], float(value)) if sort in FLOAT_SORTS else int(value)


def special_values(sort: str) -> list[float]:
    """Floats at which laws of real numbers fail, the likeliest first."""
    dtype = DTYPES[sort]
    largest_exponent, precision = (1 << (exponent_bits(dtype) - 1)), significand_bits(dtype)
    tiny = math.ldexp(1.0, 3 - largest_exponent - precision)
    largest = math.ldexp(2.0 - math.ldexp(1.0, 1 - precision), largest_exponent - 1)
    near_one = 1.0 + math.ldexp(1.0, 1 - precision)
    return [1.0, 0.0, math.inf, -1.0, tiny, -tiny, -0.0, math.nan, largest, near_one, -math.inf, -largest, 3.0]


def _inside_out(root: Term) -> list[Term]:
    """Every subterm once, arguments first."""
    found: dict[Term, None] = {}
    stack = [root]
    while stack:
        t = stack[-1]
        if t in found:
            stack.pop()
        elif missing := [a for a in t.args if a not in found]:
            stack.extend(missing)
        else:
            found[t] = None
            stack.pop()
    return list(found)


# -- operations --------------------------------------------------------------------------------------------------------


def _operation(t: Term) -> Callable[..., Value]:
    """What computes a term's value from those of its arguments."""
    if t.op == "=":
        return _same_float if t.args[0].sort in FLOAT_SORTS else operator.eq
    plain = _PLAIN.get(t.op)
    if plain is not None:
        return plain
    if t.sort in FLOAT_SORTS:
        return _rounded(t.op, t.sort)
    raise NoValue(t.op)


def _same_float(a: float, b: float) -> bool:
    """Identity: one NaN, two zeros."""
    if a == b:
        return a != 0.0 or math.copysign(1.0, a) == math.copysign(1.0, b)
    return math.isnan(a) and math.isnan(b)


def _euclidean_quotient(a: int, b: int) -> int:
    if b == 0:
        raise NoValue("division by zero")
    return a // b if b > 0 else -(a // -b)


def _euclidean_rest(a: int, b: int) -> int:
    return a - b * _euclidean_quotient(a, b)


_PLAIN: Final[Mapping[str, Callable[..., Value]]] = {
    "not": operator.not_, "and": lambda *a: all(a), "or": lambda *a: any(a), "=>": lambda a, b: not a or b,
    "ite": lambda c, a, b: a if c else b,
    "+": operator.add, "-": operator.sub, "*": operator.mul, "<=": operator.le, "<": operator.lt,
    "div": _euclidean_quotient, "mod": _euclidean_rest,
    "fp.eq": operator.eq, "fp.lt": operator.lt, "fp.leq": operator.le,
    "fp.isNaN": math.isnan, "fp.isInfinite": math.isinf, "fp.isZero": lambda a: a == 0.0,
    "fp.isNegative": lambda a: not math.isnan(a) and math.copysign(1.0, a) < 0.0,
    "fp.abs": math.fabs,
}  # fmt: skip


@cache
def _rounded(op: str, sort: str) -> Callable[..., Value]:
    """An operation that rounds to the format."""
    dtype = DTYPES[sort]
    match op:
        case "fp.fma":
            return lambda a, b, c: _fused(dtype, a, b, c)
        case "fp.from_int":
            return lambda a: round_exact(dtype, a)
    exact = _WIDE.get(op)
    if exact is None:
        raise NoValue(op)
    if sort == "F64":
        return exact
    return lambda *args: round_to(dtype, exact(*args))


def _quotient(a: float, b: float) -> float:
    if b != 0.0:
        return a / b
    if a == 0.0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, math.copysign(1.0, a) * math.copysign(1.0, b))


def _square_root(a: float) -> float:
    return math.sqrt(a) if a >= 0.0 else math.nan


_WIDE: Final[Mapping[str, Callable[..., float]]] = {
    "fp.add": operator.add, "fp.sub": operator.sub, "fp.mul": operator.mul, "fp.div": _quotient,
    "fp.sqrt": _square_root, "fp.from_fp": float,
}  # fmt: skip


def _fused(dtype: DType, a: float, b: float, c: float) -> float:
    """``a * b + c``, rounded once (IEEE 754-2019, section 5.4.1)."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:  # -0.0 only if both addends are -0.0; numbers that cancel give +0.0
        return -0.0 if math.copysign(1.0, a) * math.copysign(1.0, b) < 0.0 and math.copysign(1.0, c) < 0.0 else 0.0
    return round_exact(dtype, exact)
