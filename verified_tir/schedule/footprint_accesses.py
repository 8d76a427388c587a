"""Where a statement accesses a buffer: indices, the loops that move them, and the conditions on the way.

Input: a statement with its blocks expanded.  Output: one :class:`Piece` for each access, with lets written out.  What
cannot be said in index arithmetic (conditions and indices that read memory, masks, ``while``, opaque calls) is left out
of the conditions, and the piece says why it may be too large.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

from verified_tir.index.conditions import negate
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import is_pure
from verified_tir.ir.expr import Binary, Call, Expr, IfThenElse, IntImm, LetExpr, Load, Not, Ramp, Select, Var
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import SKIP, Assert, For, If, LetStmt, Seq, Stmt, Store, While
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import children, free_vars, sub_statements, substitute, walk
from verified_tir.kernel.rules.rewrite import expressions


@final
@dataclass(frozen=True, slots=True)
class Piece:
    """The footprint of one access: ``indices`` for all iterations of ``loops`` in which ``conditions`` hold.

    An index of ``None`` may be anything within the buffer.
    """

    indices: tuple[Expr | None, ...]
    loops: tuple[For, ...]
    conditions: tuple[Expr, ...]
    write: bool
    why: str = ""
    """Why fewer elements may be accessed than this says."""
    direct: bool = False
    """Whether the buffer itself is accessed, and not another view or by a call."""


@final
@dataclass(frozen=True, slots=True)
class _Here:
    """What is known on the way to a place."""

    loops: tuple[For, ...] = ()
    conditions: tuple[Expr, ...] = ()
    values: tuple[tuple[Var, Expr], ...] = ()
    unknown: frozenset[Var] = frozenset()
    """Loops whose ranges are not known."""
    why: str = ""

    def says(self, e: Expr) -> bool:
        """Whether an expression is index arithmetic over loops of known ranges."""
        return is_index_arithmetic(e) and not self.unknown & set(free_vars(e))

    def plain(self, e: Expr) -> Expr:
        """An expression with lets written out."""
        return substitute(e, dict(self.values))

    def given(self, condition: Expr, *, holds: bool = True) -> _Here:
        c = self.plain(condition)
        if not self.says(c):
            return self.unsure("a condition depends on more than indices")
        return replace(self, conditions=(*self.conditions, c if holds else negate(c)))

    def unsure(self, why: str) -> _Here:
        return replace(self, why=self.why or why)


def is_index_arithmetic(e: Expr) -> bool:
    """Whether an expression is made of integer variables and constants only."""
    kinds = (Var, IntImm, Binary, Not, Select, IfThenElse)
    return all(
        isinstance(n, kinds) and (n.dtype.is_int or n.dtype.is_bool) and n.dtype.lanes == 1
        for n in walk(e)
        if isinstance(n, Expr)
    )


def pieces(stmt: Stmt, buffer: Buffer) -> list[Piece]:
    """The accesses of a buffer in a statement, in program order."""
    found = list(_statement(stmt, buffer, _Here()))
    stops = next((_stop(n) for n in walk(stmt) if _stop(n)), "")
    return [replace(p, why=p.why or stops) for p in found]


def _stop(n: Node) -> str:
    """Note a statement that may end the run, after which accesses may not happen."""
    match n:
        case Assert():
            return "an assertion may stop the run"
        case While():
            return "a while loop may not end"
        case Call(op=op) if not is_pure(op):
            return f"the call of {op} may not return"
    return ""


def _statement(stmt: Stmt, buffer: Buffer, here: _Here) -> Iterator[Piece]:
    if isinstance(stmt, While):
        here = here.unsure("it stands in a while loop")
    for e in expressions(stmt):
        yield from _expression(e, buffer, here)
    match stmt:
        case Store(buffer=b, indices=indices) if b.data is buffer.data:
            yield _piece(b, indices, stmt.predicate, buffer, here, write=True)
        case For(var=v, min=low, extent=extent, body=body):
            yield from _statement(body, buffer, _in_loop(v, here.plain(low), here.plain(extent), here))
        case If(condition=c, then_body=a, else_body=b):
            yield from _statement(a, buffer, here.given(c))
            if b is not None:
                yield from _statement(b, buffer, here.given(c, holds=False))
        case LetStmt(var=v, value=value, body=body):
            yield from _statement(body, buffer, replace(here, values=(*here.values, (v, here.plain(value)))))
        case Seq() | Stmt():
            for sub in sub_statements(stmt):
                yield from _statement(sub, buffer, here)


def _in_loop(var: Var, low: Expr, extent: Expr, here: _Here) -> _Here:
    """Inside a loop; one whose range reads memory moves what it moves anywhere."""
    if here.says(low) and here.says(extent):
        return replace(here, loops=(*here.loops, For(var, low, extent, SKIP)))
    unknown = here.unknown | {var}
    return replace(here, unknown=unknown).unsure(f"the range of {var.name} depends on more than indices")


def _expression(e: Expr, buffer: Buffer, here: _Here) -> Iterator[Piece]:
    match e:
        case Load(buffer=b, indices=indices, predicate=mask):
            if b.data is buffer.data:
                yield _piece(b, indices, mask, buffer, here, write=False)
        case IfThenElse(condition=c, true_value=a, false_value=b) if c.dtype.lanes == 1:
            yield from _expression(c, buffer, here)
            yield from _expression(a, buffer, here.given(c))
            yield from _expression(b, buffer, here.given(c, holds=False))
            return
        case Binary(op="and" | "or" as op, a=a, b=b) if e.dtype.lanes == 1:
            yield from _expression(a, buffer, here)
            yield from _expression(b, buffer, here.given(a, holds=op == "and"))
            return
        case LetExpr(var=v, value=value, body=body):
            yield from _expression(value, buffer, here)
            yield from _expression(body, buffer, replace(here, values=(*here.values, (v, here.plain(value)))))
            return
        case Call(op=op) if not is_pure(op) and any(n is buffer.data for n in walk(e)):
            for write in (False, True):
                yield Piece((None,) * len(buffer.shape), here.loops, here.conditions, write, f"{op} may touch it all")
        case _:
            pass
    for child in children(e):
        if isinstance(child, Expr):
            yield from _expression(child, buffer, here)


def _piece(
    view: Buffer, indices: tuple[Expr, ...], mask: Expr | None, buffer: Buffer, here: _Here, *, write: bool
) -> Piece:
    """The elements of ``buffer`` that an access through ``view`` touches."""
    if view is not buffer:
        why = f"it is accessed through {view.name}, another view"
        return Piece((None,) * len(buffer.shape), here.loops, here.conditions, write, why)
    if mask is not None:
        here = here.unsure("a mask decides which lanes")
    loops = list(here.loops)
    found: list[Expr | None] = []
    for e in indices:
        index = here.plain(e)
        if isinstance(index, Ramp):
            lane = Var.fresh("lane", index.base.dtype)
            loops.append(For(lane, const(0, lane.dtype), const(index.lanes, lane.dtype), SKIP))
            index = index.base + lane * index.stride
        known = here.says(index)
        found.append(index if known else None)
        here = here if known else here.unsure("an index depends on more than loops")
    return Piece(tuple(found), tuple(loops), here.conditions, write, here.why, True)
