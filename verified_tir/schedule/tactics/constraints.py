"""Constraints of buffers: what is known of their elements, and the steps that add an assumption (RFC 77).

What :func:`constraints` finds comes from three places: padding that layouts declared (the relation of the theorem),
assumptions with which the program begins, and, for a local buffer, stores of values that later ones leave alone.  The
last are found by looking for them and then asked of the prover, so what is listed is true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import Any

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Binary, Expr, IntImm, Load, Undef, Var, all_of, any_of, as_expr, const
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Allocate, Assume, AttrStmt, Block, DeclBuffer, For, If, LetStmt, Seq, Stmt, Store
from verified_tir.ir.visit import free_vars, rewrite, substitute, walk
from verified_tir.kernel.context import Entry, begin, context_at, written_blocks
from verified_tir.kernel.memory import Padding
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.axiom import Axiom
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.padding import at_exit, holds_value
from verified_tir.logic.verdict import Proved
from verified_tir.schedule.bounds import Bounds
from verified_tir.schedule.constraint import BufferConstraint, IndexFunction, When
from verified_tir.schedule.index_box import Box, holds
from verified_tir.schedule.index_map import IndexMap
from verified_tir.schedule.index_padding import readable
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.simplify_index import Simplifier, negate
from verified_tir.schedule.tactics.layout import find_buffer
from verified_tir.schedule.tactics.loops import Handle
from verified_tir.schedule.tactics.pad_value import after_last_store, element_value, shorter, store_where
from verified_tir.schedule.tactics.tidy import conjuncts

# -- what is known -----------------------------------------------------------------------------------------------------


def constraints(session: Session, name: str | Buffer) -> list[BufferConstraint]:
    """What is known of the elements of a parameter or local buffer, in terms of its indices as they are now."""
    buffer, path = find_buffer(session, name)
    if path is not None:
        return list(_stored(session, buffer, path))
    written = buffer.data in written_blocks(session.func.body)
    found = [_of_padding(p, written) for p in session.theorem.paddings if p.buffer is buffer]
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


def _of_padding(p: Padding, written: bool) -> BufferConstraint:
    box = Box(p.indices, p.buffer.shape)
    free = p.value is None or isinstance(p.value, Undef)
    when: When = "always" if free or not written else "at entry and exit"
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
                if not _only_assumes(s):
                    return [*found, *(_assumed(s, buffer, loops, given, when) if _wrapper(s) else ())]
                found += _assumed(s, buffer, loops, given, when)
            return found
        case Assume(condition=c):
            parts = [_constraint(buffer, loops, given, part, when) for part in conjuncts(c)]
            return [p for p in parts if p is not None]
        case For(body=body) if _only_assumes(body):
            return _assumed(body, buffer, (*loops, stmt), given, when)
        case If(condition=c, then_body=body, else_body=None) if _only_assumes(body):
            return _assumed(body, buffer, loops, (*given, c), when)
        case Allocate(body=body) | DeclBuffer(body=body) | AttrStmt(body=body) | Block(is_label=True, body=body):
            return _assumed(body, buffer, loops, given, when)
    return []


def _only_assumes(stmt: Stmt) -> bool:
    return all(isinstance(n, (Assume, For, If, Seq)) for n in walk(stmt) if isinstance(n, Stmt))


def _wrapper(stmt: Stmt) -> bool:
    return isinstance(stmt, (Allocate, DeclBuffer, AttrStmt, Block))


def _constraint(
    buffer: Buffer, loops: Sequence[For], given: Sequence[Expr], condition: Expr, when: When
) -> BufferConstraint | None:
    """``p or q or B[a(j)] == v(j)`` in loops over j, as a constraint over the indices of B."""
    parts = _disjuncts(condition)
    claims = [e for part in parts if (e := _element(part, buffer)) is not None]
    others = [part for part in parts if _element(part, buffer) is None]
    if len(claims) != 1 or any(isinstance(n, Load) for e in (*given, *others) for n in walk(e)):
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
    return any(isinstance(n, Load) for n in walk(value))


def _disjuncts(condition: Expr) -> list[Expr]:
    match condition:
        case Binary(op="or", a=a, b=b):
            return [*_disjuncts(a), *_disjuncts(b)]
    return [condition]


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
    for place, store in places(session.stmt((*path, 0)), lambda s: isinstance(s, Store) and s.buffer is buffer):
        assert isinstance(store, Store)
        around = _around(session, (*path, 0), place)
        if around is None or store.predicate is not None or store.value.dtype.lanes > 1:
            continue
        loops, given = around
        for value, where in _values(session, store.value, buffer):
            found = _over_indices(buffer, store.indices, value, loops, [*given, *where], "when all is written")
            if found is not None and found.predicate is not FALSE and _left_there(session, found, path):
                yield found


def _values(session: Session, value: Expr, into: Buffer) -> Iterator[tuple[Expr, list[Expr]]]:
    """What is stored, as values that are no loads, each with the conditions under which it is that: a copy of a buffer
    has its constraints."""
    if not _reads(value):
        yield value, []
    elif isinstance(value, Load) and value.buffer is not into and not any(map(_reads, value.indices)):
        parameter = value.buffer in session.func.buffers
        for c in constraints(session, value.buffer) if parameter else ():
            if c.value is not None and not isinstance(c.value, Undef) and not _reads(c.value):
                yield substitute(c.value, dict(zip(c.indices, value.indices, strict=True))), [c.holds_at(value.indices)]


def _around(session: Session, start: Path, place: Path) -> tuple[list[For], list[Expr]] | None:
    """The loops and conditions between two places; ``None`` if something else stands there."""
    loops: list[For] = []
    conditions: list[Expr] = []
    for k in range(len(place)):
        match session.stmt((*start, *place[:k])):
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
    end = at_exit(context_at(session.func, path, session.theorem.entry), session.stmt(path))
    goal = holds_value(end, Padding(c.buffer, c.indices, c.predicate, c.value))
    return isinstance(session.prover.prove(end, (), goal)[0], Proved)


# -- adding one --------------------------------------------------------------------------------------------------------


def described(session: Session, name: str | Buffer, predicate: Any, value: Any) -> BufferConstraint:
    """The constraint that somebody wrote: functions are called, numbers take the type of the elements."""
    buffer, _ = find_buffer(session, name)
    try:
        where = _condition(predicate, buffer)
        own = where.inputs
        if callable(value) and not isinstance(value, Expr):
            value = function_of(value, buffer)(*own)
        if value is None:
            raise fail(
                f"that nobody touches elements of {buffer.name} is declared by transform_layout(…, pad_value=None), "
                "not by a constraint"
            )
        return BufferConstraint(
            buffer, own, where.output, element_value(value, buffer, f"the constraint on {buffer.name}")
        )
    except IRError as problem:
        raise fail(str(problem)) from problem


def function_of(given: Any, buffer: Buffer) -> IndexFunction:
    """A function of the buffer's indices, called once; also an expression or a number, the same for all of them.

    :raises IRError: if it takes another number of indices or gives no expression.
    """
    if isinstance(given, IndexFunction):
        return given
    if callable(given) and not isinstance(given, Expr):
        return IndexFunction.of(given, buffer)
    plain = as_expr(given)
    return IndexFunction.of(lambda *indices: plain, buffer)


def _condition(given: Any, buffer: Buffer) -> IndexFunction:
    found = function_of(given, buffer)
    if not found.output.dtype.is_bool:
        raise IRError(f"a condition is wanted, not {_text(found.output)} of type {found.output.dtype}")
    if isinstance(found.output, IntImm) and not found.output.value:
        raise IRError(
            "the condition is never true; in Python a == b compares two expressions as objects: write a.equal(b)"
        )
    return found


def add_constraint(session: Session, c: BufferConstraint, before: Handle | None, axiom: bool) -> None:
    """Assume a constraint at a place where it is proved; as an axiom, at the beginning of both programs."""
    try:
        condition = c.condition
    except IRError as problem:
        raise fail(str(problem)) from problem
    for_all(session, c.buffer, c.indices, condition, before, axiom, c)


def assume_padding(session: Session, name: str | Buffer) -> None:
    """RFC 77's stage: what the relation says of a parameter's padding, assumed where the program begins."""
    buffer, path = find_buffer(session, name)
    if path is not None:
        raise fail(f"{buffer.name} is a local buffer: its padding is what the program stores there", path)
    declared = [p for p in session.theorem.paddings if p.buffer is buffer and p.value is not None]
    known = [c for c in (_of_padding(p, False) for p in declared) if c.predicate is not FALSE]
    if not known:
        raise fail(f"{buffer.name} has no padding of which something may be assumed")
    for c in reversed(known):
        add_constraint(session, c, None, False)


def write_padding(session: Session, name: str | Buffer) -> None:
    """RFC 77's stage of producers: the padding of a parameter is stored, ``T.undef()`` where it may hold anything."""
    buffer, path = find_buffer(session, name)
    if path is not None or buffer.data not in written_blocks(session.func.body):
        raise fail(f"{buffer.name} is no parameter that the program writes", path or ())
    known = [_of_padding(p, True) for p in session.theorem.paddings if p.buffer is buffer and p.value is not None]
    known = [c for c in known if c.predicate is not FALSE]
    if not known:
        raise fail(f"{buffer.name} has no padding that may be written")
    for c in known:
        assert c.value is not None
        store_where(session, (), buffer, c.indices, c.predicate, c.value)


