"""Constraints of buffers: what is known of their elements (RFC 77).

What :func:`constraints` finds comes from three places: padding that layouts declared (the relation of the theorem),
assumptions with which the program begins, and, for a local buffer, stores of values that later ones leave alone.  The
last are found by looking for them and then asked of the prover, so what is listed is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verified_tir.index.bounds import Bounds
from verified_tir.index.box import Box, holds
from verified_tir.index.conditions import conjuncts, negate, operands
from verified_tir.index.map import IndexMap
from verified_tir.index.padding import readable
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Binary, Expr, Load, Undef, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, Assume, AttrStmt, Block, DeclBuffer, For, If, LetStmt, Seq, Stmt
from verified_tir.ir.sugar import all_of, any_of
from verified_tir.ir.visit import free_vars, nodes_of, substitute
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.effects import written_blocks
from verified_tir.kernel.memory import Padding
from verified_tir.kernel.rules.padding import holds_value
from verified_tir.logic.verdict import Proved
from verified_tir.schedule.constraint import BufferConstraint, When
from verified_tir.schedule.session import Session
from verified_tir.schedule.tactics.layout import find_buffer
from verified_tir.schedule.tactics.pad_value import shorter

# -- what is known -----------------------------------------------------------------------------------------------------


def constraints(session: Session, name: str | Buffer) -> list[BufferConstraint]:
    """What is known of the elements of a parameter or local buffer, in terms of its indices as they are now."""
    buffer, path = find_buffer(session, name)
    if path is not None:
        return list(_stored(session, buffer, path))
    written = buffer.data in written_blocks(session.func.body)
    found = [of_padding(p, written) for p in session.theorem.paddings if p.buffer is buffer]
    for c in _assumed(session.func.body, buffer, (), (), "at entry" if written else "always"):
        if not any(_same(c, other) for other in found):
            found.append(c)
    return [c for c in found if c.predicate is not FALSE]


def _same(a: BufferConstraint, b: BufferConstraint) -> bool:
    """Whether two constraints say the same of the same elements."""
    free = isinstance(a.value, Undef) and isinstance(b.value, Undef)
    if a.value is not b.value and not free:
        return False
    box, other = Box(a.indices, a.buffer.shape), b.holds_at(a.indices)
    both = any_of([all_of([a.predicate, other]), all_of([negate(a.predicate), negate(other)])])
    return isinstance(holds(box, both, box.at_least_zero()), Proved)


def of_padding(p: Padding, written: bool) -> BufferConstraint:
    """Declared padding as a constraint, in a readable form; ``written``: the program writes the buffer."""
    box = Box(p.indices, p.buffer.shape)
    free = p.value is None or isinstance(p.value, Undef)
    when: When = "at exit" if p.owed else "always" if free or not written else "at entry and exit"
    value = p.value
    if value is not None and not free:
        value = shorter(value, Simplifier(Bounds(box.ranges)).expr(value))
    return BufferConstraint(p.buffer, p.indices, readable(box, p.predicate), value, when)


def _assumed(
    stmt: Stmt, buffer: Buffer, loops: tuple[For, ...], given: tuple[Expr, ...], when: When
) -> list[BufferConstraint]:
    """What is assumed of the buffer before anything else is done."""
    match stmt:
        case Seq(stmts=stmts):
            found: list[BufferConstraint] = []
            for s in stmts:
                if not only_assumes(s):
                    return [*found, *(_assumed(s, buffer, loops, given, when) if _wrapper(s) else ())]
                found += _assumed(s, buffer, loops, given, when)
            return found
        case Assume(condition=c):
            parts = [_constraint(buffer, loops, given, part, when) for part in conjuncts(c)]
            return [p for p in parts if p is not None]
        case For(body=body) if only_assumes(body):
            return _assumed(body, buffer, (*loops, stmt), given, when)
        case If(condition=c, then_body=body, else_body=None) if only_assumes(body):
            return _assumed(body, buffer, loops, (*given, c), when)
        case Allocate(body=body) | DeclBuffer(body=body) | AttrStmt(body=body) | Block(is_label=True, body=body):
            return _assumed(body, buffer, loops, given, when)
    return []


def only_assumes(stmt: Stmt) -> bool:
    """Whether a statement does nothing but assume, in loops and under conditions."""
    return all(isinstance(n, (Assume, For, If, Seq)) for n in nodes_of(stmt, Stmt))


def _wrapper(stmt: Stmt) -> bool:
    return isinstance(stmt, (Allocate, DeclBuffer, AttrStmt, Block))


def _constraint(
    buffer: Buffer, loops: Sequence[For], given: Sequence[Expr], condition: Expr, when: When
) -> BufferConstraint | None:
    """``p or q or B[a(j)] == v(j)`` in loops over j, as a constraint over the indices of B."""
    parts = operands("or", condition)
    claims = [e for part in parts if (e := _element(part, buffer)) is not None]
    others = [part for part in parts if _element(part, buffer) is None]
    if len(claims) != 1 or any(map(_reads, (*given, *others))):
        return None
    load, value = claims[0]
    return _over_indices(load.buffer, load.indices, value, loops, [*given, *map(negate, others)], when)


def _element(part: Expr, buffer: Buffer) -> tuple[Load, Expr] | None:
    match part:
        case Binary(op="eq", a=Load(buffer=b) as load, b=value) if b is buffer and not _reads(value):
            return load, value
        case Binary(op="eq", a=value, b=Load(buffer=b) as load) if b is buffer and not _reads(value):
            return load, value
    return None


def _reads(value: Expr) -> bool:
    return bool(nodes_of(value, Load))


def _over_indices(
    buffer: Buffer, indices: tuple[Expr, ...], value: Expr, loops: Sequence[For], conditions: Sequence[Expr], when: When
) -> BufferConstraint | None:
    """The constraint on ``buffer[indices] == value`` for all iterations; ``None`` if no inverse is known."""
    within = [c for s in loops for c in (s.var >= s.min, s.var < s.min + s.extent)]
    if any(i.dtype.lanes != 1 for i in indices) or any(_reads(e) for e in (*indices, *within)):
        return None
    own = {s.var for s in loops}
    needed = {v for e in (*conditions, *within, value) for v in free_vars(e)} & own
    at: dict[Var, Expr] = {}
    plain = all(isinstance(i, Var) and i in own for i in indices) and len(set(indices)) == len(indices)
    if plain and needed <= set(indices):
        names = tuple(Var.fresh(i.name, i.dtype) for i in indices if isinstance(i, Var))
        at = {i: v for i, v in zip(indices, names, strict=True) if isinstance(i, Var)}
        extra: list[Expr] = []
    else:
        inverse = _inverse(indices, loops)
        if inverse is None:
            return None
        names, at, extra = inverse
    box = Box(names, buffer.shape)
    predicate = all_of([*extra, *(substitute(c, at) for c in (*within, *conditions))])
    return BufferConstraint(buffer, names, readable(box, predicate), substitute(value, at), when)


def _inverse(
    indices: tuple[Expr, ...], loops: Sequence[For]
) -> tuple[tuple[Var, ...], dict[Var, Expr], list[Expr]] | None:
    """Variables for the indices, each loop's variable over them, and where they are the indices of some iteration."""
    try:
        variables = tuple(s.var for s in loops)
        box = IndexMap(variables, indices).on([s.min + s.extent for s in loops])
        image = [c for v, e in zip(box.hit_vars, box.padded, strict=True) for c in (v >= 0, v < e)]
        return box.hit_vars, dict(zip(variables, box.inverse, strict=True)), [*image, negate(box.padding(True))]
    except IRError:
        return None


