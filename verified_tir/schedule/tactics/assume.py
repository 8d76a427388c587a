"""Steps that assume something: where it is proved, or as the user's word about the arguments (RFC 77, ``T.assume``)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import Any

from verified_tir.index.box import Box, holds
from verified_tir.index.conditions import negate
from verified_tir.index.padding import readable
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Expr, IntImm, Undef, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.poly import counted_in
from verified_tir.ir.stmt import Assume, For, Seq, Stmt
from verified_tir.ir.sugar import all_of, as_expr, const
from verified_tir.ir.visit import nodes_of, rewrite, substitute, walk
from verified_tir.kernel.begin import begin
from verified_tir.kernel.effects import written_blocks
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.axiom import Axiom
from verified_tir.kernel.rules.insert import Insert
from verified_tir.logic.verdict import Proved
from verified_tir.schedule import codes
from verified_tir.schedule.constraint import BufferConstraint, IndexFunction
from verified_tir.schedule.session import Handle, Session, fail
from verified_tir.schedule.tactics.constraints import of_padding, only_assumes
from verified_tir.schedule.tactics.layout import find_buffer
from verified_tir.schedule.tactics.pad_value import after_last_store, element_value, store_where

_OBJECTS = "in Python a == b compares two expressions as objects: write a.equal(b)"


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
                "not by a constraint",
                code=codes.WRONG_ARGUMENT,
            )
        return BufferConstraint(
            buffer, own, where.output, element_value(value, buffer, f"the constraint on {buffer.name}")
        )
    except IRError as problem:
        raise fail(str(problem), code=codes.CONDITION) from problem


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
    if isinstance(given, str):
        raise IRError(
            f"a condition is an expression or a function of the indices that gives one, not the text {given!r}"
        )
    found = function_of(given, buffer)
    if not found.output.dtype.is_bool:
        raise IRError(f"a condition is wanted, not {_text(found.output)} of type {found.output.dtype}")
    if isinstance(found.output, IntImm) and not found.output.value:
        raise IRError(f"the condition is never true; {_OBJECTS}")
    return found


def add_constraint(session: Session, c: BufferConstraint, before: Handle | None, axiom: bool) -> None:
    """Assume a constraint at a place where it is proved; as an axiom, at the beginning of both programs."""
    try:
        condition = c.condition
    except IRError as problem:
        raise fail(str(problem), code=codes.CONDITION) from problem
    for_all(session, c.buffer, c.indices, condition, before, axiom, c)


def assumed_paddings(session: Session, buffer: Buffer) -> list[BufferConstraint]:
    """What the relation says of a parameter's padding when the program begins."""
    declared = [p for p in session.theorem.paddings if p.buffer is buffer and p.value is not None and not p.owed]
    return [c for c in (of_padding(p, False) for p in declared) if c.predicate is not FALSE]


def assume_padding(session: Session, name: str | Buffer) -> None:
    """RFC 77's stage: what the relation says of a parameter's padding, assumed where the program begins."""
    buffer, path = find_buffer(session, name)
    if path is not None:
        raise fail(
            f"{buffer.name} is a local buffer: its padding is what the program stores there",
            path,
            code=codes.A_PARAMETER,
        )
    known = assumed_paddings(session, buffer)
    if not known:
        owed = any(p.buffer is buffer and p.owed for p in session.theorem.paddings)
        why = ": the program writes it, and owes its padding at the end" if owed else ""
        raise fail(f"{buffer.name} has no padding of which something may be assumed{why}", code=codes.NOTHING_TO_CHANGE)
    for c in reversed(known):
        add_constraint(session, c, None, False)


def write_padding(session: Session, name: str | Buffer, value: Any = None) -> None:
    """RFC 77's stage of producers: the padding of a parameter is stored; where it may hold anything, a value or else
    ``T.undef()``."""
    buffer, path = find_buffer(session, name)
    if path is not None or not _is_written(session, buffer):
        raise fail(f"{buffer.name} is not a parameter that the program writes", path or (), code=codes.A_PARAMETER)
    known = [of_padding(p, True) for p in session.theorem.paddings if p.buffer is buffer and p.value is not None]
    known = [c for c in known if c.predicate is not FALSE]
    if not known:
        raise fail(f"{buffer.name} has no padding that may be written", code=codes.NOTHING_TO_CHANGE)
    try:
        free = None if value is None else element_value(value, buffer, f"the padding of {buffer.name}")
    except IRError as problem:
        raise fail(str(problem), code=codes.CONDITION) from problem
    if free is not None and not any(isinstance(c.value, Undef) for c in known):
        raise fail(f"{buffer.name} has no padding that may hold anything", code=codes.NOTHING_TO_CHANGE)
    for c in known:
        assert c.value is not None
        stored = free if free is not None and isinstance(c.value, Undef) else c.value
        store_where(session, (), buffer, c.indices, c.predicate, stored)


