"""CompactBuffer: a local buffer shrinks to what is touched of it.

    t = alloc(100)                              for i in range(25):
    for i in range(25):                             t = alloc(4)
        for j in range(4):            ⟶             for j in range(4):
            t[i * 4 + j] = …                            t[j] = …
        …t[i * 4 + 3]…                              …t[3]…

The allocation moves to where its contents live, then each axis keeps the interval that the accesses span: their least
index, over the loops inside and where the conditions on the way are true, becomes zero.  Threads that share a block,
as those of a thread block share ``shared`` memory, have it for all of them.

Other views of the block with the same element type are accesses of the buffer under other indices, and become such
accesses first; a buffer with views of another type keeps its size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import final

from verified_tir.index.bounds import Bounds, Ranges
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Expr, IntImm, Ramp, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.poly import as_poly
from verified_tir.ir.stmt import Allocate, DeclBuffer, For, If, Seq, Stmt
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import mentions
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.scope import Drop
from verified_tir.lower.flatten_buffer import flat_indices, of_one_type
from verified_tir.lower.passes import Lowering, Pass, reason
from verified_tir.schedule.edits import Indices, moves_of, redirected
from verified_tir.schedule.rule_builders import moved
from verified_tir.schedule.session import Session, TacticFailed
from verified_tir.schedule.tactics.ramps import as_ramps
from verified_tir.schedule.tactics.regions import box_of
from verified_tir.schedule.tactics.simplify import simplify_expressions


@final
@dataclass(frozen=True, repr=False)
class CompactBuffer(Pass):
    """Compact every local buffer.

    :ivar sink: first move allocations into the loops and sequences in which their contents live.
    """

    sink: bool = True

    def lower(self, work: Lowering) -> None:
        work.each(Allocate, lambda path, s: self._compact(work, path, s.buffer))

    def _compact(self, work: Lowering, path: Path, buffer: Buffer) -> None:
        try:
            with work.session.atomic():
                if _without_views(work.session, path, buffer):
                    simplify_expressions(work.session, path)
        except TacticFailed as failed:
            work.note(f"{buffer.name} keeps its size, since it has other views: {reason(failed.refusal)}")
            return
        if self.sink:
            path = sink(work.session, path)
        found = touched(work.session.stmt(path), buffer, _shared_loops(work.session, path, buffer.scope))
        if found is None:
            return
        try:
            work.session.apply(Couple(path, _window(buffer, found), "accessed"))
            as_ramps(work.session, path)
        except TacticFailed as failed:
            work.note(f"{buffer.name} keeps its size: {reason(failed.refusal)}")


def _window(buffer: Buffer, found: list[tuple[Expr, Expr]]) -> LayoutMap:
    """The map onto the intervals, each given by its least index and its extent."""
    xs = tuple(Var.fresh(f"x{k}", e.dtype) for k, e in enumerate(buffer.shape))
    ys = tuple(Var.fresh(f"y{k}", e.dtype) for k, e in enumerate(buffer.shape))
    there = tuple(binary("sub", x, low) for x, (low, _) in zip(xs, found, strict=True))
    back = tuple(binary("add", y, low) for y, (low, _) in zip(ys, found, strict=True))
    return LayoutMap(xs, there, ys, back, tuple(extent for _, extent in found), FALSE)


def sink(session: Session, path: Path) -> Path:
    """Move the allocation at ``path`` inwards as far as the kernel allows; gives its place."""
    while True:
        stmt = session.at(path, Allocate)
        match stmt.body:
            case For() if session.attempt(moved(path, "sink")):
                path = (*path, 0)
            case If(else_body=None) if session.attempt(moved(path, "narrow")):
                path = (*path, 0)
            case Seq(stmts=stmts):
                used = [k for k, s in enumerate(stmts) if mentions(s, frozenset({stmt.buffer.data}))]
                around = not used or (used[0] == 0 and used[-1] == len(stmts) - 1)
                if around or not session.attempt(moved(path, "narrow")):
                    return path
                path = _place(session, stmt.buffer)
            case _:
                return path


def _place(session: Session, buffer: Buffer) -> Path:
    return session.find(Allocate, lambda s: s.buffer is buffer)[0][0]


def _without_views(session: Session, path: Path, buffer: Buffer) -> int:
    """Accesses through other views of the block become accesses of ``buffer``; the views go.  Gives how many.

    :raises TacticFailed: if a view cannot be done without.
    """
    gone = 0
    while inside := session.find(DeclBuffer, lambda s: s.buffer.data is buffer.data, under=path):
        gone += 1
        where, declared = inside[-1]
        moves = moves_of(declared.body, declared.buffer, partial(_through, declared.buffer, buffer))
        session.apply(redirected((*where, 0), declared.buffer, buffer, moves))
        session.apply(Drop(where))
    return gone


def _through(view: Buffer, owner: Buffer, indices: Indices) -> Indices:
    """The indices of the owner for an access of a view of the same block."""
    (flat,) = flat_indices(_plain(view), indices)
    flat = binary("add", *of_one_type(flat, view.elem_offset))
    if view.dtype.lanes != owner.dtype.lanes and flat.dtype.lanes == 1 and owner.dtype.lanes == 1:
        flat = Ramp(binary("mul", flat, view.dtype.lanes), const(1, flat.dtype), view.dtype.lanes)
    found: list[Expr] = []
    for extent in reversed(owner.shape[1:]):
        flat, size = of_one_type(flat, extent)
        found.append(binary("floormod", flat, size))
        flat = binary("floordiv", flat, size)
    found.append(flat)
    return tuple(reversed(found))


def _plain(view: Buffer) -> Buffer:
    """The view without axis separators: one flat index."""
    return Buffer.declare(view.name, view.shape, view.dtype, data=view.data, elem_offset=view.elem_offset)


def _shared_loops(session: Session, path: Path, scope: str) -> Ranges:
    """The loops around an allocation whose threads access one block: all threads of a thread block have its shared
    memory, all threads of a warp the warp's."""
    threads = _THREADS.get(scope.partition(".")[0], ())
    loops = [s for s in session.loops_around(path) if s.kind == "thread_binding" and s.thread.startswith(threads)]
    return {s.var: (s.min, s.extent) for s in loops}


_THREADS: dict[str, tuple[str, ...]] = {
    "shared": ("threadIdx.", "vthread"),
    "warp": ("threadIdx.x",),
    "global": ("threadIdx.", "vthread", "blockIdx."),
}


def touched(alloc: Stmt, buffer: Buffer, shared: Ranges | None = None) -> list[tuple[Expr, Expr]] | None:
    """The least index and the extent of what is touched, axis by axis; ``None`` if that is the whole buffer.

    An axis whose indices have no bounds a constant apart counts as whole.

    :param shared: loops around the allocation whose iterations share the block.
    """
    box = box_of(alloc, buffer, {}, guarded=True, relaxed=shared)
    if box is None:
        return None
    found: list[tuple[Expr, Expr]] = []
    smaller = False
    for side, extent in zip(box.sides, buffer.shape, strict=True):
        room = (as_poly(extent) - as_poly(side.extent)).constant
        if isinstance(side.extent, IntImm) and side.extent.value >= 1 and (room is None or room > 0):
            found.append((Simplifier(Bounds({})).expr(side.start), side.extent))
            smaller = True
        else:
            found.append((const(0, extent.dtype), extent))
    return found if smaller else None
