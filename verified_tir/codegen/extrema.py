"""Minima and maxima that LLVM would fold wrongly.

    max(max(c, x), c)        where x is NaN: the inner maximum is NaN, the outer one is c

LLVM's InstCombine takes ``select (fcmp ogt a, b), a, b`` with a constant on one side for a maximum, and folds the outer
one of two with the same constant away (``foldSPFofSPF``, still so in LLVM 22).  That is wrong if the inner one passes a
NaN on, or the other zero: if its *first* operand is the constant.  Constants come to such places by way of memory, too:
what was stored to a local buffer, or by an iteration that is unrolled.

So this looks for the constants that may come to the first operand of a minimum or maximum (of any select that is one),
and for those that may come to the second operand of another.  Where they meet, the first kind is compared by the bits
of its operands (``operators.ordered``), in which LLVM sees no maximum.  Programs that need it are rare.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
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
    Select,
    Shuffle,
    Var,
)
from verified_tir.ir.floats import bits_of
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import If, LetStmt, Stmt, Store
from verified_tir.ir.visit import walk

Constants: TypeAlias = frozenset[int | None]
"""The bits of the constants that a value may be, as far as LLVM can tell; ``None`` is any constant."""
_NONE: Final[Constants] = frozenset()
_ANY: Final[Constants] = frozenset({None})


@final
@dataclass(frozen=True, slots=True)
class _Extremum:
    """``node`` compares ``first`` to ``second``; the second is the result where the comparison is false."""

    node: Expr
    kind: str
    first: Expr
    second: Expr


def misfolded(body: Stmt) -> frozenset[Expr]:
    """The minima, maxima and comparisons of floats that are to be compared by their bits."""
    found = [x for node in walk(body) for x in _extrema(node)]
    if not found:
        return frozenset()
    constants = _Flow(body)
    behind: dict[str, Constants] = {}
    for x in found:
        behind[x.kind] = behind.get(x.kind, _NONE) | constants.of(x.second)
    return frozenset(
        x.node for x in found
        if not _is_literal(x.second) and _meet(constants.of(x.first), behind[x.kind])
    )  # fmt: skip


def _is_literal(e: Expr) -> bool:
    return isinstance(e, FloatImm) or (isinstance(e, Broadcast) and isinstance(e.value, FloatImm))


def _meet(a: Constants, b: Constants) -> bool:
    return bool(a and b) and (None in a or None in b or bool(a & b))


def _extrema(node: Node) -> Iterator[_Extremum]:
    match node:
        case Binary(op="min" | "max" as op, a=a, b=b) if node.dtype.is_float:
            yield _Extremum(node, op, a, b)
        case Select(condition=c, true_value=x, false_value=y) | IfThenElse(condition=c, true_value=x, false_value=y):
            yield from _chosen(c, x, y)
        case If(condition=Binary(a=a, b=b) as c, then_body=then):
            stored = [s.value for s in walk(then) if isinstance(s, Store)]
            yield from (e for x, y in ((a, b), (b, a)) if x in stored for e in _chosen(c, x, y))


def _chosen(condition: Expr, x: Expr, y: Expr) -> Iterator[_Extremum]:
    """``condition ? x : y``, if that is a minimum or maximum."""
    match condition:
        case Binary(op="lt" | "le" | "gt" | "ge" as op, a=a, b=b) if a.dtype.is_float and {a, b} == {x, y}:
            greater = op in ("gt", "ge")
            yield _Extremum(condition, "max" if greater == (x is a) else "min", x, y)


def _infinities(dtype: DType) -> tuple[int, int]:
    return bits_of(dtype.scalar, float("inf")), bits_of(dtype.scalar, float("-inf"))


@final
class _Flow:
    """Which constants may come where: by way of lets, and of memory whatever the addresses are."""

    def __init__(self, body: Stmt) -> None:
        self._bound: dict[Var, Expr] = {}
        stores: list[Store] = []
        equal: list[tuple[Expr, Expr]] = []
        scalars: dict[Var, set[object]] = {}
        for n in walk(body):
            match n:
                case LetStmt(var=v, value=value) | LetExpr(var=v, value=value):
                    self._bound[v] = value
                case Store(buffer=buffer):
                    stores.append(n)
                    scalars.setdefault(buffer.data, set()).add(buffer.dtype.scalar)
                case Load(buffer=buffer):
                    scalars.setdefault(buffer.data, set()).add(buffer.dtype.scalar)
                case Binary(op="eq" | "ne", a=a, b=b) if a.dtype.is_float:
                    equal += [(a, b), (b, a)]
        self._equal: dict[Expr, Constants] = {}
        self._stored: dict[Var, Constants] = {}
        self._memo: dict[Expr, Constants] = {}
        self._several = {data for data, types in scalars.items() if len(types) > 1}
        changed = True
        while changed:
            changed, self._memo = False, {}
            for s in stores:
                changed |= self._holds(s.buffer, self.of(s.value))
            for e, other in equal:  # where they are equal, LLVM puts one for the other
                changed |= self._may_be(e, self.of(other))
        self._memo = {}

    def _may_be(self, e: Expr, constants: Constants) -> bool:
        """An expression may be some constants, too; whether that is new."""
        if isinstance(e, Load):
            return self._holds(e.buffer, constants)
        old = self._equal.get(e, _NONE)
        self._equal[e] = old | constants
        return not constants <= old

    def _holds(self, buffer: Buffer, constants: Constants) -> bool:
        """Memory may hold some constants, too; whether that is new."""
        if constants and buffer.data in self._several:
            constants = _ANY  # the bits of another type
        old = self._stored.get(buffer.data, _NONE)
        self._stored[buffer.data] = old | constants
        return not constants <= old

    def of(self, e: Expr) -> Constants:
        """The constants that an expression may be."""
        if e not in self._memo:
            self._memo[e] = self._of(e) | self._equal.get(e, _NONE)
        return self._memo[e]

    def _of(self, e: Expr) -> Constants:
        match e:
            case FloatImm(value=value):
                return frozenset({bits_of(e.dtype.scalar, value)})
            case IntImm():
                return _ANY
            case Load(buffer=buffer):
                return self._stored.get(buffer.data, _NONE)
            case Var():
                bound = self._bound.get(e)
                if bound is not None:
                    return self.of(bound)
                return _NONE if e.dtype.is_float else _ANY  # a loop that is unrolled
            case LetExpr(body=body):
                return self.of(body)
            case Broadcast(value=value):
                return self.of(value)
            case Select(true_value=a, false_value=b) | IfThenElse(true_value=a, false_value=b):
                return self.of(a) | self.of(b)
            case Binary(op="min" | "max", a=a, b=b):
                x, y = self.of(a), self.of(b)
                return x | y if x and y else y & {None, *_infinities(e.dtype)}  # nothing is beyond infinity
            case Binary(a=a, b=b):
                return _ANY if self.of(a) and self.of(b) else _NONE
            case Cast(value=value):
                return _ANY if self.of(value) else _NONE
            case Call(args=args):
                return _ANY if any(self.of(a) for a in args) else _NONE
            case Shuffle(vectors=vectors):
                return frozenset().union(*(self.of(v) for v in vectors))
            case _:
                return _NONE


__all__ = ["misfolded"]
