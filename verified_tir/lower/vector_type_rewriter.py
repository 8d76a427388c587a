"""VectorTypeRewriter: a ramp of stride 1 becomes a scalar index into a view of vectors.

    B[i * 4:i * 4 + 4] = A[i * 4:i * 4 + 4]
                                                ⟶        A_float32x4 = T.decl_buffer((n // 4,), "float32x4", …)
                                                          …
                                                          B_float32x4[i] = A_float32x4[i]

The view is a pointer cast, which not every target has.  Without them (``pointer_casts=False``, or such a ``target``) a
local buffer of which every access is such a ramp is allocated as vectors; all other accesses keep their ramps.  So do
those of parameters, whose elements are the caller's, which is noted; and a view that the program itself declares with
other elements is noted, too.  The kernel proves that the
vector is the same bytes: that the ramp starts at a multiple of its lanes (so that the vector is aligned in the block)
and that the last vector lies in the buffer.  A masked access keeps its ramp, since a scalar index has no mask.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from verified_tir.index.bounds import Bounds
from verified_tir.index.fold import size
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, IntImm, Ramp, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.script import script
from verified_tir.ir.stmt import Allocate, DeclBuffer, For, Stmt
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import nodes_of
from verified_tir.kernel.rules.merge_allocations import MergeAllocations
from verified_tir.kernel.rules.scope import Declare, Drop
from verified_tir.lower.passes import Lowering, Pass, reason
from verified_tir.schedule.edits import accesses, redirected
from verified_tir.schedule.session import Session, TacticFailed

Indices = tuple[Expr, ...]
Moves = tuple[tuple[Indices, Indices], ...]


POINTER_CASTS = {
    "c": True, "cuda": True, "hexagon": True, "llvm": True, "metal": True, "nvptx": True, "opencl": True, "rocm": True,
    "vulkan": False, "webgpu": False,
}  # fmt: skip
"""Targets of TVM, and whether a pointer to scalars can be cast to one to vectors there: SPIR-V and WGSL type arrays."""


@final
@dataclass(frozen=True, repr=False)
class VectorTypeRewriter(Pass):
    """Access vectors by scalar index.

    :ivar pointer_casts: whether the target can see a block of scalars as one of vectors.
    :ivar target: the name of a target in TVM, such as ``"vulkan"``: it has them or not, whatever ``pointer_casts`` is.
    """

    pointer_casts: bool = True
    target: str = ""

    def __post_init__(self) -> None:
        if self.target and self.target not in POINTER_CASTS:
            raise ValueError(f"{self.target!r} is not a target; there are {', '.join(POINTER_CASTS)}")

    def lower(self, work: Lowering) -> None:
        if POINTER_CASTS.get(self.target, self.pointer_casts):
            for b in reversed(work.session.func.buffers):
                _cast(work, (), b)
            work.each(Allocate, lambda path, s: _cast(work, (*path, 0), s.buffer))
            work.each(DeclBuffer, lambda path, s: _cast(work, (*path, 0), s.buffer))
            work.each(DeclBuffer, lambda path, _: work.session.attempt(Drop(path)))
        else:
            work.each(Allocate, lambda path, s: _retype(work, path, s.buffer))
            _note_what_stays(work)


def _note_what_stays(work: Lowering) -> None:
    """What needs a pointer cast, or does without vectors since it would need one."""
    func = work.session.func
    for b in func.buffers:
        found = _ramps(func.body, b)
        if not found or not _plain(b):
            continue
        if len(found) > 1 or _other_accesses(func.body, b, found):
            work.note(f"{b.name} stays an array of {b.dtype}: it is accessed in several ways")
            continue
        vector = b.dtype.with_lanes(next(iter(found)))
        work.note(
            f"{b.name} stays an array of {b.dtype}: its caller decides the type of its elements; declare it "
            f'with elements of type "{vector}"'
        )
    blocks = [*func.buffers, *(s.buffer for s in nodes_of(func.body, Allocate))]
    elements = {b.data: b for b in reversed(blocks)}
    for s in nodes_of(func.body, DeclBuffer):
        block = elements.get(s.buffer.data)
        if block is not None and block.dtype is not s.buffer.dtype:
            seen = f"{s.buffer.name} sees {block.name} ({block.dtype}) as {s.buffer.dtype}"
            work.note(f"{seen}: a pointer cast, which the target does not have")


def _other_accesses(stmt: Stmt, buffer: Buffer, found: Mapping[int, list[Indices]]) -> bool:
    """Whether some access is none of these ramps."""
    ramps = {indices for same in found.values() for indices in same}
    return any(n.indices not in ramps for n in accesses(stmt, buffer))


def _ramps(stmt: Stmt, buffer: Buffer) -> dict[int, list[Indices]]:
    """Index tuples that end in a ramp of stride 1, by their lanes; those of masked accesses left out."""
    found: dict[int, list[Indices]] = {}
    masked = {n.indices for n in accesses(stmt, buffer) if n.predicate is not None}
    for n in accesses(stmt, buffer):
        match n.indices[-1] if n.indices else None:
            case Ramp(stride=IntImm(value=1), lanes=lanes) if n.indices not in masked:
                same = found.setdefault(lanes, [])
                if n.indices not in same:
                    same.append(n.indices)
    return found


def vector_view(buffer: Buffer, lanes: int, name: str) -> Buffer:
    """The block of a buffer as vectors of ``lanes`` elements."""
    *outer, last = buffer.shape
    return Buffer(
        name, buffer.data, buffer.dtype.with_lanes(lanes), (*outer, last // lanes), (), const(0),
        buffer.axis_separators,
    )  # fmt: skip


def _moves(session: Session, found: list[Indices], lanes: int) -> Moves:
    ranges: Mapping[Var, tuple[Expr, Expr]] = {n.var: (n.min, n.extent) for n in nodes_of(session.func.body, For)}
    simplifier = Simplifier(Bounds(ranges))
    moves = []
    for indices in found:
        ramp = indices[-1]
        assert isinstance(ramp, Ramp)
        plain = binary("floordiv", ramp.base, lanes)
        short = simplifier.expr(plain)
        moves.append((indices, (*indices[:-1], short if size(short) <= size(plain) else plain)))
    return tuple(moves)


def _plain(buffer: Buffer) -> bool:
    """Whether a buffer may be seen as vectors: scalars, row-major from the start of the block."""
    at_start = isinstance(buffer.elem_offset, IntImm) and buffer.elem_offset.value == 0
    return buffer.dtype.lanes == 1 and not buffer.strides and at_start


def _cast(work: Lowering, path: Path, buffer: Buffer) -> None:
    """Views of vectors around the statement at ``path``, for each number of lanes that occurs."""
    session = work.session
    if not _plain(buffer):
        return
    for lanes, found in _ramps(session.stmt(path), buffer).items():
        view = vector_view(buffer, lanes, f"{buffer.name}_{buffer.dtype.with_lanes(lanes)}")
        try:
            session.apply(Declare(path, view, True))
        except TacticFailed as refused:
            work.note(f"{buffer.name}: no view as {view.dtype}: {reason(refused.refusal)}")
            continue
        _redirect(work, (*path, 0), buffer, view, _moves(session, found, lanes))
        session.attempt(Drop(path))  # if nothing goes through it after all


def _redirect(work: Lowering, path: Path, buffer: Buffer, view: Buffer, moves: Moves) -> None:
    """All accesses that the kernel lets go through the view; the others are noted."""
    session = work.session
    if session.attempt(redirected(path, buffer, view, moves)):
        return
    for move in moves:
        try:
            session.apply(redirected(path, buffer, view, (move,)))
        except TacticFailed as refused:
            at = ", ".join(script(i) for i in move[0])
            work.note(f"{buffer.name}[{at}] keeps its ramp: {reason(refused.refusal)}")


def _retype(work: Lowering, path: Path, buffer: Buffer) -> None:
    """Allocate a local buffer as vectors, if every access is a ramp of so many lanes."""
    session = work.session
    below = session.stmt((*path, 0))
    found = _ramps(below, buffer)
    if not found or not _plain(buffer):
        return
    if len(found) > 1 or _other_accesses(below, buffer, found):
        work.note(f"{buffer.name} stays an array of {buffer.dtype}: it is accessed in several ways")
        return
    ((lanes, indices),) = found.items()
    block = vector_view(buffer, lanes, buffer.name)
    try:
        with session.atomic():
            session.apply(MergeAllocations(path, (), block))
            session.apply(redirected((*path, 0, 0), buffer, block, _moves(session, indices, lanes)))
            session.apply(Drop((*path, 0)))
    except TacticFailed as refused:
        work.note(f"{buffer.name} stays an array of {buffer.dtype}: {reason(refused.refusal)}")
