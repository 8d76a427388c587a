"""reverse_compute_inline: a producer stores what its consumer would have made of it, and the buffer between them goes.

    for i: B[i] = A[i] * 2                  for i:
    for x: C[x + 1] = B[x] + 1      ⟶           C[i + 1] = A[i] * 2 + 1

The consumer's nest gets the producer's loops (``reindex``): the instance x runs in the iteration i that stores what x
reads, under a condition where there is no such x.  Then the value takes the place of the read (``rewrite``), and the
producer's stores are dead.  If something between the two changes what the value is made of, the consumer must run
earlier: in the producer's own iterations (``reverse_compute_at``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from verified_tir.index.bounds import Bounds
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, IntImm, Load, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.poly import counted_in
from verified_tir.ir.stmt import Allocate, Block, For, If, Seq, Stmt, Store
from verified_tir.ir.visit import bound_vars, free_vars, nodes_of, substitute
from verified_tir.kernel.obligation import Unproved
from verified_tir.schedule import codes, moves
from verified_tir.schedule.edits import expression_at
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import labelled, unwrapped
from verified_tir.schedule.session import Session, TacticFailed, fail
from verified_tir.schedule.tactics.inline import (
    inline_all,
    only_accessed,
    reads_of,
)
from verified_tir.schedule.tactics.reverse_compute import reverse_compute_at
from verified_tir.schedule.tactics.stored import solved, tidied
from verified_tir.schedule.tactics.tidy import guards_of


def reverse_compute_inline(session: Session, block: str) -> None:
    """Let the producer of the local buffer that ``block`` reads store what ``block`` stores; the buffer goes.

    The block must be the only reader.  A producer that adds up what it stores is refused.
    """
    path, _ = session.block(block)
    buffer = _input(session, block)
    only_accessed(session, buffer)
    for where, _ in reads_of(session.func.body, buffer):
        if where[: len(path)] != path:
            reader = session.stmt(where)
            own = isinstance(reader, Store) and reader.buffer is buffer
            why = "its producer, which adds it up: it is not complete" if own else "something else"
            raise fail(
                f"{buffer.name} is read by {why}; block {block} must be its only reader",
                where,
                code=codes.NOT_USED_THERE,
            )
    producer, name = _innermost(session, buffer, path), _label_of(session, buffer)
    in_nest_of = partial(_in_nest_of, session, block, producer)
    if not (_shares_loops(session, producer, path, buffer) and session.succeeds(in_nest_of)):
        try:
            with session.atomic():
                theirs = _follow(session, path, buffer, producer)
                inline_all(session, buffer)
                left = set(bound_vars(session.func.body))
                session.renamed.update({old: new for old, new in theirs.items() if old not in left})
        except TacticFailed as refused:
            if not isinstance(session.stmt(producer), For):
                raise
            try:
                with session.atomic():
                    in_nest_of()
            except TacticFailed as again:
                raise (refused if isinstance(refused.refusal, Unproved) else again) from None
    _rename(session, block, name)


def _shares_loops(session: Session, producer: Path, path: Path, buffer: Buffer) -> bool:
    """Whether something else is stored in the loops of the producer: the nest is not to be taken apart then."""
    around = [*session.loops_around(producer, _parting(session, producer, path) + 1), session.stmt(producer)]
    return isinstance(around[0], For) and any(s.buffer is not buffer for s in nodes_of(around[0], Store))


def _in_nest_of(session: Session, block: str, producer: Path) -> None:
    """Bring the block into the producer's loops, and inline there."""
    reverse_compute_at(session, block, session.at(producer, For).var)
    buffer = _input(session, block)  # it may have shrunk to what one iteration needs
    _move_up(session, block, buffer)
    inline_all(session, buffer)


