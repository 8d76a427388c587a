"""Terms: the values of a symbolic run, hash-consed in bulk.

A term is a row of a table of numpy columns: a code (operator and type), three operands, and facts.  Its number, the
row, is its identity: two runs that share a table agree on an element's bits wherever they hold the same number.
Operands have smaller numbers than what is built from them.  Nothing makes a Python object for a term.

Codes are keyed by operator, type *and* signedness; constants by type and bits, so that ``0.0``, ``-0.0``, ``0``,
``False`` and the zeros of other widths are different terms.  There is one NaN, hence one NaN constant for each type.

Term 0 is ``undef``.  One number serves for all: an operation on it is it again (operators are strict), and the
comparison of memories never asks whether two undefs are equal.

*Facts* are over-approximations, kept for each term: it may be undef, a NaN, infinite, a negative zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias, final

import numpy as np
import numpy.typing as npt

from verified_tir.ir.dtype import BOOL, VOID, DType
from verified_tir.ir.float_bits import float_of, round_to
from verified_tir.ir.floats import bits_of
from verified_tir.semantics.values import Number, wrap

Ids: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.uint8]

UNDEF_ID: Final = 0
MAY_UNDEF: Final = 1
MAY_NAN: Final = 2
MAY_INF: Final = 4
MAY_NEGATIVE_ZERO: Final = 8
ANY_FLOAT: Final = MAY_NAN | MAY_INF | MAY_NEGATIVE_ZERO

_MIX = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93], dtype=np.uint64)


class TooManyTerms(Exception):
    """The table is full: the programs execute more than was allowed."""


@final
class Terms:
    """A table of terms.  ``limit`` is the most that it may hold."""

    def __init__(self, limit: int = 1 << 24) -> None:
        self.limit = limit
        self.count = 0
        self._capacity = 1 << 12
        self.columns: Ids = np.zeros((4, self._capacity), dtype=np.int64)  # code, first, second, third operand
        self.flags: Flags = np.zeros(self._capacity, dtype=np.uint8)
        self._slots = _slots(self._capacity)
        self._codes: dict[tuple[str, DType], int] = {}
        self.code_op: list[str] = []
        self.code_dtype: list[DType] = []
        self.const_code: npt.NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._numbers: dict[tuple[DType, Number, str], int] = {}
        self._sequences: dict[int, tuple[int, int]] = {}
        found, _ = self.intern(self.code("undef", VOID), 0, 0, 0)
        self.flags[found] = MAY_UNDEF
        self.true = self.constant(BOOL, True)
        self.false = self.constant(BOOL, False)

    # ------------------------------------------------------------------------------------------------ codes

    def code(self, op: str, dtype: DType) -> int:
        """The number of an operator on a scalar type."""
        key = (op, dtype)
        found = self._codes.get(key)
        if found is None:
            found = self._codes[key] = len(self.code_op)
            self.code_op.append(op)
            self.code_dtype.append(dtype)
            self.const_code = np.append(self.const_code, op == "const")
        return found

    def op_of(self, term: int) -> str:
        return self.code_op[int(self.columns[0, term])]

    def dtype_of(self, term: int) -> DType:
        """The type in the term's code: of its operands for a comparison, else of its value."""
        return self.code_dtype[int(self.columns[0, term])]

    def operands(self, term: int) -> tuple[int, int, int]:
        _, a, b, c = self.columns[:, term].tolist()
        return a, b, c

    def below(self, term: int) -> tuple[int, ...]:
        """The terms that a term is computed from."""
        op = self.op_of(term)
        return () if is_leaf(op) else self.operands(term)[: arity(op)]

    # ------------------------------------------------------------------------------------------- hash-consing

    def intern(
        self, code: Ids | int, a: Ids | int, b: Ids | int = 0, c: Ids | int = 0
    ) -> tuple[Ids, npt.NDArray[np.bool_]]:
        """The numbers of the terms with these columns (broadcast against each other), and which of them are new.

        Among equal rows of one call all get one number; each of them is called new if it was not there before.

        :raises TooManyTerms: at the limit.
        """
        arrays = np.broadcast_arrays(code, a, b, c)
        shape = arrays[0].shape
        rows: Ids = np.empty((4, arrays[0].size), dtype=np.int64)
        for k, column in enumerate(arrays):
            rows[k] = column.reshape(-1)
        before = self.count
        ids = self._find_or_add(rows)
        return ids.reshape(shape), (ids >= before).reshape(shape)

    def _find_or_add(self, rows: Ids) -> Ids:
        size = rows.shape[1]
        if self.count + size > self._capacity:
            self._grow(self.count + size)
        mask = np.int64(len(self._slots) - 1)
        at = _hash(rows) & mask
        result: Ids = np.empty(size, dtype=np.int64)
        waiting: Ids = np.arange(size, dtype=np.int64)
        step = 0
        while waiting.size:
            place = at[waiting]
            held = self._slots[place]
            empty = held < 0
            if empty.any():
                free, spots = waiting[empty], place[empty]
                self._slots[spots] = free + self._capacity  # a claim; of several claimants one stays
                won = self._slots[spots] == free + self._capacity
                winners, spots = free[won], spots[won]
                fresh = np.arange(self.count, self.count + winners.size, dtype=np.int64)
                self.columns[:, fresh] = rows[:, winners]
                self.count += int(winners.size)
                self._slots[spots] = fresh
                held = self._slots[place]
            same = (self.columns[:, held] == rows[:, waiting]).all(axis=0)
            result[waiting[same]] = held[same]
            waiting = waiting[~same]
            step += 1  # triangular probing: no long clusters, and still every slot in turn
            at[waiting] = (at[waiting] + step) & mask
        return result

    def reserve(self, count: int) -> None:
        """Make room for so many more terms, if the limit allows it, so that the table need not grow step by step."""
        if self._capacity < self.count + count <= self.limit:
            self._grow(self.count + count)

    def _grow(self, needed: int) -> None:
        if needed > self.limit:
            raise TooManyTerms(f"more than {self.limit} terms")
        while self._capacity < needed:
            self._capacity *= 2
        columns = np.zeros((4, self._capacity), dtype=np.int64)
        columns[:, : self.count] = self.columns[:, : self.count]
        flags = np.zeros(self._capacity, dtype=np.uint8)
        flags[: self.count] = self.flags[: self.count]
        self.columns, self.flags = columns, flags
        self._slots = _slots(self._capacity)
        mask = np.int64(len(self._slots) - 1)
        hashed = ~np.isin(self.columns[0, : self.count], list(self._sequences))
        waiting: Ids = np.flatnonzero(hashed)
        at: Ids = np.zeros(self.count, dtype=np.int64)
        at[waiting] = _hash(self.columns[:, waiting]) & mask
        step = 0
        while waiting.size:  # all are different: only collisions move on
            place = at[waiting]
            empty = self._slots[place] < 0
            self._slots[place[empty]] = waiting[empty]
            lost = self._slots[place] != waiting
            waiting = waiting[lost]
            step += 1
            at[waiting] = (at[waiting] + step) & mask

    def sequence(self, op: str, dtype: DType, count: int) -> Ids:
        """The terms ``op(0) … op(count - 1)``, the same ones for the same ``op`` and type.

        They are in no hash table, so nothing else may make terms with this operator.
        """
        code = self.code(op, dtype)
        if code not in self._sequences:
            if self.count + count > self._capacity:
                self._grow(self.count + count)
            first, self.count = self.count, self.count + count
            self.columns[0, first : self.count] = code
            self.columns[1, first : self.count] = np.arange(count)
            self.flags[first : self.count] = ANY_FLOAT if dtype.is_float else 0
            self._sequences[code] = (first, count)
        first, there = self._sequences[code]
        assert there == count, (op, there, count)
        return np.arange(first, first + count, dtype=np.int64)

    # ---------------------------------------------------------------------------------------------- constants

    def constant(self, dtype: DType, value: Number) -> int:
        known = self._numbers.get((dtype, value, str(value)))  # the text tells signs of zero and types apart
        if known is None:
            known = self._numbers[dtype, value, str(value)] = self._constant(dtype, value)
        return known

    def _constant(self, dtype: DType, value: Number) -> int:
        if dtype.is_float:
            bits = bits_of(dtype, float(value))
            payload = bits - (1 << 64) if bits >= 1 << 63 else bits
        else:
            payload = int(value) - (1 << 64) if int(value) >= 1 << 63 else int(value)
        found = int(self.intern(self.code("const", dtype), payload)[0])
        self.flags[found] = _float_flags(round_to(dtype, float(value))) if dtype.is_float else 0
        return found

    def constants(self, dtype: DType, values: Ids) -> Ids:
        """The constants of an integer type or bool with these values."""
        return self.intern(self.code("const", dtype), values)[0]

    def is_const(self, ids: Ids) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = self.const_code[self.columns[0, ids]]
        return found

    def payload(self, ids: Ids) -> Ids:
        """Of constants: the integers' values (those of uint64 modulo 2**64), the floats' bits."""
        found: Ids = self.columns[1, ids]
        return found

    def value(self, term: int) -> Number:
        """Of a constant: its value as a Python number."""
        dtype, payload = self.dtype_of(term), int(self.columns[1, term])
        if dtype.is_float:
            return float_of(dtype, payload & ((1 << dtype.bits) - 1))
        return bool(payload) if dtype.is_bool else wrap(dtype, payload)

    def result_dtype(self, term: int) -> DType:
        """The type of a term's value."""
        op, dtype = self.op_of(term), self.dtype_of(term)
        return BOOL if op in ("eq", "ne", "lt", "le", "isnan", "isinf", "isfinite") else dtype