# -- local buffers -----------------------------------------------------------------------------------------------------


def _stored(session: Session, buffer: Buffer, path: Path) -> Iterator[BufferConstraint]:
    """Values that some store leaves in a local buffer, and that stand there when all statements have run."""
    for place, store in session.stores_to(buffer, (*path, 0)):
        around = _around(session, (*path, 0), place)
        if around is None or store.predicate is not None or store.value.dtype.lanes > 1:
            continue
        loops, given = around
        for value, where in _values(session, store.value, buffer):
            found = _over_indices(buffer, store.indices, value, loops, [*given, *where], "when all is written")
            if found is not None and found.predicate is not FALSE and _left_there(session, found, path):
                yield found


def _values(session: Session, value: Expr, into: Buffer) -> Iterator[tuple[Expr, list[Expr]]]:
    """What is stored, as values that are not loads, each with the conditions under which it is that: a copy of a buffer
    has its constraints."""
    if not _reads(value):
        yield value, []
    elif isinstance(value, Load) and value.buffer is not into and not any(map(_reads, value.indices)):
        parameter = value.buffer in session.func.buffers
        for c in constraints(session, value.buffer) if parameter else ():
            stored = c.value_at(value.indices)
            if stored is not None and not isinstance(stored, Undef) and not _reads(stored):
                yield stored, [c.holds_at(value.indices)]


def _around(session: Session, start: Path, place: Path) -> tuple[list[For], list[Expr]] | None:
    """The loops and conditions from one place down to another; ``None`` if something else stands there."""
    loops: list[For] = []
    conditions: list[Expr] = []
    for k in range(len(start), len(place)):
        match session.stmt(place[:k]):
            case For() as loop:
                loops.append(loop)
            case If(condition=c) if not _reads(c):
                conditions.append(c if place[k] == 0 else negate(c))
            case If() | LetStmt():
                return None
            case _:
                pass
    return loops, conditions


def _left_there(session: Session, c: BufferConstraint, path: Path) -> bool:
    """Whether the prover finds that the value stands there at the end of the buffer's life."""
    end = context_at(session.func, (*path, 0), session.theorem.entry)
    end.execute(session.stmt((*path, 0)))
    assert c.value is not None
    asked = holds_value(end, Padding(c.buffer, c.indices, c.predicate, c.value), c.value)
    return isinstance(session.prover.prove(asked.context, asked.given, asked.goal)[0], Proved)


__all__ = ["constraints", "of_padding", "only_assumes"]