def _label_of(session: Session, buffer: Buffer) -> str:
    """The block that holds the stores to a buffer and nothing else that is stored, if they stand in one."""
    stores = {s for _, s in session.stores_to(buffer)}
    held = [label for _, label in session.find(Block) if not stores.isdisjoint(nodes_of(label, Store))]
    return held[-1].name if held and stores == set(nodes_of(held[-1], Store)) else ""


def _rename(session: Session, block: str, name: str) -> None:
    """The block that is left is the producer, and keeps the producer's name, as in TVM."""
    names = [label.name for _, label in session.find(Block)]
    if not name or name in names or names.count(block) != 1:
        return
    path, label = session.block(block)
    count = len(label.body.stmts) if isinstance(label.body, Seq) else 1
    if not session.attempt(unwrapped(path), labelled(path, name, count)):
        session.attempt(unwrapped(path), labelled((*path, 0), name, count))


def _move_up(session: Session, block: str, buffer: Buffer) -> None:
    """Let the block follow what stores to the buffer, as far as what stands between them can come later."""
    path, _ = session.block(block)
    first, _ = session.stores_to(buffer)[0]
    shared = _parting(session, first, path)
    for k in range(path[shared], first[shared] + 1, -1):
        if not session.attempt(moves.swap(path[:shared], k - 1)):
            return


def _input(session: Session, block: str) -> Buffer:
    """The one local buffer that a block reads, and that it does not store to.

    :raises TacticFailed: if there is none, or several.
    """
    path, label = session.block(block)
    stored = {n.buffer for n in nodes_of(label, Store)}
    local = {s.buffer for _, s in session.find(Allocate)}
    read = dict.fromkeys(n.buffer for n in nodes_of(label, Load))
    found = [b for b in read if b in local and b not in stored]
    if len(found) != 1:
        names = ", ".join(b.name for b in found) or "none"
        raise fail(
            f"block {block} must read one local buffer that others store to; it reads {names}",
            path,
            code=codes.NOT_OF_THIS_FORM,
        )
    return found[0]


def _parting(session: Session, store: Path, consumer: Path) -> int:
    """How many steps lead to the sequence in which the store comes before the consumer.

    :raises TacticFailed: if there is none.
    """
    parting = session.parting(store, consumer)
    if parting is None or store[parting] > consumer[parting]:
        raise fail(
            "what stores to the buffer does not come before the block that reads it", store, code=codes.STANDS_ELSEWHERE
        )
    return parting


def _innermost(session: Session, buffer: Buffer, consumer: Path) -> Path:
    """The innermost loop around all stores to a buffer, below the sequence in which they precede the consumer; the
    statement of the sequence, if there is no loop.

    :raises TacticFailed: if they stand in several nests.
    """
    stores = [p for p, _ in session.stores_to(buffer)]
    if not stores:
        raise fail(f"nothing is stored to {buffer.name}", consumer, code=codes.NOT_USED_THERE)
    first = stores[0]
    parting = _parting(session, first, consumer)
    loops = [first[:k] for k in range(parting + 1, len(first)) if isinstance(session.stmt(first[:k]), For)]
    innermost = loops[-1] if loops else first[: parting + 1]
    apart = next((p for p in stores if p[: len(innermost)] != innermost), None)
    if apart is not None:
        raise fail(
            f"{buffer.name} is stored to in several nests; compute_inline takes them all",
            apart,
            code=codes.NOT_OF_THIS_FORM,
        )
    return innermost


# ------------------------------------------------------------------------------------------------ the producer's loops


