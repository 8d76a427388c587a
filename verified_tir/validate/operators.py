"""Building terms: strictness, constant folding, and local simplification.

Every simplification is a theorem about the bits of the result, for all values that the facts of its operands leave
possible.  Where an operand may be undef, none drops it: ``x - x`` is 0 only if x cannot be undef.

    theorem                                      holds because
    x + -0.0 = x,  x - 0.0 = x                   also for a zero of either sign, NaN and infinities
    x + 0.0 = x  if x is never -0.0              -0.0 + 0.0 is 0.0
    x * 1.0 = x,  x / 1.0 = x                    exact
    a + b = b + a,  a * b = b * a                IEEE addition and multiplication commute; there is one NaN
    float min(a, b) = select(a < b, a, b)        by definition; not commutative
    integer min, max, +, *, &, |, ^              commutative in two's complement
    a > b = b < a,  a >= b = b <= a, a != b = not a == b      also with NaN
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, final

import numpy as np

from verified_tir.ir.dtype import BOOL, DType
from verified_tir.ir.expr import COMPARE_OPS
from verified_tir.ir.floats import exponent_bits, significand_bits
from verified_tir.semantics.calls import call_operation
from verified_tir.semantics.errors import UndefinedBehaviour
from verified_tir.semantics.memory import reinterpret
from verified_tir.semantics.operators import binary_operation, cast_operation
from verified_tir.semantics.rounding import rounder
from verified_tir.semantics.values import UNDEF, Scalar
from verified_tir.validate.terms import (
    ANY_FLOAT,
    MAY_INF,
    MAY_NAN,
    MAY_NEGATIVE_ZERO,
    MAY_UNDEF,
    UNDEF_ID,
    Flags,
    Ids,
    Terms,
)

_COMMUTATIVE: Final = frozenset({"add", "mul", "eq", "bitand", "bitor", "bitxor", "min", "max"})
_NEEDS_CONSTANT: Final = frozenset({"add", "sub", "mul", "div"})  # the identities of floats
_SWAPPED: Final = {"gt": "lt", "ge": "le"}


@final
class Builder:
    """Builds terms in bulk; every method takes and gives arrays of term numbers that broadcast against each other.

    :param scales: whether a program's ``ldexp`` is :meth:`ldexp`, and not a call that nothing is known about.
    """

    def __init__(self, terms: Terms, *, scales: bool = False) -> None:
        self.terms, self.scales = terms, scales
        self.operations = 0

    # ------------------------------------------------------------------------------------------------ binary

    def binary(self, op: str, dtype: DType, a: Ids, b: Ids) -> Ids:
        """``a op b`` of scalars of type ``dtype``; ``and`` and ``or`` are :meth:`choose`'s."""
        if op in _SWAPPED:
            op, a, b = _SWAPPED[op], b, a
        if op == "ne":
            return self.negate(self.binary("eq", dtype, a, b))
        if op in ("min", "max") and dtype.is_float:
            ordered = self.binary("lt", dtype, a, b) if op == "min" else self.binary("lt", dtype, b, a)
            return self.choose(dtype, ordered, a, b)
        a, b = np.broadcast_arrays(a, b)
        self.operations += a.size
        if op in _COMMUTATIVE:
            a, b = np.minimum(a, b), np.maximum(a, b)
        if dtype.is_float and op in _NEEDS_CONSTANT and self._plain(a) and self._plain(b):
            return self._make(op, dtype, a, b)
        result: Ids = np.full(a.shape, -1, dtype=np.int64)
        result[(a == UNDEF_ID) | (b == UNDEF_ID)] = UNDEF_ID
        self._identities(op, dtype, a, b, result)
        ca, cb = self.terms.is_const(a), self.terms.is_const(b)
        both = (result < 0) & ca & cb
        if both.any():
            result[both] = self._fold([a[both], b[both]], binary_operation(op, dtype), _result(op, dtype))
        rest = result < 0
        if rest.any():
            result[rest] = self._make(op, dtype, a[rest], b[rest])
        return result

    def _plain(self, ids: Ids) -> bool:
        """Whether no term is a constant, or undef."""
        codes = self.terms.columns[0, ids]
        return not (self.terms.const_code[codes].any() or (ids == UNDEF_ID).any())

    def _identities(self, op: str, dtype: DType, a: Ids, b: Ids, result: Ids) -> None:
        """Fill in ``result`` where an identity applies."""
        known = self.terms.flags
        if dtype.is_float:
            self._float_identities(op, dtype, a, b, result)
        elif dtype.is_int:
            zero, one = self.terms.constant(dtype, 0), self.terms.constant(dtype, 1)
            if op in ("add", "bitor", "bitxor"):
                _take(result, a == zero, b)
            if op in ("add", "sub", "bitor", "bitxor", "shl", "shr"):
                _take(result, b == zero, a)
            if op == "mul":
                _take(result, a == one, b)
                _take(result, ((a == zero) | (b == zero)) & ((known[a] | known[b]) & MAY_UNDEF == 0), zero)
            if op in ("mul", "floordiv", "truncdiv"):
                _take(result, b == one, a)
            if op in ("min", "max", "bitand", "bitor"):
                _take(result, a == b, a)
        same = (a == b) & (known[a] & MAY_UNDEF == 0)
        if op in COMPARE_OPS:
            if dtype.is_float:
                same &= known[a] & MAY_NAN == 0
                if op == "lt":
                    same = (a == b) & (known[a] & MAY_UNDEF == 0)  # x < x is false for a NaN too
            _take(result, same, self.terms.false if op == "lt" else self.terms.true)
            if dtype.is_float:
                self._beyond_infinity(op, dtype, a, b, result)
        elif op in ("sub", "bitxor") and dtype.is_int:
            _take(result, same, self.terms.constant(dtype, 0))

    def _float_identities(self, op: str, dtype: DType, a: Ids, b: Ids, result: Ids) -> None:
        terms = self.terms
        zero, minus, one = terms.constant(dtype, 0.0), terms.constant(dtype, -0.0), terms.constant(dtype, 1.0)
        if op == "add":
            for x, y in ((a, b), (b, a)):
                _take(result, y == minus, x)
                _take(result, (y == zero) & (terms.flags[x] & MAY_NEGATIVE_ZERO == 0), x)
        elif op == "sub":
            _take(result, b == zero, a)
            _take(result, (b == minus) & (terms.flags[a] & MAY_NEGATIVE_ZERO == 0), a)
        elif op == "mul":
            _take(result, b == one, a)
            _take(result, a == one, b)
        elif op == "div":
            _take(result, b == one, a)

    def _beyond_infinity(self, op: str, dtype: DType, a: Ids, b: Ids, result: Ids) -> None:
        """Nothing is less than -inf or greater than inf; every number lies between them, both included."""
        terms = self.terms
        lowest, highest = terms.constant(dtype, -math.inf), terms.constant(dtype, math.inf)
        if op == "lt":
            for end, x in ((b == lowest, a), (a == highest, b)):
                _take(result, end & (terms.flags[x] & MAY_UNDEF == 0), terms.false)
        elif op == "le":
            for end, x in ((a == lowest, b), (b == highest, a)):
                _take(result, end & (terms.flags[x] & (MAY_UNDEF | MAY_NAN) == 0), terms.true)

    # ----------------------------------------------------------------------------------------- other operators

    def negate(self, a: Ids) -> Ids:
        terms = self.terms
        self.operations += a.size
        result: Ids = np.full(a.shape, -1, dtype=np.int64)
        _take(result, a == UNDEF_ID, UNDEF_ID)
        _take(result, a == terms.true, terms.false)
        _take(result, a == terms.false, terms.true)
        codes = terms.columns[0, a]
        _take(result, codes == terms.code("not", BOOL), terms.columns[1, a])
        rest = result < 0
        if rest.any():
            result[rest] = self._make("not", BOOL, a[rest])
        return result

    def choose(self, dtype: DType, condition: Ids, a: Ids, b: Ids) -> Ids:
        """``condition ? a : b``: undef only where the condition or the chosen arm is."""
        terms = self.terms
        condition, a, b = np.broadcast_arrays(condition, a, b)
        self.operations += a.size
        ite, negation = terms.code("ite", dtype), terms.code("not", BOOL)
        flip = terms.columns[0, condition] == negation
        if flip.any():
            condition, a, b = (
                np.where(flip, terms.columns[1, condition], condition), np.where(flip, b, a), np.where(flip, a, b)
            )  # fmt: skip
        nested = (terms.columns[0, a] == ite) & (terms.columns[1, a] == condition)
        a = np.where(nested, terms.columns[2, a], a)
        nested = (terms.columns[0, b] == ite) & (terms.columns[1, b] == condition)
        b = np.where(nested, terms.columns[3, b], b)
        result: Ids = np.full(a.shape, -1, dtype=np.int64)
        _take(result, condition == UNDEF_ID, UNDEF_ID)
        _take(result, condition == terms.true, a)
        _take(result, condition == terms.false, b)
        _take(result, (a == b) & (terms.flags[condition] & MAY_UNDEF == 0), a)
        if dtype.is_bool:
            _take(result, (a == terms.true) & (b == terms.false), condition)
        rest = result < 0
        if rest.any():
            result[rest] = self._ordered(dtype, condition[rest], a[rest], b[rest])
        return result

    def _ordered(self, dtype: DType, condition: Ids, a: Ids, b: Ids) -> Ids:
        """A choice between integers by their own order is a minimum or a maximum; any other stays a choice."""
        terms = self.terms
        result: Ids = np.full(a.shape, -1, dtype=np.int64)
        if dtype.is_int:
            code, x, y, _ = terms.columns[:, condition]
            less = (code == terms.code("lt", dtype)) | (code == terms.code("le", dtype))
            for op, first, second in (("min", a, b), ("max", b, a)):
                chosen = less & (x == first) & (y == second) & (result < 0)
                if chosen.any():
                    result[chosen] = self.binary(op, dtype, a[chosen], b[chosen])
        rest = result < 0
        if rest.any():
            result[rest] = self._make("ite", dtype, condition[rest], a[rest], b[rest])
        return result

    def cast(self, source: DType, target: DType, a: Ids) -> Ids:
        if source is target:
            return a
        terms = self.terms
        self.operations += a.size
        result: Ids = np.full(a.shape, -1, dtype=np.int64)
        _take(result, a == UNDEF_ID, UNDEF_ID)
        if _keeps(target, source):  # there and back
            _take(result, terms.columns[0, a] == terms.code(f"cast:{target}", source), terms.columns[1, a])
        const = (result < 0) & terms.is_const(a)
        if const.any():
            result[const] = self._fold([a[const]], cast_operation(source, target), target)
        rest = result < 0
        if rest.any():
            result[rest] = self._make(f"cast:{source}", target, a[rest])
        return result

    def call(self, op: str, source: DType, target: DType, args: Sequence[Ids]) -> Ids:
        """A pure call, other than ``reinterpret``, of one to three scalars of type ``source``."""
        if op == "likely":
            return args[0]
        arrays = np.broadcast_arrays(*args)
        self.operations += arrays[0].size
        result: Ids = np.full(arrays[0].shape, -1, dtype=np.int64)
        const = np.ones(result.shape, dtype=np.bool_)
        for a in arrays:
            _take(result, a == UNDEF_ID, UNDEF_ID)
            const &= self.terms.is_const(a)
        const &= result < 0
        if const.any():
            result[const] = self._fold([a[const] for a in arrays], call_operation(op, source, target), target)
        rest = result < 0
        if rest.any():
            name = op if target is source or target is BOOL else f"{op}:{source}"
            result[rest] = self._make(name, source if target is BOOL else target, *[a[rest] for a in arrays])
        return result

    def ldexp(self, dtype: DType, y: Ids, n: Ids) -> Ids:
        """``y * 2**n``, rounded once; what is known of it is that, for constants, and nothing else."""
        y, n = np.broadcast_arrays(y, n)
        self.operations += y.size
        result: Ids = np.where((y == UNDEF_ID) | (n == UNDEF_ID), UNDEF_ID, np.int64(-1))
        const = (result < 0) & self.terms.is_const(y) & self.terms.is_const(n)
        if const.any():
            result[const] = self._fold([y[const], n[const]], partial(_ldexp, dtype), dtype)
        rest = result < 0
        if rest.any():
            result[rest] = self._make("ldexp", dtype, y[rest], n[rest])
        return result

    def reinterpret(self, target: DType, a: Ids) -> Ids:
        """The bytes of scalars read at another type of the same width."""
        const = self.terms.is_const(a)
        result = np.where(a == UNDEF_ID, UNDEF_ID, self._make("reinterpret", target, a))
        for term in np.unique(a[const]).tolist():
            result[a == term] = self._bytes_of_constant(target, term)
        return result

    def _bytes_of_constant(self, target: DType, term: int) -> int:
        """A constant's bytes as a constant; those of a NaN do not exist."""
        terms = self.terms
        source = terms.dtype_of(term)
        if source.is_float and terms.flags[term] & MAY_NAN:
            return UNDEF_ID
        found = reinterpret(terms.value(term), source, target)
        return UNDEF_ID if found is UNDEF or isinstance(found, tuple) else terms.constant(target, found)

    def opaque(self, op: str, dtype: DType, a: Ids | int, b: Ids | int = 0, c: Ids | int = 0) -> Ids:
        """A term that nothing is known about, but that equal operands make it equal."""
        ids, new = self.terms.intern(self.terms.code(op, dtype), a, b, c)
        self.terms.flags[ids[new]] = ANY_FLOAT if dtype.is_float else 0
        return ids

    # ----------------------------------------------------------------------------------------------- making

    def _make(self, op: str, dtype: DType, a: Ids, b: Ids | int = 0, c: Ids | int = 0) -> Ids:
        terms = self.terms
        ids, new = terms.intern(terms.code(op, dtype), a, b, c)
        if new.any():
            fresh = ids[new]
            x, y, z = terms.columns[1:, fresh]
            f = terms.flags
            terms.flags[fresh] = _facts(
                op, dtype, f[x], f[y] if np.ndim(b) else f[:1] * 0, f[z] if np.ndim(c) else f[:1] * 0
            )
        return ids

    def _fold(self, args: list[Ids], operation: Callable[..., Scalar], target: DType) -> Ids:
        """An operation on constants; each combination is computed once."""
        first, second = args[0], args[1] if len(args) > 1 else args[0]
        keys = (
            (first << 32) | second if len(args) < 3 else np.arange(first.size)
        )  # three operands: fma, seldom constant
        _, example, inverse = np.unique(keys, return_index=True, return_inverse=True)
        found: Ids = np.empty(example.size, dtype=np.int64)
        for k, row in enumerate(np.stack([a[example] for a in args], axis=1).tolist()):
            try:
                value = operation(*[self.terms.value(term) for term in row])
            except UndefinedBehaviour:  # noted by whoever asked for the operation
                value = UNDEF
            found[k] = UNDEF_ID if value is UNDEF else self.terms.constant(target, value)
        folded: Ids = found[inverse.reshape(-1)]
        return folded