def assume(
    session: Session,
    condition: Expr | Callable[..., Any],
    name: str | Buffer | None,
    before: Handle | None,
    axiom: bool,
) -> None:
    """Assume a condition; with a buffer, a function of its indices for all of its elements."""
    if name is None:
        if not isinstance(condition, Expr):
            raise fail(
                "a condition is an expression; one that is a function of indices needs the buffer they belong to"
            )
        _assume(session, Assume(condition), None, before, axiom)
        return
    buffer, _ = find_buffer(session, name)
    try:
        every = _condition(condition, buffer)
        for_all(session, buffer, every.inputs, every.output, before, axiom)
    except IRError as problem:
        raise fail(str(problem)) from problem


def for_all(
    session: Session, buffer: Buffer, own: tuple[Var, ...], condition: Expr, before: Handle | None, axiom: bool,
    said: BufferConstraint | None = None,
) -> None:  # fmt: skip
    """Assume a condition for all indices of a buffer."""
    if axiom and find_buffer(session, buffer)[1] is not None:
        raise fail(f"{buffer.name} is no parameter; what is in a local buffer is proved (axiom=False)")
    extents = buffer.shape
    if axiom:
        own, condition, extents = _in_first_layout(session, buffer, own, condition, said)
    inner = {v: Var.fresh(v.name, v.dtype) for v in own}
    nest: Stmt = Assume(substitute(condition, inner))
    for v, extent in reversed(list(zip(inner.values(), extents, strict=True))):
        nest = For(v, const(0, v.dtype), extent, nest)
    _assume(session, nest, buffer, before, axiom)


