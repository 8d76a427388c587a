"""All lanes of an expression at once: what a loop's iterations compute, as vector code.

The loop's variable becomes a ramp, what does not depend on it is broadcast.  A load under a condition that differs from
lane to lane is masked by it, and ``if_then_else`` on such a condition becomes a ``select``.  Nothing here is trusted:
the kernel's rule :mod:`vectorize <verified_tir.kernel.rules.vectorize>` proves each lane to be the right one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from verified_tir.ir.calls import is_pure
from verified_tir.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Expr,
    IfThenElse,
    LetExpr,
    Load,
    Not,
    Ramp,
    Select,
    Var,
)
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars, nodes_of, substitute
from verified_tir.schedule.tactics.ramps import combine


class NoVector(Exception):
    """An expression has no vector form; the reason is one sentence."""


@final
@dataclass(frozen=True)
class Lanes:
    """``var`` runs over ``[low, low + count)``.

    :ivar mask: where it is false, nothing may be accessed; ``None`` if all lanes run.
    :ivar mask_all: also mask loads that do not depend on the variable.
    :ivar mask_local: also mask loads of buffers of the scope ``local``.  Where all lanes of these exist, they stay in
        registers only if no load is masked.
    """

    var: Var
    low: Expr
    count: int
    mask: Expr | None = None
    mask_all: bool = False
    mask_local: bool = True

    def under(self, condition: Expr) -> Lanes:
        """The lanes in which a condition, given lane by lane or for all, holds as well."""
        all_lanes = self.spread(condition)
        return replace(self, mask=all_lanes if self.mask is None else Binary("and", self.mask, all_lanes))

    def spread(self, e: Expr) -> Expr:
        """The expression in every lane."""
        return e if e.dtype.lanes == self.count else Broadcast(e, self.count)

    def varies(self, e: Expr) -> bool:
        return self.var in free_vars(e)

    def of(self, e: Expr) -> Expr:
        """The lanes of ``e``; a scalar if it is the same in all.

        :raises NoVector: if there is no such expression.
        """
        if e.dtype.lanes > 1:
            raise NoVector("it computes with vectors already")
        if not self.varies(e) and not (self.mask_all and nodes_of(e, Load)):
            return e
        match e:
            case Var():
                return Ramp(self.low, const(1, e.dtype), self.count)
            case Binary(op="and" | "or" as op, a=a, b=b):
                first = self.of(a)
                inner = self.under(first if op == "and" else Not(first)) if self.varies(a) else self
                return Binary(op, self.spread(first), self.spread(inner.of(b)))
            case Binary(op=op, a=a, b=b):
                return combine(op, self.of(a), self.of(b))
            case Not(a=a):
                return Not(self.of(a))
            case Cast(type=t, value=v):
                return Cast(t.with_lanes(self.count), self.spread(self.of(v)))
            case Select(condition=c, true_value=a, false_value=b):
                return Select(self.of(c), self.spread(self.of(a)), self.spread(self.of(b)))
            case IfThenElse(condition=c, true_value=a, false_value=b):
                return self._choice(c, a, b)
            case LetExpr(var=v, value=value, body=body):
                return self.of(substitute(body, {v: value}))
            case Load(indices=indices):
                bare = e.buffer.scope == "local" and not self.mask_local
                return Load(e.buffer, self.indices(e.buffer.name, indices), None if bare else self.mask)
            case Call(op=op, args=args, type=t) if is_pure(op):
                return Call(t.with_lanes(self.count), op, tuple(self.spread(self.of(a)) for a in args))
        raise NoVector(f"{type(e).__name__} has no vector form")

    def of_vectors(self, e: Expr) -> Expr:
        """The lanes of ``e``, which is a vector itself: those of the first iteration, then those of the next.

        :raises NoVector: if there is no such expression.
        """
        lanes = e.dtype.lanes
        if self.mask is not None:
            raise NoVector("it stores vectors under a condition")
        match e:
            case Broadcast(value=value) if not self.varies(value):
                return Broadcast(value, lanes * self.count)
            case Binary(op=op, a=a, b=b) if op not in ("and", "or"):
                return Binary(op, self.of_vectors(a), self.of_vectors(b))
            case Cast(type=t, value=value):
                return Cast(t.with_lanes(lanes * self.count), self.of_vectors(value))
            case Call(op=op, args=args, type=t) if is_pure(op) and all(a.dtype.lanes == lanes for a in args):
                return Call(t.with_lanes(lanes * self.count), op, tuple(map(self.of_vectors, args)))
            case Load(buffer=b, indices=indices, predicate=None) if b.dtype.lanes == lanes and self.varies(e):
                return Load(b, self.indices(b.name, indices))
        raise NoVector(f"{type(e).__name__} of {lanes} lanes has no form of {lanes * self.count} lanes")

    def _choice(self, c: Expr, a: Expr, b: Expr) -> Expr:
        condition = self.of(c)
        if not self.varies(c):
            return IfThenElse(condition, self.spread(self.of(a)), self.spread(self.of(b)))
        true, false = self.under(condition).of(a), self.under(Not(condition)).of(b)
        return Select(self.spread(condition), self.spread(true), self.spread(false))

    def indices(self, name: str, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The indices of a vector access: lanes in the last one only.

        :raises NoVector: if another one differs from lane to lane.
        """
        for k, index in enumerate(indices[:-1]):
            if self.varies(index):
                raise NoVector(
                    f"index {k} of {name}, which is not its last, depends on {self.var.name}; flatten the buffer first"
                )
        if not indices:
            raise NoVector(f"{name} has no dimension that lanes could run over; flatten the buffer first")
        return (*indices[:-1], self.spread(self.of(indices[-1])))
