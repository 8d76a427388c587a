"""Minima and maxima that LLVM would fold wrongly.

    max(max(c, x), c)        where x is NaN: the inner maximum is NaN, the outer one is c

LLVM's InstCombine takes ``select (fcmp ogt a, b), a, b`` with a constant on one side for a maximum, and folds the outer
one of two with the same constant away (``foldSPFofSPF``, still so in LLVM 22).  That is wrong if the inner one passes a
NaN on, or the other zero: if its *first* operand is the constant.

It also moves conversions out of what it takes for a maximum, ``select (fcmp olt x, 0), 0, (fpext x)``, and compares the
other way round then: where x is -0.0, 0.0 comes out.

So this looks for minima and maxima whose first operand may be a constant, and whose result may come, unchanged or
negated, to the first operand of another one whose second operand may be the same constant; and for those whose first
operand may be a zero and whose second one, or result, is converted.  They are compared by the bits of their operands
(``operators.ordered``), in which LLVM sees no maximum.  Programs that need it are rare.

A maximum is not only ``T.max``, but any choice of the larger value that LLVM may find to be one: selects, branches,
loops that run once or not at all, addresses, arithmetic with selects.  So whatever a comparison decides counts if what
is chosen may be what is compared.  (The expansions of transcendental functions choose ``x`` itself where it is NaN, so
none of these meets another one.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, final

from verified_tir.codegen.constants import Constants, meet
from verified_tir.codegen.deciding import Deciding, controlled_stores
from verified_tir.codegen.definitions import Definitions, is_literal, is_order
from verified_tir.codegen.leaves import Leaves
from verified_tir.codegen.origins import Origins
from verified_tir.ir.expr import Binary, Call, Cast, Expr, IfThenElse, Load, Select, Shuffle
from verified_tir.ir.stmt import Stmt
from verified_tir.ir.visit import walk
from verified_tir.semantics.intrinsics import EXPANDED

Kind: TypeAlias = Literal["min", "max"]
_MANY: Final = 30
"""Of more comparisons than these, all count as comparisons of what is chosen; of fewer, it is asked of each."""
_EITHER: Final = frozenset[Kind]({"min", "max"})


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """Comparisons of ``first`` to ``second``; the second is the ``result`` where the comparison is false.

    :ivar by: the comparisons that may decide it.
    :ivar kinds: what it may be.
    :ivar result: the expression, or the memory that holds one or the other.
    :ivar checked: whether each of the comparisons is known to be of what is chosen.
    """

    by: frozenset[Binary]
    kinds: frozenset[Kind]
    first: Expr
    second: Expr
    result: Expr
    checked: bool


def misfolded(body: Stmt) -> frozenset[Binary]:
    """The minima, maxima and comparisons of floats that are to be compared by their bits.

    :param body: without blocks, since what stands in one is another expression when the block is expanded.
    """
    if not any(isinstance(n, Binary) and is_order(n) for n in walk(body)):
        return frozenset()
    search = _Search(body)
    choices = list(search.choices(body))
    found = search.passed_on(
        [x for x in choices if search.constants.of(x.first) and not is_literal(x.second)],
        [x for x in choices if search.constants.of(x.second)],
    )
    return frozenset().union(*found, *search.converted(body, choices))


@final
class _Search:
    """The choices that a program makes, and how they meet."""

    def __init__(self, body: Stmt) -> None:
        self._definitions = Definitions(body)
        self._leaves = Leaves(self._definitions)
        self.constants = Constants(body, self._definitions, self._leaves)
        self._stores = list(controlled_stores(body))
        self._deciding = Deciding(self._definitions, self.constants, self._stores)
        self._origins = Origins(self._definitions, self.constants)
        self._decided: dict[_Choice, frozenset[Binary]] = {}

    def passed_on(self, inner: list[_Choice], outer: list[_Choice]) -> Iterator[frozenset[Binary]]:
        """What decides the inner ones whose result may be the first operand of an outer one with the same constant."""
        results: dict[Expr, list[_Choice]] = {}
        for x in inner:
            results.setdefault(x.result, []).append(x)
        for y in outer:
            for result in self._origins.among(results.keys(), y.first, itself=y.first is not y.result):
                met = [x for x in results[result] if self._alike(x, y) and self._meet(x.first, y.second)]
                if met and self._by(y):
                    yield from map(self._by, met)
                    results[result] = [x for x in results[result] if x not in met]

    def _alike(self, x: _Choice, y: _Choice) -> bool:
        """Whether both may be minima, or both maxima: of a maximum that is negated LLVM makes a minimum."""
        return bool(x.kinds & y.kinds) or self._origins.negated(y.first)

    def converted(self, body: Stmt, choices: list[_Choice]) -> Iterator[frozenset[Binary]]:
        """What decides those whose first operand may be a zero, and whose second one or result is converted."""
        zeros = [x for x in choices if not is_literal(x.second) and self.constants.may_be_zero(x.first)]
        if not zeros:
            return
        results = {x.result for x in zeros}
        passed = set[Expr]()
        for n in walk(body):
            if isinstance(n, Cast) and n.dtype.is_float and n.value.dtype.is_float:
                passed |= self._origins.among(results, n.value, itself=True)
        for x in zeros:  # floats of 16 bits are converted wherever they are computed with
            if x.first.dtype.bits == 16 or x.result in passed or self._origins.converted(x.second):
                yield self._by(x)

    def _by(self, x: _Choice) -> frozenset[Binary]:
        """The comparisons that decide a choice of what they compare.  (If there are many, it may be others, too.)"""
        if x.checked or len(x.by) > _MANY:
            return x.by
        if x not in self._decided:
            self._decided[x] = frozenset(n for n in x.by if self._kinds(n, x.first, x.second, direct=False))
        return self._decided[x]

    def _meet(self, a: Expr, b: Expr) -> bool:
        alike = a.dtype.scalar is b.dtype.scalar
        return meet(self.constants.of(a), self.constants.of(b), alike=alike)

    def choices(self, body: Stmt) -> Iterator[_Choice]:
        """All choices that may be a minimum or maximum with a constant."""
        for n in walk(body):
            if isinstance(n, Expr):
                yield from self._computed(n)
        for s, controls in self._stores:
            held = Load(s.buffer, s.indices)
            if self.constants.of(held) or self.constants.of(s.value):
                for e, branch in controls:
                    x, y = (held, s.value) if branch is False else (s.value, held)
                    yield from self._chosen(e, x, y, s.buffer.data, branch=branch is not None)

    def _computed(self, n: Expr) -> Iterator[_Choice]:
        """What an expression chooses."""
        match n:
            case Select() | IfThenElse():
                if self.constants.of(n.true_value) or self.constants.of(n.false_value):
                    yield from self._chosen(n.condition, n.true_value, n.false_value, n, branch=True)
                return
            case Load(buffer=buffer, indices=indices, predicate=predicate):
                decide = (*indices, *(() if predicate is None else (predicate,)))
                if buffer.data in self.constants.several:
                    decide = (*decide, n)
            case Call(op=op, args=args) if op in EXPANDED and not any(map(self.constants.of, args)):
                return  # its constants are chosen by comparisons of its own
            case Binary() | Call() | Cast() | Shuffle() if n.dtype.is_float:
                if isinstance(n, Binary) and n.op in ("min", "max"):
                    yield _Choice(frozenset({n}), frozenset[Kind]({n.op}), n.a, n.b, n, checked=True)
                decide = (n,)
            case _:
                return
        if self.constants.of(n):
            by = frozenset[Binary]().union(*map(self._deciding.of, decide)) - {n}
            if by:
                yield _Choice(by, _EITHER, n, n, n if not isinstance(n, Load) else n.buffer.data, checked=False)

    def _chosen(self, condition: Expr, x: Expr, y: Expr, result: Expr, *, branch: bool) -> Iterator[_Choice]:
        """A choice of ``x`` where a condition is true, and of ``y`` where it is false.

        :param branch: whether it is a condition at all, and not an extent or an index.
        """
        by = self._deciding.of(condition)
        e = self._definitions.get(condition)
        if branch and isinstance(e, Binary) and e in by:
            by -= {e}
            kinds = self._kinds(e, x, y, direct=True)
            if kinds:
                yield _Choice(frozenset({e}), kinds, x, y, result, checked=True)
        if by:
            yield _Choice(by, _EITHER, x, y, result, checked=False)
            yield _Choice(by, _EITHER, y, x, result, checked=False)

    def _kinds(self, by: Binary, x: Expr, y: Expr, *, direct: bool) -> frozenset[Kind]:
        """What a choice may be: a minimum, a maximum, either or neither.

        :param direct: whether ``x`` is chosen where the comparison is true, or perhaps where it is false.
        """
        a, b = by.a, by.b
        if self._leaves.computed(a) or self._leaves.computed(b):  # LLVM may write x < -c for -x > c
            compared = self._leaves.of(a) | self._leaves.of(b)
            related = any(
                self.constants.of(c) and not compared.isdisjoint(self._leaves.of(e)) for c, e in ((x, y), (y, x))
            )
            return _EITHER if related else frozenset()
        left = self._may_be(x, a) and self._may_be(y, b)
        right = self._may_be(x, b) and self._may_be(y, a)
        if not direct or self._origins.negated(x) or self._origins.negated(y):
            return _EITHER if left or right else frozenset()
        larger: tuple[Kind, Kind] = ("max", "min") if by.op in ("gt", "ge") else ("min", "max")
        return frozenset(kind for kind, fits in zip(larger, (left, right), strict=True) if fits)

    def _may_be(self, arm: Expr, operand: Expr) -> bool:
        """Whether what is chosen may be what is compared."""
        return self._meet(arm, operand) or self._origins.meet(arm, operand)


__all__ = ["misfolded"]