def _assume(session: Session, stmt: Stmt, buffer: Buffer | None, before: Handle | None, axiom: bool) -> None:
    if not axiom:
        _insert(session, stmt, buffer, before)
        return
    if before is not None:
        raise fail("an axiom is assumed where the program begins; before= is for what is proved")
    session.apply(Axiom(stmt))
    _possible(session)


def _possible(session: Session) -> None:
    """That no assumption with which the program begins is false wherever it is evaluated, given all the others."""
    first = session.theorem.before
    body = first.body
    leading = list(takewhile(_only_assumes, body.stmts if isinstance(body, Seq) else (body,)))
    context = begin(first, Entry(inputs_defined=True))
    start = context.fork()
    for s in leading:
        context.execute(s)
    for s in leading:
        for a in instance(start, s, share_loads=True).assumed:
            given = (*context.path, *a.given, a.condition)
            facts = session.prover.facts(context, given, given)
            if session.solver.consistent((*given, *facts)) is False:
                raise fail(
                    f"with this, what is assumed of the arguments contradicts itself: {_text_of(s)} is true of no "
                    "input on which it is evaluated"
                )


def _text_of(stmt: Stmt) -> str:
    found = next(n for n in walk(stmt) if isinstance(n, Assume))
    return _text(found.condition)


