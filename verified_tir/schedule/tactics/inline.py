"""compute_inline: what reads a local buffer computes the value itself, and the buffer goes.

    for i: B[i] = A[i] * 2                  for y: C[y] = A[y + 1] * 2
    for y: C[y] = B[y + 1]          ⟶

Each read ``B[x]`` is rewritten to the value that was stored at x: for every store ``B[a(j)] = v(j)`` that ran before,
the inverse of a says which iteration j stored there (``stored_values``).  Where several stores may have been the one,
the later ones come first, each under its condition, in lazy branches.  The kernel proves each replacement (``rewrite``,
with what it knows of finished loops); then the stores are dead (``erase``), and the allocation goes (``scope``).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import is_pure
from verified_tir.ir.expr import Binary, Call, Expr, IfThenElse, LetExpr, Load, Not, Undef, Var
from verified_tir.ir.find import data_vars
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import SKIP, Allocate, Assume, For, Stmt, Store
from verified_tir.ir.sugar import all_of, const
from verified_tir.ir.visit import map_children, nodes_of, walk
from verified_tir.kernel.effects import written_blocks
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.rewrite import ExprPath, expressions
from verified_tir.kernel.rules.scope import Drop
from verified_tir.schedule import codes
from verified_tir.schedule.edits import expression_at, replace_expression, rewritten
from verified_tir.schedule.rule_builders import moved
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.follow import sequential_buffer_access
from verified_tir.schedule.tactics.stored import Piece, Place, lane_of, stored_values


def compute_inline(session: Session, block: str) -> None:
    """Compute what ``block`` stores to a local buffer wherever it is read, and remove the buffer.

    All stores to the buffer take part, those of other blocks too (its padding, perhaps).
    """
    buffer = inlined_buffer(session, block)
    only_accessed(session, buffer)
    indices = [i for _, s in session.stores_to(buffer) for i in s.indices]
    divided = any(n.op in ("floordiv", "floormod") for i in indices for n in nodes_of(i, Binary))

    def inlined(*, follow: bool) -> None:
        if follow:
            sequential_buffer_access(session, buffer, block)
        inline_all(session, buffer)

    # the kernel inverts simple index maps only; in loops that follow the buffer all of them are
    session.first_of(partial(inlined, follow=follow) for follow in ((False, True) if divided else (False,)))


def inline_all(session: Session, buffer: Buffer) -> None:
    """Replace every read of a buffer, and remove it."""
    for source in dict.fromkeys(n.buffer for _, s in session.stores_to(buffer) for n in nodes_of(s.value, Load)):
        _keep_for_readers(session, source, buffer)
    while (found := next(reads_of(session.func.body, buffer), None)) is not None:
        inline_read(session, *found)
    remove_buffer(session, buffer)


def _keep_for_readers(session: Session, source: Buffer, buffer: Buffer) -> None:
    """Let the allocation of a buffer reach as far as that of another one is read: it will be read there instead."""
    while (path := session.allocation(source)) is not None:
        reads = (p for p, _ in reads_of(session.func.body, buffer))
        far = next((p for p in reads if p[: len(path)] != path), None)
        if far is None:
            return
        k = next(k for k, (mine, theirs) in enumerate(zip(path, far, strict=False)) if mine != theirs)
        top = path[: k + 1]
        if not isinstance(session.stmt(top), Allocate) or far[k] < path[k]:
            return  # the replacement is refused then
        for _ in range(far[k] - path[k]):
            session.apply(moved(top, "widen"))


def inlined_buffer(session: Session, block: str) -> Buffer:
    """The one local buffer that a block stores to.

    :raises TacticFailed: if it stores to several, or to one that outlives the function.
    """
    path, label = session.block(block)
    buffers = list(dict.fromkeys(n.buffer for n in nodes_of(label, Store)))
    if len(buffers) != 1:
        names = ", ".join(b.name for b in buffers) or "nothing"
        raise fail(
            f"block {block} stores to {names}; what is inlined is stored to one buffer",
            path,
            code=codes.NOT_OF_THIS_FORM,
        )
    (buffer,) = buffers
    if not session.find(Allocate, lambda s: s.buffer is buffer):
        what = "a view of another buffer" if buffer not in session.func.buffers else "seen when the function has ended"
        raise fail(
            f"block {block} stores to {buffer.name}, which is {what}; only local buffers are inlined",
            path,
            code=codes.A_PARAMETER,
        )
    return buffer


def only_accessed(session: Session, buffer: Buffer) -> None:
    """The buffer is used by loads and stores only, and none of the values that they store makes an opaque call.

    :raises TacticFailed: otherwise.
    """
    for path, stmt in places(session.func.body, lambda s: True):
        for n in walk(_own(stmt)):
            if isinstance(n, Buffer) and n.data is buffer.data and n is not buffer:
                raise fail(
                    f"{n.name} is another view of {buffer.name}; a buffer with views is not inlined",
                    path,
                    code=codes.OTHER_VIEWS,
                )
            if isinstance(n, Call) and not is_pure(n.op) and any(m is buffer.data for a in n.args for m in walk(a)):
                raise fail(
                    f"{buffer.name} is passed to {n.op}, which may do anything with it", path, code=codes.OPAQUE_CALL
                )
        if isinstance(stmt, Store) and stmt.buffer is buffer:
            call = next((n for n in nodes_of(stmt.value, Call) if not is_pure(n.op)), None)
            if call is not None:
                raise fail(
                    f"the value calls {call.op}, which is opaque: it is called once, where it stands",
                    path,
                    code=codes.OPAQUE_CALL,
                )


def _own(stmt: Stmt) -> Node:
    """A statement without those below it."""
    return map_children(stmt, lambda c: SKIP if isinstance(c, Stmt) else c)


def reads_of(root: Stmt, buffer: Buffer) -> Iterator[tuple[Path, ExprPath]]:
    """Where a buffer is read, in program order; what stands in the index of a read comes before the read."""
    for path, stmt in places(root, lambda s: True):
        for k, e in enumerate(expressions(stmt)):
            for where in _loads(e, buffer):
                yield path, (k, *where)


def _loads(e: Expr, buffer: Buffer) -> Iterator[ExprPath]:
    for k, sub in enumerate(expressions(e)):
        for where in _loads(sub, buffer):
            yield (k, *where)
    if isinstance(e, Load) and e.buffer is buffer:
        yield ()


# ---------------------------------------------------------------------------------------------------------- one read


def inline_read(session: Session, path: Path, where: ExprPath) -> None:
    """Replace one read of a buffer by the value that was stored there.

    :raises TacticFailed: if that cannot be proved: the best of the proposals is the one reported.
    """
    load = expression_at(session.stmt(path), where)
    assert isinstance(load, Load)
    buffer = load.buffer

    def replaced(new: Expr) -> None:
        if any(n.buffer is buffer for n in nodes_of(new, Load)):
            raise fail(
                f"{buffer.name} is computed from itself, as in a reduction: no expression gives its value",
                path,
                code=codes.NOT_OF_THIS_FORM,
            )
        replace_with(session, path, where, new)

    nothing = fail(f"nothing is stored to {buffer.name} before it is read here", path, code=codes.NOT_USED_THERE)
    session.first_of((partial(replaced, new) for new in proposals(session, path, where, load)), nothing)


def proposals(session: Session, path: Path, where: ExprPath, load: Load) -> Iterator[Expr]:
    """What a read may be replaced by: first with the last alternative unconditional, then with undef beside it.

    Where nothing was stored the old value is undef, which anything refines; but the new value must be safe there.
    """
    lane = None
    if load.dtype.lanes > 1:
        if load.buffer.dtype.lanes > 1 or load.predicate is not None:
            raise fail(
                f"{load.buffer.name} is read under a mask, or its elements are vectors", path, code=codes.VECTORS
            )
        lane = Var.fresh("lane", load.indices[-1].dtype.scalar)
    place = Place(session, path, where, lane, load.dtype.lanes)
    indices = tuple(_scalar(i, lane) for i in load.indices)
    pieces = stored_values(place, load.buffer, indices)
    if not pieces:
        return
    dtype = load.buffer.dtype
    nothing = Undef(dtype)
    for fallback in (None, nothing) if pieces[-1].conditions else (None,):
        value = _alternatives(pieces, fallback)
        yield value if lane is None else _vector(value, lane, load.dtype.lanes, path)


def _alternatives(pieces: list[Piece], fallback: Expr | None) -> Expr:
    """The pieces in lazy branches; without a fallback the last one is taken whatever its condition says."""
    last = pieces[-1]
    value = last.value
    if fallback is not None:
        value = IfThenElse(all_of(last.conditions), last.value, fallback)
    for piece in reversed(pieces[:-1]):
        match piece.conditions:
            case (Not(a=c),):
                value = IfThenElse(c, value, piece.value)
            case conditions:
                value = IfThenElse(all_of(conditions), piece.value, value)
    return value


def _scalar(index: Expr, lane: Var | None) -> Expr:
    """An index of one lane of a read."""
    if index.dtype.lanes == 1:
        return index
    assert lane is not None
    return lane_of(index, lane)


def _vector(value: Expr, lane: Var, lanes: int, path: Path) -> Expr:
    """All lanes of a value at once."""
    from verified_tir.lower.vector_lanes import Lanes, NoVector  # the passes are built on schedules

    all_lanes = Lanes(lane, const(0, lane.dtype), lanes)
    try:
        return all_lanes.spread(all_lanes.of(value))
    except NoVector as reason:
        raise fail(f"the value has no vector form: {reason}", path, code=codes.VECTORS) from reason


def replace_with(session: Session, path: Path, where: ExprPath, new: Expr) -> None:
    """Rewrite the expression at ``where``; or, where data would become index arithmetic, what stands around it.

    An operation around an integer from memory wraps, and one on indices must not overflow.  That it does not is proved
    when the whole operation is what is replaced.
    """
    stmt, data = session.stmt(path), data_vars(session.func.body)
    turned = is_index(new, data) and not is_index(expression_at(stmt, where), data)
    for depth in range(len(where) - 1, 0, -1):
        old = expression_at(stmt, where[:depth])
        around = replace_expression(old, where[depth:], new)
        assert isinstance(around, Expr)
        named = turned and isinstance(old, LetExpr) and where[depth] == 0  # the name would be one of an index
        turned = is_index(around, data) and not is_index(old, data)
        if turned or named:
            where, new = where[:depth], around
    session.apply(rewritten(path, where, new))


# ------------------------------------------------------------------------------------------------------ what is left


def remove_buffer(session: Session, buffer: Buffer) -> None:
    """Erase the stores to a buffer that nothing reads any more, with the loops around nothing else, and drop it."""
    while stores := session.stores_to(buffer):
        path = stores[0][0]
        while path and _only_stores(session.stmt(path[:-1]), buffer):
            path = path[:-1]
        for loop in nodes_of(session.stmt(path), For):
            session.gone[loop.var] = f"what it computed, {buffer.name}, was inlined"
        erased = (Erase(path), Erase(path, dead_at_end=True))  # the second where an opaque call stands before
        session.first_of(partial(session.apply, step) for step in erased)
    session.apply(Drop(session.find(Allocate, lambda s: s.buffer is buffer)[0][0]))


def _only_stores(stmt: Stmt, buffer: Buffer) -> bool:
    """Whether a statement has no effect but stores to the buffer; an assumption is kept, as it may be of use."""
    if isinstance(stmt, Allocate) and stmt.buffer is buffer:
        return False
    return not nodes_of(stmt, Assume) and written_blocks(stmt) == {buffer.data}


__all__ = [
    "compute_inline",
    "inline_read",
    "inlined_buffer",
    "only_accessed",
    "reads_of",
    "remove_buffer",
    "replace_with",
]
