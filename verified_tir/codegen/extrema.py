"""Minima and maxima that LLVM would fold wrongly.

    max(max(c, x), c)        where x is NaN: the inner maximum is NaN, the outer one is c

LLVM's InstCombine takes ``select (fcmp ogt a, b), a, b`` with a constant on one side for a maximum, and folds the outer
one of two with the same constant away (``foldSPFofSPF``, still so in LLVM 22).  That is wrong if the inner one passes a
NaN on, or the other zero: if its *first* operand is the constant.  Constants come to such places by way of memory, too:
what was stored to a local buffer, or by an iteration that is unrolled.

So this looks for the constants that may come to the first operand of a minimum or maximum (of any select that is one),
and for those that may come to the second operand of another.  Where they meet, the first kind is compared by the bits
of its operands (``operators.ordered``), in which LLVM sees no maximum.  Programs that need it are rare.

LLVM finds constants where a program has none: ``0.0 if x <= 0.0 and x >= 0.0``, ``max(min(x, 1.0), 1.0)``, an integer
times 0.  So what counts is whether it *may* find one: wherever values are narrowed (by comparisons, by a minimum in a
maximum, by the range of a type) those that they are narrowed to count as found.
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
    Undef,
    Var,
)
from verified_tir.ir.floats import bits_of
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import If, LetStmt, Stmt, Store
from verified_tir.ir.visit import rewrite, walk

Constants: TypeAlias = frozenset[int | None]
"""The bits of the constants that a value may be, as far as LLVM can tell; ``None`` is any constant."""
_NONE: Final[Constants] = frozenset()
_ANY: Final[Constants] = frozenset({None})
_ORDER: Final = ("lt", "le", "gt", "ge")


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
    lets = _Lets(body)
    found = [x for node in walk(body) for x in _extrema(node, lets)]
    if not found:
        return frozenset()
    constants = _Flow(body, lets)
    behind: dict[str, Constants] = {}
    for x in found:
        behind[x.kind] = behind.get(x.kind, _NONE) | constants.of(x.second)
    return frozenset(
        x.node for x in found
        if not _is_literal(x.second) and _meet(constants.of(x.first), behind[x.kind])
    )  # fmt: skip


def _is_literal(e: Expr) -> bool:
    return isinstance(e, (FloatImm, IntImm)) or (isinstance(e, Broadcast) and _is_literal(e.value))


def _meet(a: Constants, b: Constants) -> bool:
    return bool(a and b) and (None in a or None in b or bool(a & b))


@final
class _Lets:
    """What names are bound to."""

    def __init__(self, body: Stmt) -> None:
        self._bound: dict[Var, Expr] = {}
        self._whole: dict[Var, Expr] = {}
        for n in walk(body):
            if isinstance(n, (LetStmt, LetExpr)):
                self._bound[n.var] = n.value

    def get(self, e: Expr) -> Expr:
        """An expression, or what the name that it is stands for."""
        while isinstance(e, Var) and e in self._bound:
            e = self._bound[e]
        return e

    def whole(self, e: Expr) -> Expr:
        """An expression without names: two that are the same value by different names are one."""
        if not self._whole:
            for v in self._bound:  # in the order of the program, so that a long chain of names nests no calls
                self._value(v)
        return self._named(e)

    def _named(self, e: Expr) -> Expr:
        return rewrite(
            e, lambda n: self._value(n) if isinstance(n, Var) else n.body if isinstance(n, LetExpr) else None
        )

    def _value(self, v: Var) -> Expr:
        found = self._whole.get(v)
        if found is None:
            found = self._whole[v] = self._named(self._bound[v]) if v in self._bound else v
        return found

    def comparisons(self, condition: Expr) -> Iterator[Binary]:
        """The comparisons of floats in a condition, those of its names too."""
        stack, seen = [condition], set[Expr]()
        while stack:
            for n in walk(self.get(stack.pop())):
                if isinstance(n, Var) and self.get(n) is not n and n not in seen:
                    seen.add(n)
                    stack.append(n)
                if isinstance(n, Binary) and n.op in _ORDER and n.a.dtype.is_float:
                    yield n


def _extrema(node: Node, lets: _Lets) -> Iterator[_Extremum]:
    match node:
        case Binary(op="min" | "max" as op, a=a, b=b) if node.dtype.is_float:
            yield _Extremum(node, op, a, b)
        case Select(condition=c, true_value=x, false_value=y) | IfThenElse(condition=c, true_value=x, false_value=y):
            chosen = lets.whole(x), lets.whole(y)
            yield from (e for n in lets.comparisons(c) if {*_compared(n, lets)} == {*chosen}
                        for e in _chosen(n, lets, chosen[0], direct=n is c))  # fmt: skip
        case If(condition=c):
            stored = {lets.whole(s.value) for s in walk(node) if isinstance(s, Store)}
            kept = {lets.whole(s.value) for s in walk(node.then_body) if isinstance(s, Store)}
            for n in lets.comparisons(c):
                direct = n is c and node.else_body is None
                for v in {*_compared(n, lets)} & stored:
                    yield from _chosen(n, lets, v, direct=direct and v in kept)


def _compared(comparison: Binary, lets: _Lets) -> tuple[Expr, Expr]:
    return lets.whole(comparison.a), lets.whole(comparison.b)


def _chosen(comparison: Binary, lets: _Lets, x: Expr, *, direct: bool) -> Iterator[_Extremum]:
    """A choice of what is compared: of ``x`` where the comparison is true, or if not ``direct`` perhaps otherwise."""
    a, b = lets.get(comparison.a), lets.get(comparison.b)
    greater = comparison.op in ("gt", "ge")
    if direct:
        left = x is lets.whole(a)
        yield _Extremum(comparison, "max" if greater == left else "min", *((a, b) if left else (b, a)))
        return
    for kind in ("min", "max"):
        yield _Extremum(comparison, kind, a, b)
        yield _Extremum(comparison, kind, b, a)


def _infinities(dtype: DType) -> tuple[int, int]:
    return bits_of(dtype.scalar, float("inf")), bits_of(dtype.scalar, float("-inf"))


@final
class _Flow:
    """Which constants may come where: by way of lets, and of memory whatever the addresses are.

    A float is *open* above (``"max"``) or below (``"min"``) if LLVM cannot know a bound of it there: then it is no
    constant beside one that it is compared to.
    """

    def __init__(self, body: Stmt, lets: _Lets) -> None:
        self._lets = lets
        stores: list[Store] = []
        orders: list[Binary] = []
        equal: list[tuple[Expr, Expr]] = []
        scalars: dict[Var, set[object]] = {}
        for n in walk(body):
            match n:
                case Store(buffer=buffer):
                    stores.append(n)
                    scalars.setdefault(buffer.data, set()).add(buffer.dtype.scalar)
                case Load(buffer=buffer):
                    scalars.setdefault(buffer.data, set()).add(buffer.dtype.scalar)
                case Binary(op="eq" | "ne", a=a, b=b):
                    equal += [(e, other) for e, other in ((a, b), (b, a)) if not _is_literal(e)]
                case Binary(op=op) if op in _ORDER or op in ("min", "max"):
                    orders.append(n)
        self._equal: dict[Expr, Constants] = {}
        self._stored: dict[Var, Constants] = {}
        self._memo: dict[Expr, Constants] = {}
        self._opens: dict[tuple[Expr, str], bool] = {}
        self._bounded: set[tuple[Node, str]] = set()
        self._several = {data for data, types in scalars.items() if len(types) > 1}
        equal += self._narrowed(orders)
        changed = True
        while changed:
            changed, self._memo, self._opens = False, {}, {}
            for s in stores:
                changed |= self._holds(s.buffer, self.of(s.value)) | self._bounds(s)
            for e, other in equal:  # where they are equal, LLVM puts one for the other
                changed |= self._may_be(e, self.of(other))
        self._memo, self._opens = {}, {}

    def _place(self, e: Expr) -> Node:
        """What is the same value wherever it stands: the memory of a load, else the expression."""
        e = self._lets.get(e)
        return e.buffer.data if isinstance(e, Load) else e

    def _narrowed(self, orders: list[Binary]) -> list[tuple[Expr, Expr]]:
        """What two comparisons may find equal, at least one of them a condition: ``x <= c and x >= c``."""
        sides: dict[Node, list[tuple[Binary, Expr, Expr]]] = {}
        for n in orders:
            for e, other in ((n.a, n.b), (n.b, n.a)):
                if not _is_literal(e):
                    sides.setdefault(self._place(e), []).append((n, e, other))
        found = []
        for place, those in sides.items():
            if any(n.op in _ORDER for n, _, _ in those):
                self._bounded |= {(place, "min"), (place, "max")}
                if len({n for n, _, _ in those}) > 1:
                    found += [(e, other) for _, e, other in those]
        return found

    def _may_be(self, e: Expr, constants: Constants) -> bool:
        """An expression may be some constants, too; whether that is new."""
        e = self._lets.get(e)
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

    def _bounds(self, s: Store) -> bool:
        """Memory may hold something bounded; whether that is new.  (Of constants themselves ``_holds`` knows.)"""
        if not s.value.dtype.is_float or _is_literal(s.value):
            return False
        before = len(self._bounded)
        self._bounded |= {(s.buffer.data, kind) for kind in ("min", "max") if not self._open(s.value, kind)}
        return len(self._bounded) > before

    def _open(self, e: Expr, kind: str) -> bool:
        """Whether LLVM cannot know a bound of a float, above or below."""
        found = self._opens.get((e, kind))
        if found is None:
            found = self._opens[e, kind] = self._is_open(self._lets.get(e), kind)
        return found

    def _is_open(self, e: Expr, kind: str) -> bool:
        if (self._place(e), kind) in self._bounded:
            return False
        match e:
            case Load(buffer=buffer):
                return buffer.data not in self._several
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
            case Binary(op="mul", a=a, b=b) if a is not b:  # a square is not negative
                return self._unknown(a) or self._unknown(b)
        return False

    def _unknown(self, e: Expr) -> bool:
        return self._open(e, "min") and self._open(e, "max")

    def of(self, e: Expr) -> Constants:
        """The constants that an expression may be."""
        if e not in self._memo:
            self._memo[e] = self._of(e) | self._equal.get(e, _NONE)
        return self._memo[e]

    def _of(self, e: Expr) -> Constants:
        match e:
            case FloatImm(value=value):
                return frozenset({bits_of(e.dtype.scalar, value)})
            case Load(buffer=buffer):
                return self._stored.get(buffer.data, _NONE)
            case Var():
                bound = self._lets.get(e)
                if bound is not e:
                    return self.of(bound)
                return _NONE if e.dtype.is_float else _ANY  # a loop that is unrolled
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
            case Call(args=args) if e.dtype.is_float:
                return _ANY if any(self.of(a) for a in args) else _NONE
            case Shuffle(vectors=vectors):
                return frozenset().union(*(self.of(v) for v in vectors))
            case Undef():
                return _ANY  # LLVM may choose
        return _NONE if e.dtype.is_float else _ANY

    def _of_operator(self, e: Binary, x: Constants, y: Constants) -> Constants:
        if not e.dtype.is_float:  # integers that LLVM cannot know: sums and products of what it cannot know
            return _ANY if x or y or e.op not in ("add", "mul") else _NONE
        if x and y:
            return x | y if e.op in ("min", "max") else _ANY
        if e.op in ("min", "max"):
            if not self._open(e.b if x else e.a, e.op):
                return x | y
            return y & {None, *_infinities(e.dtype)}  # nothing is beyond infinity
        zeros = {None, bits_of(e.dtype.scalar, 0.0), bits_of(e.dtype.scalar, -0.0)}
        return _ANY if e.op == "mul" and (x | y) & zeros and not self._unknown(e.b if x else e.a) else _NONE


__all__ = ["misfolded"]