def _follow(session: Session, block: Path, buffer: Buffer, producer: Path) -> dict[Var, Var]:
    """Rebuild the nest around a block from the loops around the producer's store; gives the new loop for each of these.

    The loops are of the producer's kinds if they may be: that is race freedom, which has to hold of the consumer, too.

    :raises TacticFailed: if one does not determine the other, or the kernel refuses.
    """
    start = block[: _parting(session, producer, block) + 1]
    path, where = next((p, w) for p, w in reads_of(session.func.body, buffer) if p[: len(start)] == start)
    load = expression_at(session.stmt(path), where)
    at_store, store = session.stores_to(buffer, producer)[0]
    assert isinstance(load, Load)
    inside = {n.buffer.data for n in nodes_of(session.stmt(at_store[: len(start)]), Allocate)}
    if any(n.buffer.data in inside for n in nodes_of(store, Load)):
        raise fail(
            f"what is stored to {buffer.name} is made of memory that is no longer there where the block stands",
            at_store,
            code=codes.STANDS_ELSEWHERE,
        )
    theirs = session.loops_around((*producer, 0), len(start))
    chain = list(_chain(session.stmt(start)))
    mine = [s for s in chain if isinstance(s, For)]
    used = {v for e in load.indices for v in free_vars(e)}
    moved = [s for s in mine if s.var in used]
    if not theirs and not moved:
        return {}
    fresh = {s.var: Var.fresh(s.var.name, s.var.dtype) for s in (*theirs, *(s for s in mine if s not in moved))}
    stored = [substitute(e, fresh) for e in store.indices]
    back = solved([(s.var, s.min, s.extent) for s in moved], load.indices, stored)
    forth = solved([(fresh[s.var], s.min, s.extent) for s in theirs], stored, load.indices)
    if back is None or forth is None or {fresh[s.var] for s in theirs} - {v for e in stored for v in free_vars(e)}:
        raise fail(
            f"what is read of {buffer.name} does not tell which iteration stored it, or the other way round",
            path,
            code=codes.NOT_INVERTIBLE,
        )
    loops = [NewLoop(fresh[s.var], substitute(s.min, fresh), substitute(s.extent, fresh)) for s in theirs]
    marked = [replace(n, kind=s.kind, thread=s.thread, annotations=s.annotations)
              for n, s in zip(loops, theirs, strict=True)]  # fmt: skip
    own = [NewLoop(fresh[s.var], s.min, s.extent, s.kind, s.thread, s.annotations) for s in mine if s not in moved]
    loops += own
    ranges = dict(session.ranges(start))
    ranges.update({new.var: (new.min, new.extent) for new in loops})
    simplifier = Simplifier(Bounds(ranges))
    mapping: dict[Var, Expr] = {**fresh, **{v: tidied(e, simplifier) for v, e in back.items()}}
    guards = [c for s in moved for c in (mapping[s.var] >= s.min, mapping[s.var] < s.min + s.extent)]
    guards += [substitute(e, mapping).equal(counted_in(x, e.dtype)) for e, x in zip(load.indices, stored, strict=True)]
    kept = [c for c in (simplifier.expr(g) for g in guards) if not (isinstance(c, IntImm) and c.value)]
    g = tuple(mapping[s.var] for s in mine)
    h = (*(forth[fresh[s.var]] for s in theirs), *(s.var for s in mine if s not in moved))
    all_guards = (*dict.fromkeys(kept), *guards_of(chain, mapping))
    plain, with_kinds = [moves.reindex(start, len(chain), nest, all_guards, g, h)
                         for nest in (tuple(loops), (*marked, *own))]  # fmt: skip
    if (*marked, *own) == tuple(loops) or not session.attempt(with_kinds):
        session.apply(plain)
    for s in mine:
        if s in moved:
            session.gone[s.var] = f"its nest has the loops of what stores to {buffer.name} now"
        else:
            session.renamed[s.var] = fresh[s.var]
    return {s.var: fresh[s.var] for s in theirs}


def _chain(stmt: Stmt) -> Iterator[Stmt]:
    """The loops, labels and guards that stand around one statement, outermost first, up to the last loop or label."""
    found: list[Stmt] = []
    while isinstance(stmt, (For, Block)) or (isinstance(stmt, If) and stmt.else_body is None):
        found.append(stmt)
        stmt = stmt.then_body if isinstance(stmt, If) else stmt.body
    while found and isinstance(found[-1], If):
        found.pop()
    yield from found