def _slots(capacity: int) -> npt.NDArray[np.int32]:
    """An empty hash table; a quarter full at most, since the slowest of many look-ups counts."""
    return np.full(capacity * 4, -1, dtype=np.int32)


def _float_flags(value: float) -> int:
    if value != value:  # noqa: PLR0124 (the test for NaN)
        return MAY_NAN
    if value in (float("inf"), float("-inf")):
        return MAY_INF
    return MAY_NEGATIVE_ZERO if value == 0 and str(value)[0] == "-" else 0


def _hash(rows: Any) -> Ids:
    """Sixty-four bits of the four columns."""
    with np.errstate(over="ignore"):
        mixed = rows[0].astype(np.uint64) * _MIX[0]
        for k in (1, 2, 3):
            mixed ^= mixed >> np.uint64(29)
            mixed = (mixed + rows[k].astype(np.uint64)) * _MIX[k]
        mixed ^= mixed >> np.uint64(32)
    hashed: Ids = (mixed >> np.uint64(1)).astype(np.int64)
    return hashed


_LEAVES = frozenset(
    {"const", "undef", "world", "left", "result", "with", "after", "if", "pair", "contents", "bits", "read"}
)


def is_leaf(op: str) -> bool:
    """Whether nothing is known about terms with this operator beyond their identity."""
    return op in _LEAVES or op.startswith(("input:", "call ", "text ", "pure ", "pointer "))


def arity(op: str) -> int:
    """How many operands a term with this operator has."""
    if op in ("ite", "fma", "part"):
        return 3
    if op in ("not", "reinterpret", "is_undef") or op.startswith("cast:"):
        return 1
    binary = (
        "add", "sub", "mul", "div", "floordiv", "floormod", "truncdiv", "truncmod", "min", "max", "bitand", "bitor",
        "bitxor", "shl", "shr", "eq", "lt", "le", "pow", "atan2", "ldexp", "join",
    )  # fmt: skip
    return 2 if op in binary or op.startswith("overflow ") else 1


def beneath(roots: Iterable[int], below: Callable[[int], Iterable[int]], most: int = 1 << 60) -> list[int]:
    """Some terms and those beneath them, in the order of their numbers; beyond ``most``, not all of them.

    :param below: what a term is computed from.
    """
    seen: set[int] = set()
    stack = list(roots)
    while stack and len(seen) <= most:
        term = stack.pop()
        if term not in seen:
            seen.add(term)
            stack.extend(below(term))
    return sorted(seen)
