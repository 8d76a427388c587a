"""Lanes: numbers that are known, and nodes that wait to become terms.

The executor makes one Python call for each instruction, the tables of terms are fast only in bulk.  So operations on
data are first written down as *nodes*, hash-consed, and turned into terms level by level, when somebody asks.

A *lane* is one scalar of a value, as a Python integer: the bits of a known integer or an address if it is not negative,
else ``~n`` for node n.  Floats are nodes always.  Node 0 is undef; poison is the same one: both may be refined to
anything, and operators are strict in both.  (LLVM knows more about undef.  Here it is less defined than it might be,
which can only cost a proof.)  ``freeze`` is no operation for the same reason.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

import numpy as np

from verified_tir.ir.dtype import BOOL, VOID, DType
from verified_tir.ir.float_bits import float_of
from verified_tir.semantics.values import wrap
from verified_tir.validate.memory import Refused
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import MAY_UNDEF, UNDEF_ID, Ids

Lane: TypeAlias = int
UNDEF: Final[Lane] = -1

_WIDTHS: Final = (8, 16, 32, 64)
OVERFLOWS: Final = {
    "add": "the sum, as a number, is none of the type",
    "sub": "so is the difference",
    "mul": "so is the product",
    "shl": "so is the first operand times two to the power of the second, which is less than the width",
    "disjoint": "some bit is set in both operands",
    "inexact": "the quotient has a remainder",
    "lost": "the second operand is a shift to the right that loses set bits of the first",
}
"""Conditions of poison and of ``llvm.…with.overflow``, by name."""
_Code: TypeAlias = tuple[str, str, DType, DType]


def integer(bits: int, code: str = "int") -> DType:
    """The type of integers of a width; bool for 1.

    :raises Refused: for a width that no element has.
    """
    if bits == 1:
        return BOOL
    if bits not in _WIDTHS:
        raise Refused(f"LLVM IR: arithmetic with data in i{bits}")
    return DType("int", bits) if code == "int" else DType("uint", bits)


def signed(bits: int, number: int) -> int:
    return number - (1 << bits) if number >> (bits - 1) else number


@final
class Graph:
    """The nodes of one run; ``dtypes`` are the types of their values."""

    def __init__(self, build: Builder) -> None:
        self.build, self.terms = build, build.terms
        self.dtypes: list[DType] = [VOID]
        self.rows: list[tuple[int, int, int, int]] = [(-1, 0, 0, 0)]  # code, operands
        self._levels: list[int] = [0]
        self._done = 1
        self._term: Ids = np.zeros(1 << 10, dtype=np.int64)
        self._codes: dict[_Code, int] = {}
        self.code_of: list[_Code] = []
        self._memo: dict[tuple[int, int, int, int], int] = {}
        self._leaves: dict[int, int] = {UNDEF_ID: 0}

    # ------------------------------------------------------------------------------------------------- making

    def leaf(self, term: int, dtype: DType) -> Lane:
        """A term that is there already."""
        found = self._leaves.get(term)
        if found is None:
            found = self._leaves[term] = self._append((-1, term, 0, 0), 0, dtype)
        return ~found

    def constant(self, dtype: DType, bits: int) -> Lane:
        if dtype.is_float:
            return self.leaf(self.terms.constant(dtype, float_of(dtype, bits)), dtype)
        return self.leaf(self.terms.constant(dtype, bool(bits) if dtype.is_bool else wrap(dtype, bits)), dtype)

    def node(self, kind: str, op: str, dtype: DType, result: DType, a: int, b: int = 0, c: int = 0) -> Lane:
        """The node of an operation on nodes; its lane."""
        key = (kind, op, dtype, result)
        code = self._codes.get(key)
        if code is None:
            code = self._codes[key] = len(self.code_of)
            self.code_of.append(key)
        row = (code, a, b, c)
        found = self._memo.get(row)
        if found is None:
            levels, done = self._levels, self._done
            level = 1 + max(levels[a] if a >= done else 0, levels[b] if b >= done else 0, levels[c] if c >= done else 0)
            found = self._memo[row] = self._append(row, level, result)
        return ~found

    def _append(self, row: tuple[int, int, int, int], level: int, dtype: DType) -> int:
        self.rows.append(row)
        self._levels.append(level)
        self.dtypes.append(dtype)
        return len(self.rows) - 1

    def operation(self, lane: Lane) -> tuple[_Code, tuple[int, int, int]] | None:
        """How a node is computed, and the nodes that it is computed from; ``None`` for terms and numbers."""
        if lane >= 0:
            return None
        code, a, b, c = self.rows[~lane]
        return None if code < 0 else (self.code_of[code], (a, b, c))

    def at(self, lane: Lane, dtype: DType) -> int:
        """The node of a lane at a type of its width; integers are taken as signed or not as the type says."""
        if lane >= 0:
            return ~self.constant(dtype, lane)
        node = ~lane
        own = self.dtypes[node]
        if own is dtype or node == 0:
            return node
        if own.is_int and dtype.is_int and own.bits == dtype.bits:
            made = self.operation(lane)
            if made is not None and made[0][0] == "cast":
                (_, _, source, _), (inner, _, _) = made
                if source.is_bool or (
                    source.is_int and source.bits < own.bits
                ):  # extended, then read with another sign
                    return ~self.node("cast", "", source, dtype, inner)
                if source.is_int and source is dtype:
                    return inner
            return ~self.node("cast", "", own, dtype, node)
        if own.bits == dtype.bits or own.nbytes == dtype.nbytes:
            return ~self.reinterpret(lane, dtype)
        raise Refused(f"LLVM IR: a {own} is taken for a {dtype}")

    def binary(self, op: str, dtype: DType, a: Lane, b: Lane) -> Lane:
        result = BOOL if op in ("eq", "lt", "le") else dtype
        return self.node("binary", op, dtype, result, self.at(a, dtype), self.at(b, dtype))

    def negate(self, a: Lane) -> Lane:
        return 1 - a if a >= 0 else self.node("negate", "", BOOL, BOOL, ~a)

    def choose(self, dtype: DType, condition: Lane, a: Lane, b: Lane) -> Lane:
        if condition >= 0:
            return a if condition else b
        return self.node("choose", "", dtype, dtype, ~condition, self.at(a, dtype), self.at(b, dtype))

    def both(self, a: Lane, b: Lane) -> Lane:
        """Conjunction of conditions that are defined; for path conditions."""
        if a >= 0 or b >= 0:
            return (b if a else 0) if a >= 0 else (a if b else 0)
        return self.choose(BOOL, a, b, 0)

    def cast(self, source: DType, target: DType, a: Lane) -> Lane:
        node = self.at(a, source)
        return ~node if source is target else self.node("cast", "", source, target, node)

    def call(self, op: str, source: DType, target: DType, *args: Lane) -> Lane:
        return self.node("call", op, source, target, *[self.at(a, source) for a in args])

    def overflow(self, op: str, dtype: DType, a: Lane, b: Lane) -> Lane:
        """The condition under which ``a op b`` leaves ``dtype`` (:data:`OVERFLOWS` says when).

        Only the questions to the solver understand it: in the table of terms it is a call that nothing is known about.
        """
        return self.node("overflow", f"overflow {op} {dtype}", dtype, BOOL, self.at(a, dtype), self.at(b, dtype))

    def is_undef(self, lane: Lane) -> Lane:
        return self.node("is_undef", "", BOOL, BOOL, ~lane) if self.doubtful(lane) else 0

    def poison_if(self, condition: Lane, dtype: DType, value: Lane) -> Lane:
        return self.choose(dtype, condition, UNDEF, value)

    def reinterpret(self, lane: Lane, dtype: DType) -> Lane:
        """The same bits at another type of the same width.  There and back is nothing: bits are only copied."""
        if lane == UNDEF:
            return lane
        if lane >= 0:
            return self.constant(dtype, lane)
        made = self.operation(lane)
        if made is not None and made[0][0] == "reinterpret":
            inner = made[1][0]
            return ~self.at(~inner, dtype)
        own = self.dtypes[~lane]
        if own is dtype:
            return lane
        if own.is_int and dtype.is_int:
            return ~self.at(lane, dtype)
        term = self.known_term(lane)
        if term is not None and bool(self.terms.is_const(np.array(term))):
            bits = int(self.terms.payload(np.array(term))) & ((1 << own.bits) - 1)
            return bits if dtype.is_int else self.constant(dtype, bits)
        return self.node("reinterpret", "", own, dtype, ~lane)

    def known_term(self, lane: Lane) -> int | None:
        """The term of a lane that was a term from the beginning."""
        code, term, _, _ = self.rows[~lane]
        return term if code < 0 else None

    # ---------------------------------------------------------------------------------------------- to terms

    def flush(self) -> None:
        first, last = self._done, len(self.rows)
        if first == last:
            return
        while len(self._term) < last:
            self._term = np.concatenate([self._term, np.zeros_like(self._term)])
        rows = np.array(self.rows[first:last], dtype=np.int64).reshape(-1, 4)
        levels = np.array(self._levels[first:last], dtype=np.int64)
        order = np.lexsort((rows[:, 0], levels))
        keys = levels[order] * (len(self.code_of) + 1) + rows[order, 0] + 1
        starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
            chosen = order[start:end]
            code = int(rows[chosen[0], 0])
            if code < 0:
                self._term[first + chosen] = rows[chosen, 1]
            else:
                operands = [self._term[rows[chosen, k]] for k in (1, 2, 3)]
                self._term[first + chosen] = self._compute(self.code_of[code], *operands)
        self._done = last

    def _compute(self, code: _Code, a: Ids, b: Ids, c: Ids) -> Ids:
        kind, op, dtype, result = code
        build = self.build
        match kind:
            case "binary":
                return build.binary(op, dtype, a, b)
            case "negate":
                return build.negate(a)
            case "choose":
                return build.choose(dtype, a, b, c)
            case "cast":
                return build.cast(dtype, result, a)
            case "reinterpret":
                return self.bits(result, a)
            case "call":
                return build.call(op, dtype, result, [a, b, c][: 3 if op == "fma" else 1])
            case "ldexp":
                return build.ldexp(dtype, a, b)
            case "is_undef":
                return np.where(a == UNDEF_ID, self.terms.true, build.opaque("is_undef", BOOL, a))
            case _:
                return self.overflows(op, dtype, a, b)

    def bits(self, target: DType, a: Ids) -> Ids:
        """Terms read at another type of the same width; a constant NaN has the bits that LLVM gives it."""
        made = self.build.reinterpret(target, a)
        flat, given = made.reshape(-1), a.reshape(-1)
        for k in np.flatnonzero(self.terms.is_const(given)).tolist():
            bits = int(self.terms.payload(given[k])) & ((1 << target.bits) - 1)
            value = float_of(target, bits) if target.is_float else wrap(target, bits)
            flat[k] = self.terms.constant(target, value)
        return flat.reshape(made.shape)

    def overflows(self, op: str, dtype: DType, a: Ids, b: Ids) -> Ids:
        """The terms of conditions of overflow; ``dtype`` is the operands'."""
        terms = self.terms
        made = np.where((a == UNDEF_ID) | (b == UNDEF_ID), UNDEF_ID, self.build.opaque(op, BOOL, a, b))
        flat, x, y = made.reshape(-1), a.reshape(-1), b.reshape(-1)
        for k in np.flatnonzero(terms.is_const(x) & terms.is_const(y)).tolist():
            found = overflows(op.split()[1], dtype, int(terms.value(int(x[k]))), int(terms.value(int(y[k]))))
            flat[k] = terms.true if found else terms.false
        return flat.reshape(made.shape)

    def term(self, lane: Lane, dtype: DType) -> int:
        node = self.at(lane, dtype)
        self.flush()
        return int(self._term[node])

    def term_array(self, nodes: list[int]) -> Ids:
        self.flush()
        found: Ids = self._term[np.array(nodes, dtype=np.int64)]
        return found

    def settled(self, lane: Lane) -> Lane:
        """The number of a lane, if its term is a constant integer or bool; else the lane as it is."""
        if lane >= 0 or lane == UNDEF:
            return lane
        self.flush()
        term = int(self._term[~lane])
        if term == UNDEF_ID:
            return UNDEF
        dtype = self.dtypes[~lane]
        if dtype.is_float or self.terms.op_of(term) != "const":
            return lane
        return int(self.terms.value(term)) & ((1 << dtype.bits) - 1)

    def doubtful(self, lane: Lane) -> bool:
        if lane >= 0:
            return False
        self.flush()
        return bool(self.terms.flags[self._term[~lane]] & MAY_UNDEF)


def overflows(kind: str, dtype: DType, x: int, y: int) -> bool:
    """The conditions of :data:`OVERFLOWS`, of numbers."""
    match kind:
        case "disjoint":
            return x & y != 0
        case "lost":
            return x & ((1 << y) - 1) != 0
        case "inexact":
            return y != 0 and abs(x) % abs(y) != 0
    exact = {"add": int.__add__, "sub": int.__sub__, "mul": int.__mul__, "shl": int.__lshift__}[kind](x, y)
    return not dtype.min_value <= exact <= dtype.max_value
