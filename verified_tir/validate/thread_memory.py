"""Memory that each thread has for itself, allocated outside of the loops over threads.

    L = alloc(4, "local")              for tx in threads:
    for tx in threads:           ⟶        L = alloc(4, "local")
        S(L)                                  S(L)

Where loops over threads move inwards to the phases (``threads``), one block for all of them would be memory in which
they meet.  The allocation moves inside first, if nothing else uses the block and no loop around the threads could keep
values in it.  What a thread then reads and another one wrote is undefined, as on the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import prod

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Binary, Call, Expr, IntImm, Var
from verified_tir.ir.find import substitute_buffers
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import Allocate, AttrStmt, Block, DeclBuffer, For, LetStmt, Seq, Stmt, While
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars, sub_statements, walk
from verified_tir.semantics.memory import row_major
from verified_tir.validate.memory import Refused
from verified_tir.validate.thread_loops import Threads, fixed, is_thread, thread_id


def for_each_thread(made: Allocate, concerned: Callable[[For], bool]) -> Stmt | None:
    """The allocation inside the loops over threads that use it; ``None`` if no such loop is ``concerned``.

    :raises Refused: if one is, and the allocation cannot be moved there.
    """
    name, data = made.buffer.name, made.buffer.data
    nests = list(_nests(made.body, data))
    if not any(concerned(loop) for _, loop in nests):
        return None
    if len(nests) > 1:
        raise Refused(
            f"several loops over threads use {name}, of which each thread has its own, and a barrier is inside"
        )
    path, _ = nests[0]
    for k in range(len(path)):
        around = at(made.body, path[:k])
        if isinstance(around, While) or (isinstance(around, For) and not _fresh(around)):
            raise Refused(
                f"{name}, of which each thread has its own, is allocated outside of a loop around the threads"
            )
    path = _innermost(made.body, path)
    inside = at(made.body, path)
    if data in free_vars(put(made.body, path, Seq(()))) or any(True for _ in _nests(inside, data)):
        raise Refused(
            f"{name}, of which each thread has its own, is used where not all coordinates of a thread are known"
        )
    return put(made.body, path, Allocate(made.buffer, inside, made.annotations))


def room_for_each_thread(made: Allocate, *, within: bool) -> Stmt:
    """The allocation with room for every thread, once for a thread block.

    :param within: whether a loop over thread blocks is around it already.

        L = alloc(4, "local")              for bx in blocks:
        for bx in blocks:                     L = alloc(4 * 32, "local")
            for k in range(2):         ⟶     for k in range(2):
                for tx in threads:                for tx in threads:
                    S(L)                             S(L[4 * tx : 4 * tx + 4])

    :raises Refused: if something else uses the block, if threads of other thread blocks would find it, or if the loops
        over threads differ.
    """
    name, data = made.buffer.name, made.buffer.data
    paths = [path for path, _ in _nests(made.body, data)]
    common = paths[0]
    for path in paths[1:]:
        common = common[: next((k for k, (a, b) in enumerate(zip(common, path, strict=False)) if a != b), len(common))]
    around = [at(made.body, path[:k]) for path in paths for k in range(len(path))]
    places = [k for k in range(len(common)) if _is_block(at(made.body, common[:k]))]
    inner = [at(made.body, path[:k]) for path in paths for k in range(len(common), len(path))]
    virtual = any(isinstance(s, For) and s.thread.startswith("vthread") for s in around)
    if not (places or within) or virtual or any(_is_block(s) for s in inner):
        raise Refused(f"{name}, of which each thread has its own, is allocated outside of a loop around the threads")
    outer: Path = (*common[: places[-1]], 0) if places else ()
    body, whole, seen = made.body, made.buffer, set()
    bodies = [_innermost(made.body, path, kept=True) for path in paths]
    for path in bodies:
        loops = [s for k in range(len(path)) if isinstance(s := at(made.body, path[:k]), For) and is_thread(s.thread)]
        seen.add(frozenset((loop.thread, loop.min, loop.extent) for loop in loops))
        whole, own, _ = roomy(made.buffer, at(body, path), Threads(tuple(loops)))
        body = put(body, path, DeclBuffer(own[made.buffer], substitute_buffers(at(body, path), own)))
    beside = data in free_vars(_without(made.body, bodies))
    if len(seen) > 1 or beside or any(True for path in bodies for _ in _nests(at(made.body, path), data)):
        raise Refused(f"{name}, of which each thread has its own, is used where not all its coordinates are known")
    return put(body, outer, Allocate(whole, at(body, outer), made.annotations))


def _without(root: Stmt, paths: Sequence[Path]) -> Stmt:
    """The statement without those at some places."""
    for path in paths:
        root = put(root, path, Seq(()))
    return root


def _is_block(stmt: Stmt) -> bool:
    """Whether a statement is a loop over thread blocks."""
    return isinstance(stmt, For) and stmt.thread.startswith("blockIdx")


def _nests(stmt: Stmt, data: Var, path: Path = ()) -> Iterator[tuple[Path, For]]:
    """The outermost loops over threads in which a block of memory is used."""
    if data not in free_vars(stmt):
        return
    if isinstance(stmt, For) and is_thread(stmt.thread):
        yield path, stmt
        return
    for k, sub in enumerate(sub_statements(stmt)):
        yield from _nests(sub, data, (*path, k))


def _fresh(loop: For) -> bool:
    """Whether no iteration of a loop around threads finds what another one left in the memory of its threads."""
    once = isinstance(loop.extent, IntImm) and loop.extent.value <= 1
    return once or loop.thread.startswith("blockIdx") or loop.kind == "parallel"


def _innermost(root: Stmt, path: Path, *, kept: bool = False) -> Path:
    """Where the body of the innermost of some loops over threads is that have nothing beside each other."""
    found = path = (*path, 0)
    while True:
        match at(root, path):
            case For(thread=tag) if is_thread(tag):
                found = path = (*path, 0)
            case LetStmt() | DeclBuffer() | AttrStmt() | Allocate():
                path = (*path, 0)
            case For(thread="", extent=extent) if kept or (isinstance(extent, IntImm) and extent.value == 1):
                path = (*path, 0)  # each iteration finds what the last one left, if that is kept
            case Block(is_label=True):
                path = (*path, 0)
            case _:
                return found


# ------------------------------------------------------------------------------------------------------- own parts


def _views_of(buffer: Buffer, body: Stmt) -> list[Buffer]:
    """The buffers over a block, itself among them."""
    found = [n for n in walk(body) if isinstance(n, Buffer) and n.data is buffer.data]
    return list(dict.fromkeys([buffer, *found]))


def roomy(buffer: Buffer, body: Stmt, threads: Threads) -> tuple[Buffer, dict[Buffer, Buffer], int]:
    """A block with room for every thread; each view of it as a thread's own part; the bytes of one part."""
    if not _is_compact(buffer) or not (isinstance(buffer.elem_offset, IntImm) and buffer.elem_offset.value == 0):
        raise Refused(f"{buffer.name} has strides or an offset, and is needed past a barrier")
    size = prod([fixed(e, f"the shape of {buffer.name}") for e in buffer.shape])
    if any(isinstance(n, Call) and buffer.data in n.args for n in walk(body)):
        raise Refused(f"a pointer to {buffer.name}, which is needed past a barrier, is passed to a call")
    nbytes = size * buffer.dtype.nbytes
    whole = Buffer.declare(buffer.name, (threads.count() * size,), buffer.dtype, data=buffer.data, scope=buffer.scope)
    return whole, {b: _own(b, nbytes, thread_id(threads)) for b in _views_of(buffer, body)}, nbytes


def _is_compact(buffer: Buffer) -> bool:
    """Whether elements follow each other in row-major order."""
    if not buffer.strides:
        return True
    sizes = [e.value for e in (*buffer.shape, *buffer.strides) if isinstance(e, IntImm)]
    n = len(buffer.shape)
    return len(sizes) == 2 * n and tuple(sizes[n:]) == row_major(tuple(sizes[:n]))


def _own(buffer: Buffer, nbytes: int, number: Expr) -> Buffer:
    """A thread's own part of a block that has room for all threads."""
    if not _is_compact(buffer):
        raise Refused(f"{buffer.name} has strides, and is needed past a barrier")
    extents = [fixed(e, f"the shape of {buffer.name}") for e in buffer.shape]
    offset = fixed(buffer.elem_offset, f"the offset of {buffer.name}")
    if nbytes % buffer.dtype.nbytes or (offset + prod(extents)) * buffer.dtype.nbytes > nbytes or offset < 0:
        raise Refused(f"{buffer.name} is larger than the block under it, and is needed past a barrier")
    start = Binary("mul", number, const(nbytes // buffer.dtype.nbytes, INT32))
    moved = Binary("add", start, const(offset, INT32))
    return replace(buffer, elem_offset=moved)
