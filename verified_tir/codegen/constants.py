"""Which constants LLVM may find where, in a program that may have none there.

Constants come by way of lets and of memory: what was stored to a local buffer, or by an iteration that is unrolled.
LLVM finds others: ``0.0 if x <= 0.0 and x >= 0.0``, ``max(min(x, 1.0), 1.0)``, an integer times 0.  So what counts is
whether it *may* find one: wherever values are narrowed (by comparisons, by a minimum in a maximum, by the range of a
type) those that they are narrowed to count as found.
"""

from __future__ import annotations

from functools import cache
from typing import Final, TypeAlias, final

from verified_tir.codegen.definitions import ORDERS, Definitions, is_literal
from verified_tir.codegen.leaves import Leaves
from verified_tir.codegen.narrowing import narrowed
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Expr,
    FloatImm,
    IfThenElse,
    LetExpr,
    Load,
    Select,
    Shuffle,
    Undef,
    Var,
)
from verified_tir.ir.floats import bits_of
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import Stmt, Store
from verified_tir.ir.visit import walk
from verified_tir.semantics.intrinsics import EXPANDED

Found: TypeAlias = frozenset[int | None]
"""The bits, without the sign, of the constants that a value may be, as far as LLVM can tell; ``None`` is any constant.

Signs do not count since LLVM moves negations about; ``None`` is in every set that is asked for, so that it is found.
"""
_NONE: Final[Found] = frozenset()
_ANY: Final[Found] = frozenset({None})


def meet(a: Found, b: Found, *, alike: bool) -> bool:
    """Whether two values may be one constant.

    :param alike: whether they have one type; numbers of different types may be one another's conversion.
    """
    return bool(a and b) and (not alike or None in a or None in b or bool(a & b))


def magnitude(dtype: DType, value: float) -> int:
    """The bits of a float without its sign."""
    return bits_of(dtype, value) & ((1 << (dtype.bits - 1)) - 1)


@cache
def magnitudes(dtype: DType, value: float) -> Found:
    """What is asked for to find a constant, of either sign."""
    return frozenset({None, magnitude(dtype, value)})


