"""unsafe_set_dtype: a local buffer holds elements of another type, where that loses nothing.

    B[x] = v                 B′[x] = cast(v)
    … B[y] …         ⟶      … cast⁻¹(B′[y]) …

B′ is written beside B (``insert``), each read of B becomes one of B′ (``rewrite``: that the cast and its inverse give
the same bits is proved of the values that are stored), and B goes (``erase``, ``drop``).  What loses bits is refused,
with a value that shows it: no rule bounds the error of a program.
"""

from __future__ import annotations

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Cast, Load
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Allocate, DeclBuffer, Store
from verified_tir.kernel.obligation import Unproved
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.rewrite import Edit, ExprPath, Rewrite
from verified_tir.kernel.rules.scope import Declare, Drop
from verified_tir.schedule import codes
from verified_tir.schedule.edits import parts
from verified_tir.schedule.session import Session, TacticFailed, fail, with_hint
from verified_tir.schedule.tactics.layout import BufferIn, buffer_in


def set_dtype(session: Session, block: str, which: BufferIn, dtype: str) -> None:
    """Let a local buffer that a block writes hold elements of another type, with casts where it is accessed."""
    path, _ = session.block(block)
    old = buffer_in(session, block, which)
    home = session.allocation(old)
    if home is None:
        raise fail(
            f"{old.name} is a parameter, whose type is the caller's: change that of a copy (cache_write)",
            path,
            code=codes.A_PARAMETER,
        )
    new = Buffer.fresh(old.name, _type(dtype, old, path), old.shape, old.scope, old.axis_separators)
    if new.dtype is old.dtype:
        return
    if old.strides or session.find(DeclBuffer, lambda s: s.buffer.data is old.data):
        raise fail(
            f"{old.name} has other views or strides, which would have to change with it", home, code=codes.OTHER_VIEWS
        )
    session.apply(Declare((*home, 0), new))
    inner = (*home, 0, 0)
    for at, store in reversed(session.stores_to(old, inner)):
        value = Cast(new.dtype.with_lanes(store.value.dtype.lanes), store.value)
        session.apply(Insert(at, Store(new, value, store.indices, store.predicate)))
    try:
        _read_instead(session, inner, old, new)
    except TacticFailed as failed:
        if isinstance(failed.refusal, Unproved) and failed.refusal.obligation.name == "equal":
            raise with_hint(
                failed, f"{new.dtype} must hold every value of {old.name} without loss; an error cannot be allowed"
            ) from None
        raise
    for at, _ in reversed(session.stores_to(old, inner)):
        session.apply(Erase(at))
    session.apply(Drop(home))


def _type(text: str, old: Buffer, path: Path) -> DType:
    """The element type that a text means."""
    try:
        found = DType.parse(text)
    except (IRError, ValueError, TypeError, AttributeError) as problem:
        raise fail(f"{text!r} is not the type of an element: {problem}", path, code=codes.TYPES_DIFFER) from problem
    if found.lanes != old.dtype.lanes or found.code == "handle":
        raise fail(
            f"{old.name} holds elements of type {old.dtype}; {found} is not a type for them",
            path,
            code=codes.TYPES_DIFFER,
        )
    return found


def _read_instead(session: Session, path: Path, old: Buffer, new: Buffer) -> None:
    """Let every read of the old buffer be one of the new, program order, stores to the old one left out."""
    for where, stmt in places(session.stmt(path), lambda s: not isinstance(s, Allocate)):
        if isinstance(stmt, Store) and stmt.buffer is old:
            continue
        edits: list[Edit] = []
        found: list[ExprPath] = []
        for at, e in parts(stmt):
            if isinstance(e, Load) and e.buffer is old and not any(at[: len(outer)] == outer for outer in found):
                found.append(at)
                edits.append(Edit((), at, Cast(e.dtype, Load(new, e.indices, e.predicate))))
        if edits:
            session.apply(Rewrite((*path, *where), tuple(edits)))