def assume(
    session: Session,
    condition: Expr | Callable[..., Any],
    name: str | Buffer | None,
    before: Handle | None,
    axiom: bool,
    at_end: bool = False,
) -> None:
    """Assume a condition; with a buffer, a function of its indices for all of its elements."""
    if at_end and (axiom or before is not None or name is None):
        raise fail("at_end=True is for what is proved of a buffer, without before=", code=codes.WRONG_ARGUMENT)
    if name is None:
        if not isinstance(condition, Expr):
            raise fail(
                "a condition is an expression; one that is a function of indices needs the buffer they belong to",
                code=codes.WRONG_ARGUMENT,
            )
        try:
            claim = Assume(condition)
        except IRError as problem:
            raise fail(str(problem), code=codes.CONDITION) from problem
        _assume(session, claim, None, before, axiom)
        return
    buffer, _ = find_buffer(session, name)
    try:
        every = _condition(condition, buffer)
        if isinstance(every.output, IntImm):
            raise IRError(f"this assumes nothing, since it is always true; {_OBJECTS}")
        for_all(session, buffer, every.inputs, every.output, before, axiom, at_end=at_end)
    except IRError as problem:
        raise fail(str(problem), code=codes.CONDITION) from problem


def for_all(
    session: Session, buffer: Buffer, own: tuple[Var, ...], condition: Expr, before: Handle | None, axiom: bool,
    said: BufferConstraint | None = None, *, at_end: bool = False,
) -> None:  # fmt: skip
    """Assume a condition for all indices of a buffer."""
    if at_end and (find_buffer(session, buffer)[1] is not None or not _is_written(session, buffer)):
        raise fail(
            f"{buffer.name} is not a parameter that the program writes: nothing stands behind the last store to it",
            code=codes.A_PARAMETER,
        )
    if axiom and find_buffer(session, buffer)[1] is not None:
        raise fail(
            f"{buffer.name} is not a parameter; what is in a local buffer is proved (axiom=False)",
            code=codes.A_PARAMETER,
        )
    extents = buffer.shape
    if axiom:
        own, condition, extents = _in_first_layout(session, buffer, own, condition, said)
    inner = {v: Var.fresh(v.name, v.dtype) for v in own}
    nest: Stmt = Assume(substitute(condition, inner))
    for v, extent in reversed(list(zip(inner.values(), extents, strict=True))):
        nest = For(v, const(0, v.dtype), counted_in(extent, v.dtype), nest)
    if at_end:
        place, where = after_last_store(session, (), buffer)
        session.apply(Insert(place, nest, "after" if where == "after" else "before"))
        return
    _assume(session, nest, buffer, before, axiom)


def _is_written(session: Session, buffer: Buffer) -> bool:
    return buffer.data in written_blocks(session.func.body)


def _assume(session: Session, stmt: Stmt, buffer: Buffer | None, before: Handle | None, axiom: bool) -> None:
    if not axiom:
        _insert(session, stmt, buffer, before)
        return
    if before is not None:
        raise fail(
            "an axiom is assumed where the program begins; before= is for what is proved", code=codes.WRONG_ARGUMENT
        )
    session.apply(Axiom(stmt))
    _possible(session)


def _possible(session: Session) -> None:
    """That no assumption with which the program begins is false wherever it is evaluated, given all the others."""
    first = session.theorem.before
    body = first.body
    leading = list(takewhile(only_assumes, body.stmts if isinstance(body, Seq) else (body,)))
    context = begin(first, Entry(definite=True))
    start = context.fork()
    for s in leading:
        context.execute(s)
    for s in leading:
        for a in instance(start, s, written=()).assumed:
            given = (*context.path, *a.premises, a.condition)
            facts = session.prover.known(context, given).look_up(given)
            if session.solver.contradictory((*given, *facts)):
                raise fail(
                    f"with this, the assumptions contradict each other: {_text_of(s)} is true of no "
                    "input on which it is evaluated",
                    code=codes.CONTRADICTION,
                )


def _text_of(stmt: Stmt) -> str:
    return _text(nodes_of(stmt, Assume)[0].condition)


def _insert(session: Session, stmt: Stmt, buffer: Buffer | None, before: Handle | None) -> None:
    """Insert an assumption before what is named; else where the program begins, behind what it begins by assuming if
    that is needed to prove it; or after the stores to a local buffer."""
    path = None if buffer is None else find_buffer(session, buffer)[1]
    if before is not None:
        session.apply(Insert(session.place(before), stmt))
    elif path is not None and buffer is not None:
        place, where = after_last_store(session, (*path, 0), buffer)
        session.apply(Insert(place, stmt, "after" if where == "after" else "before"))
    else:
        body = session.func.body
        stmts = body.stmts if isinstance(body, Seq) else (body,)
        leading = len(list(takewhile(only_assumes, stmts)))
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
            f"the assumption reads {buffer.name} at other indices than its own; assume that before the layout changes",
            code=codes.CONDITION,
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
                    "that is declared by transform_layout(…, pad_value=…): leave it out of the predicate",
                    code=codes.WRONG_ARGUMENT,
                )


def _text(e: Expr) -> str:
    from verified_tir.ir.script import script

    return script(e)


__all__ = ["add_constraint", "assume", "assume_padding", "described", "function_of", "write_padding"]
