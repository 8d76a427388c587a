"""What LLVM may learn of values from the comparisons that a program makes.

``x <= c and x >= c`` makes x the constant c, and so does ``x == c``.  A comparison of floats with ``-x``, or with what
was stored from x, is solved for x; by which constant does not matter here.  What is computed may be said in other words
elsewhere (``x * y`` and ``y * x``), so what is learnt of it counts for all that is computed of one of its leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

from verified_tir.codegen.definitions import ORDERS, Definitions, is_literal
from verified_tir.codegen.leaves import Leaves
from verified_tir.ir.expr import Binary, Broadcast, Call, Cast, Expr, IfThenElse, LetExpr, Select, Var
from verified_tir.ir.node import Node

_ARITHMETIC: Final = ("add", "sub", "mul", "div")


@final
@dataclass(frozen=True, slots=True)
class Narrowed:
    """What comparisons say of values.

    :ivar bounded: the values that an order bounds, or that may be any constant.
    :ivar same: values, and what each may be found equal to.
    :ivar solved: the values that may be found to be any constant.
    :ivar bounded_leaves: what is computed of one of these is bounded.
    :ivar solved_leaves: what is computed of one of these may be any constant.
    """

    bounded: frozenset[Node]
    same: tuple[tuple[Node, Expr], ...]
    solved: frozenset[Node]
    bounded_leaves: frozenset[Expr]
    solved_leaves: frozenset[Expr]


def narrowed(
    definitions: Definitions, leaves: Leaves, orders: Sequence[Binary], equal: Sequence[tuple[Expr, Expr]]
) -> Narrowed:
    """What is learnt.

    :param orders: comparisons by order, and minima and maxima; two of them may find a value equal to what they compare
        it to, if one is a condition.
    :param equal: values, and what conditions say that they are equal to.
    """
    directly: dict[Node, dict[Binary, list[Expr]]] = {}
    for n in orders:
        for e, other in ((n.a, n.b), (n.b, n.a)):
            if not is_literal(e):
                directly.setdefault(definitions.place(e), {}).setdefault(n, []).append(other)
    ways = _Ways(definitions)
    for place, those in directly.items():
        ways.start(place, list(those)[:2], order=any(n.op in ORDERS for n in those))
    for e, _ in equal:
        ways.start(definitions.place(e), (), equal=True)
    bounded, solved, same = set[Node](), set[Node](), list[tuple[Node, Expr]]()
    of_leaves: dict[Expr, _Known] = {}
    for place, (known, below) in ways.followed().items():
        if known.order or below.equal:
            bounded.add(place)
        if below.equal or (known.twice and below.by):
            solved.add(place)
        if known.twice:
            same += [(place, other) for others in directly.get(place, {}).values() for other in others]
        if isinstance(place, Expr) and place not in definitions.stored and leaves.computed(place):
            for leaf in leaves.of(place):
                of_leaves[leaf] = of_leaves.get(leaf, _Known()) | known
    return Narrowed(
        frozenset(bounded), tuple(same), frozenset(solved),
        frozenset(leaf for leaf, known in of_leaves.items() if known.order or known.equal),
        frozenset(leaf for leaf, known in of_leaves.items() if known.equal or known.twice),
    )  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class _Known:
    """By which comparisons a value is known (two will do), whether one is an order, and whether one says equal."""

    by: frozenset[Binary] = frozenset()
    order: bool = False
    equal: bool = False

    @property
    def twice(self) -> bool:
        """Whether two comparisons, one of them a condition, may find a value equal to what they compare it to."""
        return self.order and len(self.by) > 1

    def __or__(self, other: _Known) -> _Known:
        by = self.by if len(self.by) > 1 else self.by | other.by
        return _Known(by, self.order or other.order, self.equal or other.equal)


@final
class _Ways:
    """How what is known of a value goes on to the values that it is made of."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._own: dict[Node, _Known] = {}

    def start(self, place: Node, by: Sequence[Binary], *, order: bool = False, equal: bool = False) -> None:
        """Something is known of a value itself."""
        self._own[place] = self._own.get(place, _Known()) | _Known(frozenset(by), order, equal)

    def followed(self) -> dict[Node, tuple[_Known, _Known]]:
        """What is known of each value in all, and what of that by way of others."""
        nothing = _Known()
        below: dict[Node, _Known] = {}
        parts: dict[Node, list[Node]] = {}
        pending = list(self._own)
        while pending:
            place = pending.pop()
            known = self._own.get(place, nothing) | below.get(place, nothing)
            if place not in parts:
                parts[place] = [self._definitions.place(e) for e in self._parts(place) if not is_literal(e)]
            for part in parts[place]:
                old = below.get(part, nothing)
                below[part] = old | known
                if below[part] != old:
                    pending.append(part)
        both = {**self._own, **below}
        return {p: (self._own.get(p, nothing) | below.get(p, nothing), below.get(p, nothing)) for p in both}

    def _parts(self, place: Node) -> Iterator[Expr]:
        """The operands that a comparison of a value may be solved for."""
        match place:
            case Var():
                yield from (s.value for s in self._definitions.stored.get(place, ()))
            case Binary(op=op, a=a, b=b) if op in _ARITHMETIC and place.dtype.is_float:
                if self._definitions.constant(b):
                    yield a
                if self._definitions.constant(a):
                    yield b
            case Binary(op="min" | "max", a=a, b=b):
                yield from (a, b)
            case Select(true_value=a, false_value=b) | IfThenElse(true_value=a, false_value=b):
                yield from (a, b)
            case Broadcast(value=value) | LetExpr(body=value):
                yield value
            case Cast(value=value) if value.dtype.is_float and place.dtype.is_float:
                yield value
            case Call(args=args):
                yield from args


__all__ = ["Narrowed", "narrowed"]
