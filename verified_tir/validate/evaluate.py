"""The meaning of expressions, in many rows at once.

Integers and bools that are known stay numbers (``numbers.py``); everything else is terms (``operators.py``).  A lazy
operator with a known condition evaluates an arm only in the rows that take it.  With a symbolic one both arms are
evaluated under a path condition, and the result is a choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import final

import numpy as np

from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import BOOL, DType
from verified_tir.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Expr,
    FloatImm,
    IfThenElse,
    IntImm,
    LetExpr,
    Load,
    Not,
    Ramp,
    Select,
    Shuffle,
    Undef,
    Var,
)
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.stmt import Store
from verified_tir.validate import gathers
from verified_tir.validate.access import Access
from verified_tir.validate.calls import Calls, is_data
from verified_tir.validate.frame import Frame, Value
from verified_tir.validate.memory import Mask, Refused, UndefinedRun
from verified_tir.validate.numbers import fit, leaves_uint64, operate
from verified_tir.validate.terms import UNDEF_ID, Ids

_OVERFLOWING = ("add", "sub", "mul", "shl")
_UINT64 = DType("uint", 64)
_DIVISIONS = ("floordiv", "floormod", "truncdiv", "truncmod")


@final
class Evaluator:
    """Evaluates the expressions of one function; ``data`` are its let-bound variables that hold data.

    ``declared``: opaque calls touch no more than the blocks around them say.
    """

    def __init__(self, access: Access, data: frozenset[Var], *, declared: bool = False) -> None:
        self.access, self.data = access, data
        self.build, self.events, self.terms = access.build, access.events, access.terms
        self.calls = Calls(access, declared=declared)

    # --------------------------------------------------------------------------------------------- conversions

    def terms_of(self, value: Value) -> Ids:
        if value.ids is not None:
            return value.ids
        assert value.numbers is not None
        return self.terms.constants(value.dtype.scalar, value.numbers)

    def known(self, value: Value) -> Ids | None:
        """The value as numbers, if it is known in all rows and lanes."""
        if value.numbers is not None:
            return value.numbers
        ids = value.array
        if value.dtype.is_float or not self.terms.is_const(ids).all():
            return None
        return self.terms.payload(ids)

    def number(self, expr: Expr, frame: Frame, kind: str, what: str) -> Ids:
        """A bound or an index, which must be known; shape (rows or 1, lanes).

        :raises Refused: if it depends on data.
        """
        value = self.evaluate(expr, frame)
        if value.ids is not None:
            self.events.note(frame, kind, value.ids == UNDEF_ID)
        found = self.known(value)
        if found is None:
            raise Refused(f"{what} depends on data")
        if value.dtype.scalar is _UINT64 and (found < 0).any():  # numbers of uint64 are there modulo 2**64
            raise Refused(f"{what} is 2**63 or more")
        return found

    # ------------------------------------------------------------------------------------------------ evaluation

    def evaluate(self, expr: Expr, frame: Frame) -> Value:  # noqa: PLR0911 (one case for each class)
        match expr:
            case Var():
                found = frame.values.get(expr)
                if found is None:
                    raise Refused(f"{expr.name} has no value here")
                return found
            case IntImm(type=t, value=v):
                if t.code == "uint" and t.bits == 64:
                    return Value(t, None, np.full((1, 1), self.terms.constant(t, v)))
                return Value(t, np.full((1, 1), v, dtype=np.int64))
            case FloatImm(type=t, value=v):
                return Value(t, None, np.full((1, 1), self.terms.constant(t, v)))
            case Undef(type=t):
                return Value(t, None, np.zeros((1, 1), dtype=np.int64))
            case Binary(op="and" | "or") if expr.dtype.lanes == 1:
                return self._lazy(expr, frame)
            case Binary():
                return self._binary(expr, frame)
            case Not(a=a):
                value = self.evaluate(a, frame)
                if value.numbers is not None:
                    return Value(expr.dtype, 1 - value.numbers)
                return Value(expr.dtype, None, self.build.negate(value.array))
            case Select():
                return self._select(expr, frame)
            case IfThenElse(condition=c, true_value=a, false_value=b):
                return self.split(c, a, b, frame, expr.dtype)
            case Cast():
                return self._cast(expr, frame)
            case Ramp():
                return self._ramp(expr, frame)
            case Broadcast(value=v):
                return replace(self.evaluate(v, frame), dtype=expr.dtype)
            case Shuffle():
                return self._shuffle(expr, frame)
            case LetExpr(var=var, value=v, body=body):
                frame.values[var] = self.evaluate(v, frame)
                return self.evaluate(body, frame)
            case Load():
                return Value(expr.dtype, None, self._load(expr, frame))
            case Call():
                return self._call(expr, frame)
        raise Refused(f"an expression of class {type(expr).__name__} as a value")

    def _binary(self, expr: Binary, frame: Frame) -> Value:
        a, b = self.evaluate(expr.a, frame), self.evaluate(expr.b, frame)
        op, dtype = expr.op, expr.a.dtype.scalar
        if op in ("and", "or"):
            return self._lanes_of_logic(op, a, b, frame, expr.dtype)
        x, y = self.known(a), self.known(b)
        wide = dtype.code == "uint" and dtype.bits == 64
        if x is not None and y is not None and not dtype.is_float and not wide:
            result, trouble = operate(op, dtype, x, y, index=is_index(expr, self.data))
            if trouble is not None:
                self.events.note(frame, f"{op} of {dtype} overflows or divides by zero", trouble)
            return Value(expr.dtype, result)
        if dtype.is_int and op in _OVERFLOWING and is_index(expr, self.data):
            if x is None or y is None:  # all but a bool parameter is known there
                raise Refused(f"index arithmetic ({op} of {dtype}) depends on a parameter that is no integer")
            trouble = leaves_uint64(op, x, y)
            if trouble is not None:
                self.events.note(frame, f"{op} of {dtype} overflows", trouble)
        p, q = self.terms_of(a), self.terms_of(b)
        if dtype.is_int and op in (*_DIVISIONS, "shl", "shr"):
            self._danger(op, dtype, p, q, frame)
        return Value(expr.dtype, None, self.build.binary(op, dtype, p, q))

    def _danger(self, op: str, dtype: DType, a: Ids, b: Ids, frame: Frame) -> None:
        """Undefined behaviour of an integer division or shift of data."""
        build, terms = self.build, self.terms
        self.events.note_undef(frame, f"{op} by undef", b)
        zero = np.full((1, 1), terms.constant(dtype, 0))
        if op in ("shl", "shr"):
            bits = np.full((1, 1), terms.constant(dtype, dtype.bits))
            self.events.note_terms(frame, f"{op} out of range", build.binary("ge", dtype, b, bits))
            if dtype.code == "int":
                self.events.note_terms(frame, f"{op} out of range", build.binary("lt", dtype, b, zero))
            return
        self.events.note_terms(frame, f"{op} by zero", build.binary("eq", dtype, b, zero))
        if dtype.code == "int":
            least = np.full((1, 1), terms.constant(dtype, dtype.min_value))
            minus = build.binary("eq", dtype, b, np.full((1, 1), terms.constant(dtype, -1)))
            if not (minus == terms.false).all():
                self.events.note_undef(frame, f"{op} of undef", build.choose(dtype, minus, a, zero))
                overflow = build.choose(BOOL, minus, build.binary("eq", dtype, a, least), np.full((1, 1), terms.false))
                self.events.note_terms(frame, f"{op} overflows", overflow)

    # ------------------------------------------------------------------------------------------------ conditions

    def condition(self, expr: Expr, frame: Frame) -> tuple[Mask | None, Ids]:
        """A branch's condition: known (one bool for each row), or terms, one for each row."""
        value = self.evaluate(expr, frame)
        found = self.known(value)
        if found is not None:
            return np.broadcast_to(found[:, 0] != 0, (frame.count,)), found
        self.events.note_undef(frame, "branch on undef", value.array)
        return None, np.broadcast_to(value.array[:, 0], (frame.count,))

    def guarded(self, frame: Frame, condition: Ids, *, holds: bool) -> Frame:
        """The frame on the path where the condition (one term for each row) holds, or does not."""
        path = condition if holds else self.build.negate(condition)
        if frame.guard is not None:
            path = self.build.choose(BOOL, frame.guard, path, np.full(1, self.terms.false))
        guarded = replace(frame, guard=path)
        return guarded

    def split(self, condition: Expr, a: Expr | bool, b: Expr | bool, frame: Frame, dtype: DType) -> Value:
        """``if_then_else``, and with a bool for an arm also ``and`` and ``or``."""
        known, terms = self.condition(condition, frame)
        if known is not None:
            if known.all():
                return self._arm(a, frame, dtype)
            if not known.any():
                return self._arm(b, frame, dtype)
            yes, no = np.flatnonzero(known), np.flatnonzero(~known)
            left, right = self._arm(a, frame.pick(yes), dtype), self._arm(b, frame.pick(no), dtype)
            return self._merge(dtype, frame.count, [(yes, left), (no, right)])
        parts: list[tuple[Ids, Value]] = []
        yes = np.flatnonzero(terms == self.terms.true)
        no = np.flatnonzero(terms == self.terms.false)
        mixed = np.flatnonzero((terms != self.terms.true) & (terms != self.terms.false))
        if yes.size:
            parts.append((yes, self._arm(a, frame.pick(yes), dtype)))
        if no.size:
            parts.append((no, self._arm(b, frame.pick(no), dtype)))
        inner, c = (frame, terms) if mixed.size == frame.count else (frame.pick(mixed), terms[mixed])
        left = self._arm(a, self.guarded(inner, c, holds=True), dtype)
        right = self._arm(b, self.guarded(inner, c, holds=False), dtype)
        chosen = self.build.choose(dtype.scalar, c[:, None], self.terms_of(left), self.terms_of(right))
        both = Value(dtype, None, chosen)
        return both if not parts else self._merge(dtype, frame.count, [*parts, (mixed, both)])

    def _arm(self, arm: Expr | bool, frame: Frame, dtype: DType) -> Value:
        if isinstance(arm, bool):
            return Value(dtype, np.full((1, 1), int(arm), dtype=np.int64))
        return self.evaluate(arm, frame)

    def _merge(self, dtype: DType, count: int, parts: Sequence[tuple[Ids, Value]]) -> Value:
        """The rows of several values put together."""
        lanes = max(value.array.shape[1] for _, value in parts)
        out: Ids = np.zeros((count, lanes), dtype=np.int64)
        if all(value.numbers is not None for _, value in parts):
            for rows, value in parts:
                out[rows] = value.array
            return Value(dtype, out)
        for rows, value in parts:
            out[rows] = self.terms_of(value)
        return Value(dtype, None, out)

    def _lazy(self, expr: Binary, frame: Frame) -> Value:
        if expr.op == "and":
            return self.split(expr.a, expr.b, False, frame, BOOL)
        return self.split(expr.a, True, expr.b, frame, BOOL)

    def _lanes_of_logic(self, op: str, a: Value, b: Value, frame: Frame, dtype: DType) -> Value:
        if a.numbers is not None and b.numbers is not None:
            return Value(dtype, a.numbers & b.numbers if op == "and" else a.numbers | b.numbers)
        x, y = self.terms_of(a), self.terms_of(b)
        self.events.note_undef(frame, f"the left operand of {op} is undef", x)
        decided = np.full((1, 1), self.terms.false if op == "and" else self.terms.true)
        chosen = self.build.choose(BOOL, x, y, decided) if op == "and" else self.build.choose(BOOL, x, decided, y)
        return Value(dtype, None, chosen)

    def _select(self, expr: Select, frame: Frame) -> Value:
        c = self.evaluate(expr.condition, frame)
        a, b = self.evaluate(expr.true_value, frame), self.evaluate(expr.false_value, frame)
        known = self.known(c)
        if known is not None:
            if a.numbers is not None and b.numbers is not None:
                return Value(expr.dtype, np.where(known != 0, a.numbers, b.numbers))
            return Value(expr.dtype, None, np.where(known != 0, self.terms_of(a), self.terms_of(b)))
        chosen = self.build.choose(expr.dtype.scalar, self.terms_of(c), self.terms_of(a), self.terms_of(b))
        return Value(expr.dtype, None, chosen)

    # ---------------------------------------------------------------------------------------------- other cases

    def _cast(self, expr: Cast, frame: Frame) -> Value:
        value = self.evaluate(expr.value, frame)
        source, target = value.dtype.scalar, expr.type.scalar
        if value.numbers is not None and not target.is_float and not (target.code == "uint" and target.bits == 64):
            if target.is_bool:
                return Value(expr.type, (value.numbers != 0).astype(np.int64))
            return Value(expr.type, fit(target, value.numbers, index=False)[0])
        return Value(expr.type, None, self.build.cast(source, target, self.terms_of(value)))

    def _ramp(self, expr: Ramp, frame: Frame) -> Value:
        base, stride = self.evaluate(expr.base, frame), self.evaluate(expr.stride, frame)
        x, y = self.known(base), self.known(stride)
        dtype = expr.dtype.scalar
        lanes = np.arange(expr.lanes, dtype=np.int64)[None, :]
        if x is not None and y is not None and not (dtype.code == "uint" and dtype.bits == 64):
            exact = x.astype(object) + y.astype(object) * lanes if dtype.bits == 64 else x + y * lanes
            numbers, trouble = fit(dtype, exact, index=is_index(expr, self.data))
            if trouble is not None:
                self.events.note(frame, "a ramp overflows", trouble)
            return Value(expr.dtype, numbers)
        if is_index(expr, self.data):
            raise Refused(f"a ramp of {dtype} whose first lane or stride is no number")
        steps = self.build.binary("mul", dtype, self.terms_of(stride), self.terms.constants(dtype, lanes))
        return Value(expr.dtype, None, self.build.binary("add", dtype, self.terms_of(base), steps))

    def _shuffle(self, expr: Shuffle, frame: Frame) -> Value:
        parts = [self.evaluate(v, frame) for v in expr.vectors]
        rows = max(p.array.shape[0] for p in parts)
        whole = [np.broadcast_to(self.terms_of(p), (rows, p.dtype.lanes)) for p in parts]
        return Value(expr.dtype, None, np.concatenate(whole, axis=1)[:, list(expr.indices)])

    def indices(self, name: str, indices: Sequence[Expr], frame: Frame) -> list[Ids]:
        """Known indices of an access."""
        return [self.number(e, frame, "undef index", f"an index of {name}") for e in indices]

    def _load(self, expr: Load, frame: Frame) -> Ids:
        found = self._gathered(expr, frame)
        return found if found is not None else self.access.load(frame, expr.buffer, *self.accessed(expr, frame))

    def _gathered(self, expr: Load, frame: Frame) -> Ids | None:
        """The terms at indices that depend on data; ``None`` if none does."""
        if not any(is_data(e, self.data) for e in expr.indices) or expr.predicate is not None:
            return None
        values = [self.evaluate(e, frame) for e in expr.indices]
        numbers = [self.known(v) for v in values]
        if all(n is not None for n in numbers) or any((v.array == UNDEF_ID).any() for v in values if v.ids is not None):
            return None
        indices = [(v.array, False) if n is None else (n, True) for v, n in zip(values, numbers, strict=True)]
        return gathers.load(self.access, frame, expr.buffer, indices, expr.indices[-1].dtype.lanes, expr.dtype.scalar)

    def accessed(self, node: Load | Store, frame: Frame) -> tuple[list[Ids], int, Ids | None]:
        """What is accessed: known indices, how many elements, and which of them if there is a mask."""
        indices = self.indices(node.buffer.name, node.indices, frame)
        mask = None if node.predicate is None else self.number(node.predicate, frame, "undef mask", "a mask")
        return indices, node.indices[-1].dtype.lanes if node.indices else 1, mask

    def _call(self, expr: Call, frame: Frame) -> Value:
        info = PURE_CALLS.get(expr.op)
        if expr.op == "ldexp" and self.build.scales:
            y, n = (self.terms_of(self.evaluate(a, frame)) for a in expr.args)
            return Value(expr.type, None, self.build.ldexp(expr.type.scalar, y, n))
        if info is None:
            return Value(expr.type, None, self.calls.call(expr, frame, self))
        if len(expr.args) != info.arity:
            raise Refused(f"{expr.op} takes {info.arity} arguments, not {len(expr.args)}")
        args = [self.evaluate(a, frame) for a in expr.args]
        if expr.op == "likely":
            return args[0]
        source, target = expr.args[0].dtype.scalar, expr.type.scalar
        if expr.op == "reinterpret":
            if source is target:
                return args[0]
            if source.nbytes != target.nbytes:
                raise Refused(f"reinterpret of {expr.args[0].dtype} as {expr.type} changes the width of lanes")
            return Value(expr.type, None, self.build.reinterpret(target, self.terms_of(args[0])))
        return Value(expr.type, None, self.build.call(expr.op, source, target, [self.terms_of(a) for a in args]))


__all__ = ["Evaluator", "UndefinedRun"]
