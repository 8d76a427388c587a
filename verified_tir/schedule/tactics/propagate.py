"""Values that are known of buffers take the place of reads (RFC 77: padding values are used in later simplifications).

    A[0] = 3                         A[0] = 3                 T.assume(i < 14 or A[i] == 0)
    B[0] = A[0] + 1        ⟶         B[0] = 3 + 1             … A[i], under i >= 14 …           ⟶     … 0 …

A value is known if the last store to the element stores a constant or index arithmetic, under conditions that are
certain at the read (``stored.py``), or if the relation or an assumption tells what padding holds.  What a loop around
the read stores later is not looked at: its iterations before this one may have stored something else.

The functions propose; each replacement is a ``rewrite`` that the kernel proves.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from verified_tir.index.bounds import Bounds
from verified_tir.index.conditions import conjuncts, negate, operands
from verified_tir.index.fold import size
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import TRUE, Binary, Call, Expr, FloatImm, IntImm, Load, Undef, Var
from verified_tir.ir.paths import Path, places
from verified_tir.ir.poly import counted_in
from verified_tir.ir.stmt import Assume, For, Stmt, Store, While
from verified_tir.ir.sugar import all_of
from verified_tir.ir.visit import nodes_of, substitute
from verified_tir.kernel.rules.rewrite import ExprPath
from verified_tir.schedule.edits import parts
from verified_tir.schedule.session import Session, TacticFailed
from verified_tir.schedule.tactics.inline import replace_with
from verified_tir.schedule.tactics.simplify import known_at
from verified_tir.schedule.tactics.stored import Place, stored_values

LARGEST = 5
"""Nodes of a value that takes the place of a read."""

Known = tuple[Buffer, tuple[Var, ...], Expr, Expr]
"""A buffer, indices, a predicate over them, and the constant that an element holds where it is true."""


def propagate_values(session: Session, under: Path = ()) -> int:
    """Replace reads of elements whose value is known at or below a place; gives how many."""
    known = [*_known_from_the_start(session)]
    if not known and not any(_is_simple(s.value) for _, s in session.find(Store)):
        return 0
    replaced = 0
    for path, stmt in session.find(Stmt, lambda s: not isinstance(s, (Assume, While)), under):
        if not any(nodes_of(e, Load) for _, e in _own(stmt)):
            continue
        tried: set[Load] = set()
        while True:
            found = next(_replacements(session, path, known, tried), None)
            if found is None:
                break
            where, load, new = found
            tried.add(load)
            replaced += int(session.succeeds(partial(replace_with, session, path, where, new)))
    return replaced


def _own(stmt: Stmt) -> list[tuple[ExprPath, Expr]]:
    """The direct expressions of a statement."""
    return [(where, e) for where, e in parts(stmt) if len(where) == 1]


def _replacements(
    session: Session, path: Path, known: list[Known], tried: set[Load]
) -> Iterator[tuple[ExprPath, Load, Expr]]:
    for where, e in parts(session.stmt(path)):
        scalar = isinstance(e, Load) and e.dtype.lanes == 1 and e.predicate is None
        if not isinstance(e, Load) or not scalar or e in tried:
            continue
        new = _known_value(session, path, e, known)
        if new is None:
            new = _stored_value(session, path, where, e)
        if new is not None:
            yield where, e, new


# ---------------------------------------------------------------------------------------------------- what was stored


def _stored_value(session: Session, path: Path, where: ExprPath, load: Load) -> Expr | None:
    """What the last store left at an element, if that is simple and certain."""
    before = [(p, s) for p, s in session.stores_to(load.buffer) if _is_before(session, p, path)]
    if not before or not _is_simple(before[-1][1].value) or _stored_again(session, before[-1][0], path, load):
        return None
    try:
        pieces = stored_values(Place(session, path, where), load.buffer, load.indices)
    except TacticFailed:
        return None
    first = pieces[0] if pieces else None
    if first is None or first.conditions or not _is_simple(first.value) or size(first.value) > LARGEST:
        return None
    return first.value if first.value.dtype is load.dtype else None


def _is_before(session: Session, store: Path, place: Path) -> bool:
    shared = session.parting(store, place)
    return shared is not None and store[shared] < place[shared]


def _stored_again(session: Session, first: Path, place: Path, load: Load) -> bool:
    """Whether a loop around the place, but not around the first store, stores to the block."""
    shared = session.parting(first, place)
    assert shared is not None
    loops = [k for k in range(shared + 1, len(place)) if isinstance(session.stmt(place[:k]), (For, While))]
    if not loops:
        return False
    around = session.stmt(place[: loops[0]])
    return any(s.buffer.data is load.buffer.data for s in nodes_of(around, Store))


def _is_simple(value: Expr) -> bool:
    """Whether a value may be put into another place: a constant or arithmetic, without memory and without calls."""
    if isinstance(value, (IntImm, FloatImm)):
        return True
    return value.dtype.is_int and size(value) <= LARGEST and not any(nodes_of(value, k) for k in (Load, Call, Undef))


# -------------------------------------------------------------------------------------------- what is known of padding


def _known_from_the_start(session: Session) -> Iterator[Known]:
    """What the relation and assumptions say of padding."""
    for p in session.theorem.paddings:
        constant = isinstance(p.value, (IntImm, FloatImm)) and not p.owed
        if constant and p.buffer in session.func.buffers:
            yield p.buffer, p.indices, p.predicate, p.value  # type: ignore[misc]
    for _, stmt in places(session.func.body, lambda s: isinstance(s, Assume)):
        assert isinstance(stmt, Assume)
        for part in conjuncts(stmt.condition):
            *others, last = operands("or", part)
            match last:
                case Binary(op="eq", a=Load(buffer=b, indices=indices), b=(IntImm() | FloatImm()) as value) if others:
                    if all(isinstance(i, Var) for i in indices) and len(set(indices)) == len(indices):
                        yield b, indices, all_of([negate(c) for c in others]), value  # type: ignore[misc]


def _known_value(session: Session, path: Path, load: Load, known: list[Known]) -> Expr | None:
    """The constant that the element holds, if it is padding wherever the place is reached."""
    for buffer, indices, predicate, value in known:
        if buffer is load.buffer:
            at = {v: counted_in(e, v.dtype) for v, e in zip(indices, load.indices, strict=True)}
            ranges, facts = known_at(session, path)
            if Simplifier(Bounds(ranges, facts.facts)).expr(substitute(predicate, at)) is TRUE:
                return value
    return None


__all__ = ["propagate_values"]