def _insert(session: Session, stmt: Stmt, buffer: Buffer | None, before: Handle | None) -> None:
    """Insert an assumption before what is named; else where the program begins, behind what it begins by assuming if
    that is needed to prove it; or after the stores to a local buffer."""
    path = None if buffer is None else find_buffer(session, buffer)[1]
    if before is not None:
        named = isinstance(before, str) and any(b.name == before for _, b in session.blocks())
        session.apply(Insert(session.block(str(before))[0] if named else session.loop(before)[0], stmt))
    elif path is not None and buffer is not None:
        place, where = after_last_store(session, (*path, 0), buffer)
        session.apply(Insert(place, stmt, "after" if where == "after" else "before"))
    else:
        body = session.func.body
        stmts = body.stmts if isinstance(body, Seq) else (body,)
        leading = len(list(takewhile(_only_assumes, stmts)))
        if leading and session.attempt(Insert((), stmt)):
            return
        place = (leading - 1,) if leading and isinstance(body, Seq) else ()
        session.apply(Insert(place, stmt, "after" if leading else "before"))


def _in_first_layout(
    session: Session, buffer: Buffer, own: tuple[Var, ...], condition: Expr, said: BufferConstraint | None
) -> tuple[tuple[Var, ...], Expr, tuple[Expr, ...]]:
    """A condition on every element of a parameter as it is now, for every element of it as it was written.

    The element that is now at φ(x) was at x: so the condition is asked at φ(x), and ``buffer[own]`` is ``first[x]``.
    """
    chain = _layouts(session, buffer)
    if not chain:
        return own, condition, buffer.shape
    if said is not None:
        _not_of_padding(session, said)
    first = chain[0].before
    x = tuple(Var.fresh(v.name, v.dtype) for v in chain[0].inputs)
    image: tuple[Expr, ...] = x
    for m in chain:
        image = tuple(substitute(e, dict(zip(m.inputs, image, strict=True))) for e in m.outputs)
    there, here = buffer[own], first[x]
    moved = rewrite(condition, lambda n: here if n is there else None)
    moved = substitute(moved, dict(zip(own, image, strict=True)))
    if any(n is buffer for n in walk(moved)):
        raise fail(
            f"the assumption reads {buffer.name} at other indices than its own; assume that before the layout changes"
        )
    return x, moved, first.shape


def _layouts(session: Session, buffer: Buffer) -> list[Any]:
    chain: list[Any] = []
    now = buffer
    for m in reversed(session.theorem.relation):
        if m.after is now:
            chain.insert(0, m)
            now = m.before
    return chain


def _not_of_padding(session: Session, c: BufferConstraint) -> None:
    """An axiom is about elements of the buffer as it was written; padding is declared by its layout."""
    for p in session.theorem.paddings:
        if p.buffer is c.buffer:
            inside = substitute(p.predicate, dict(zip(p.indices, c.indices, strict=True)))
            box = Box(c.indices, c.buffer.shape)
            apart = negate(all_of([c.predicate, inside]))
            declared = p.value is not None and p.value is c.value
            if not declared and not isinstance(holds(box, apart, box.at_least_zero()), Proved):
                raise fail(
                    f"{c} would speak of padding of {c.buffer.name} (where {_text(readable(box, inside))}); "
                    "that is declared by transform_layout(…, pad_value=…): leave it out of the predicate"
                )


def _text(e: Expr) -> str:
    from verified_tir.ir.script import script

    return script(e)


__all__ = ["add_constraint", "assume", "assume_padding", "constraints", "described", "function_of", "write_padding"]
