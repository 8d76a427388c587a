"""Memory that each thread has for itself, allocated outside of the loops over threads.

    L = alloc(4, "local")              for tx in threads:
    for tx in threads:           ⟶        L = alloc(4, "local")
        S(L)                                  S(L)

Where loops over threads move inwards to the phases (``threads``), one block for all of them would be memory in which
they meet.  The allocation moves inside first, if nothing else uses the block and no loop around the threads could keep
values in it.  What a thread then reads and another one wrote is undefined, as on the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from verified_tir.ir.expr import Var
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import Allocate, AttrStmt, Block, DeclBuffer, For, LetStmt, Seq, Stmt, While
from verified_tir.ir.visit import free_vars, sub_statements
from verified_tir.validate.memory import Refused


def is_thread(tag: str) -> bool:
    """Whether a loop bound to ``tag`` is over the threads of a thread block."""
    return tag.startswith("threadIdx")


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
    return loop.thread.startswith("blockIdx") or loop.kind == "parallel"


def _innermost(root: Stmt, path: Path) -> Path:
    """Where the body of the innermost of some loops over threads is that have nothing beside each other."""
    found = path = (*path, 0)
    while True:
        match at(root, path):
            case For(thread=tag) if is_thread(tag):
                found = path = (*path, 0)
            case LetStmt() | DeclBuffer() | AttrStmt() | Allocate():
                path = (*path, 0)
            case Block(is_label=True):
                path = (*path, 0)
            case _:
                return found