@final
class Constants:
    """Which constants may come where: by way of lets, and of memory whatever the addresses are.

    Integers and bools always count: what LLVM knows of them is too much to follow.  A float is *open* above (``"max"``)
    or below (``"min"``) if LLVM cannot know a bound of it there; then the maximum, or minimum, of it and a constant is
    no constant.
    """

    def __init__(self, body: Stmt, definitions: Definitions, leaves: Leaves) -> None:
        self._definitions = definitions
        self._leaves = leaves
        stores = [s for those in definitions.stored.values() for s in those]
        orders: list[Binary] = []
        equal: list[tuple[Expr, Expr]] = []
        scalars: dict[Var, set[object]] = {}
        for n in walk(body):
            match n:
                case Store(buffer=buffer) | Load(buffer=buffer):
                    scalars.setdefault(buffer.data, set()).add(buffer.dtype.scalar)
                case Binary(op="eq" | "ne", a=a, b=b):
                    equal += [(e, other) for e, other in ((a, b), (b, a)) if not is_literal(e)]
                case Binary(op=op) if op in ORDERS or op in ("min", "max"):
                    orders.append(n)
        self._held: dict[Node, Found] = {}
        self._memo: dict[Expr, Found] = {}
        self._opens: dict[tuple[Expr, str], bool] = {}
        self.several = {data for data, types in scalars.items() if len(types) > 1}
        self._narrowed = narrowed(definitions, leaves, orders, equal)
        self._bounded = {(place, kind) for place in self._narrowed.bounded for kind in ("min", "max")}
        same = [(definitions.place(e), other) for e, other in equal]  # LLVM puts one for the other
        same += self._narrowed.same
        for place in self._narrowed.solved:
            self._may_be(place, _ANY)
        changed = True
        while changed:
            changed, self._memo, self._opens = False, {}, {}
            stores.reverse()  # there and back, as values may be copied in either order
            for s in stores:
                changed |= self._may_be(s.buffer.data, self.of(s.value)) | self._bounds(s)
            for place, other in same:
                changed |= self._may_be(place, self.of(other))
        self._memo, self._opens = {}, {}

    def _may_be(self, place: Node, constants: Found) -> bool:
        """A value may be some constants, too; whether that is new."""
        if constants and place in self.several:
            constants = _ANY  # the bits of another type
        old = self._held.get(place, _NONE)
        self._held[place] = old | constants
        return not constants <= old

    def _bounds(self, s: Store) -> bool:
        """Memory may hold something bounded; whether that is new.  (Of constants themselves ``_may_be`` knows.)"""
        if not s.value.dtype.is_float or is_literal(s.value):
            return False
        before = len(self._bounded)
        self._bounded |= {(s.buffer.data, kind) for kind in ("min", "max") if not self._open(s.value, kind)}
        return len(self._bounded) > before

    def _open(self, e: Expr, kind: str) -> bool:
        """Whether LLVM cannot know a bound of a float, above or below."""
        found = self._opens.get((e, kind))
        if found is None:
            found = self._opens[e, kind] = self._is_open(self._definitions.get(e), kind)
        return found

    def _is_open(self, e: Expr, kind: str) -> bool:
        if (self._definitions.place(e), kind) in self._bounded or self._said_of(e, self._narrowed.bounded_leaves):
            return False
        match e:
            case Load(buffer=buffer):
                return buffer.data not in self.several
            case Var():
                return True
            case Broadcast(value=value) | LetExpr(body=value):
                return self._open(value, kind)
            case Cast(value=value):
                return value.dtype.is_float and self._open(value, kind)
            case Binary(op="min" | "max" as op, a=a, b=b):
                return op == kind and (self._open(a, kind) or self._open(b, kind))
            case Binary(op="add" | "sub" | "div", a=a, b=b):
                return self._unknown(a) or self._unknown(b)
            case Binary(op="mul", a=a, b=b) if self._leaves.of(a).isdisjoint(self._leaves.of(b)):
                return self._unknown(a) or self._unknown(b)
        return False  # among others squares, which are not negative

    def _said_of(self, e: Expr, leaves: frozenset[Expr]) -> bool:
        """Whether a float is computed of one of some leaves, and so may be what was compared, in other words."""
        return bool(leaves) and isinstance(e, (Binary, Call, Cast)) and not self._leaves.of(e).isdisjoint(leaves)

    def _unknown(self, e: Expr) -> bool:
        return self._open(e, "min") and self._open(e, "max")

    def of(self, e: Expr) -> Found:
        """The constants that an expression may be."""
        if e not in self._memo:
            said = e.dtype.is_float and self._said_of(e, self._narrowed.solved_leaves)
            self._memo[e] = _ANY if said or not e.dtype.is_float else self._of(e) | self._held.get(e, _NONE)
        return self._memo[e]

    def may_be_zero(self, e: Expr) -> bool:
        """Whether an expression may be a zero of floats, known as one."""
        return e.dtype.is_float and bool(self.of(e) & magnitudes(e.dtype.scalar, 0.0))

    def _of(self, e: Expr) -> Found:
        match e:
            case FloatImm(value=value):
                return frozenset({magnitude(e.dtype.scalar, value)})
            case Load(buffer=buffer):
                return self._held.get(buffer.data, _NONE)
            case Var():
                bound = self._definitions.get(e)
                if bound is not e:
                    return self.of(bound)
                return _NONE
            case LetExpr(body=body):
                return self.of(body)
            case Broadcast(value=value):
                return self.of(value)
            case Select(true_value=a, false_value=b) | IfThenElse(true_value=a, false_value=b):
                return self.of(a) | self.of(b)
            case Binary(a=a, b=b):
                return self._of_operator(e, self.of(a), self.of(b))
            case Cast(value=value):
                return _ANY if self.of(value) else _NONE
            case Call(op=op, args=args):
                return _ANY if op in EXPANDED or any(self.of(a) for a in args) else _NONE
            case Shuffle(vectors=vectors):
                return frozenset().union(*(self.of(v) for v in vectors))
            case Undef():
                return _ANY  # LLVM may choose
        return _NONE

    def _of_operator(self, e: Binary, x: Found, y: Found) -> Found:
        if x and y:
            return x | y if e.op in ("min", "max") else _ANY
        if e.op in ("min", "max"):
            if not self._open(e.b if x else e.a, e.op):
                return x | y
            return y & magnitudes(e.dtype.scalar, float("inf"))  # nothing is beyond infinity
        zeros = magnitudes(e.dtype.scalar, 0.0)
        return _ANY if e.op == "mul" and (x | y) & zeros and not self._unknown(e.b if x else e.a) else _NONE


__all__ = ["Constants", "Found", "magnitudes", "meet"]