def _take(result: Ids, where: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], value: Ids | int) -> None:
    """Put ``value`` where the condition holds and nothing was put before."""
    free = where & (result < 0)
    if free.any():
        result[free] = value[free] if isinstance(value, np.ndarray) else value


def _ldexp(dtype: DType, y: float, n: int) -> float:
    """Exact in float64 before float32 is rounded to, but where both are zero."""
    try:
        return float(rounder(dtype)(math.ldexp(y, max(-5000, min(n, 5000)))))
    except OverflowError:
        return math.copysign(math.inf, y)


def _result(op: str, dtype: DType) -> DType:
    return BOOL if op in COMPARE_OPS else dtype


def _keeps(narrow: DType, wide: DType) -> bool:
    """Whether every value of ``narrow`` survives the way to ``wide`` and back."""
    if narrow.is_bool:
        return wide.is_int or wide.is_float
    if narrow.is_int:
        return wide.is_int and wide.bits >= narrow.bits
    if not (narrow.is_float and wide.is_float and narrow.bits < wide.bits):
        return False
    return exponent_bits(narrow) <= exponent_bits(wide) and significand_bits(narrow) <= significand_bits(wide)


def _facts(op: str, dtype: DType, a: Flags, b: Flags, c: Flags) -> Flags:
    """What is known of a new term, given what is known of its operands."""
    undef = (a | b | c) & np.uint8(MAY_UNDEF)
    if op == "ite":
        return undef | ((b | c) & np.uint8(ANY_FLOAT))
    if op.startswith("cast:"):
        if op.startswith(("cast:float", "cast:bfloat")):
            if not dtype.is_float:
                return undef if dtype.is_bool else undef | np.uint8(MAY_UNDEF)
            return undef | (a & np.uint8(MAY_NAN)) | np.uint8(MAY_INF | MAY_NEGATIVE_ZERO)
        return undef | np.uint8(MAY_INF) if dtype.is_float else undef
    if op == "reinterpret":
        return undef | np.uint8(MAY_UNDEF | (ANY_FLOAT if dtype.is_float else 0))
    if not dtype.is_float or op in COMPARE_OPS or op.startswith("is"):
        return undef
    if op in ("add", "sub"):
        nan = ((a | b) & np.uint8(MAY_NAN)) | np.where(a & b & MAY_INF, MAY_NAN, 0).astype(np.uint8)
        zero = (a & b if op == "add" else a) & np.uint8(MAY_NEGATIVE_ZERO)
        return undef | nan | np.uint8(MAY_INF) | zero
    if op == "mul":
        nan = np.where((a | b) & (MAY_NAN | MAY_INF), MAY_NAN, 0).astype(np.uint8)
        return undef | nan | np.uint8(MAY_INF | MAY_NEGATIVE_ZERO)
    return undef | np.uint8(ANY_FLOAT)
