"""Reductions and loops around them: decompose_reduction, remove_loop; and allocations: sink_allocation."""

from __future__ import annotations

from verified_tir.ir.expr import Var
from verified_tir.ir.paths import Path, block_path, places
from verified_tir.ir.stmt import Allocate, Block, For, If, Seq
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.order import Distribute, Partition
from verified_tir.kernel.rules.scope import Move
from verified_tir.kernel.rules.unit import Unit
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.simplify import simplify

Handle = Var | str


def decompose_reduction(session: Session, block: str, loop: Handle) -> None:
    """Move a reduction's initialisation into a nest of its own, before ``loop``.

    The block then appears as ``<block>_init`` and ``<block>``.  Needs every reduction loop below ``loop`` to make at
    least one iteration: where it makes none, the original initialises nothing.
    """
    place = block_path(session.func, block)
    if place is None:
        raise fail(f"there is no block called {block!r}")
    where, _ = session.loop(loop)
    if place[: len(where)] != where:
        raise fail(f"block {block} does not stand inside that loop", where)
    label = session.stmt(place)
    inner = (*place, 0)
    body = label.body if isinstance(label, Block) else label
    while isinstance(body, Allocate):
        raise fail(f"block {block} allocates a buffer around its initialisation", inner)
    if not (isinstance(body, Seq) and len(body.stmts) >= 2 and isinstance(body.stmts[0], If)):
        raise fail(f"block {block} has no initialisation under a condition", place)
    session.apply(Distribute(place, 1, f"{block}_init"))
    for k in range(len(place) - 1, len(where) - 1, -1):
        stmt = session.stmt(place[:k])
        if isinstance(stmt, (For, If, Block)):
            session.apply(Distribute(place[:k], 1))
        elif not isinstance(stmt, Seq):
            raise fail("between the loop and the block stands something that cannot be split", place[:k])
    _initialise_once(session, f"{block}_init", len(where))


def _initialise_once(session: Session, name: str, depth: int) -> None:
    """In the initialisation's nest, keep only the first iteration of the loops that it does not depend on."""
    changed = True
    while changed:
        init = block_path(session.func, name)
        assert init is not None
        changed = False
        for k in range(depth, len(init)):
            stmt = session.stmt(init[:k])
            if isinstance(stmt, For) and _first_only(session, init[:k], stmt):
                changed = True
                break
    simplify(session)


def _first_only(session: Session, path: Path, loop: For) -> bool:
    """``for k: S`` ⟶ ``S[first k]`` if the later iterations do nothing."""
    label = next(s for _, s in places(loop, lambda s: isinstance(s, Block)))
    assert isinstance(label, Block)
    body = label.body
    if not (isinstance(body, If) and any(n is loop.var for n in _walk(body.condition))):
        return False
    if any(n is loop.var for n in _walk(body.then_body)):
        return False
    session.apply(Partition(path, loop.min + 1))
    first, rest = _two(session, path)
    session.apply(Erase(rest))
    first = first if _is_loop(session, first) else path
    session.apply(Unit(first))
    return True


def _walk(node: object) -> list[object]:
    from verified_tir.ir.node import Node
    from verified_tir.ir.visit import walk

    assert isinstance(node, Node)
    return list(walk(node))


def _is_loop(session: Session, path: Path) -> bool:
    try:
        return isinstance(session.stmt(path), For)
    except ValueError:
        return False


def _two(session: Session, path: Path) -> tuple[Path, Path]:
    """Where the two loops stand that a partition put at ``path``."""
    if isinstance(session.stmt(path), Seq):
        return (*path, 0), (*path, 1)
    return path, (*path[:-1], path[-1] + 1)


def remove_loop(session: Session, loop: Handle) -> None:
    """Replace a loop whose iterations all do the same by its body, run once.

    Needs at least one iteration, a body that does not depend on the loop variable, and further iterations to write what
    is there already.
    """
    path, target = session.loop(loop)
    session.apply(Partition(path, target.min + 1))
    first, rest = (session.stmt(p) for p in _two(session, path))
    assert isinstance(first, For) and isinstance(rest, For)
    session.apply(Unit(session.loop(first.var)[0]))
    session.apply(Erase(session.loop(rest.var)[0]))


def sink_allocation(session: Session, name: str) -> None:
    """Move an allocation into the loop below it: nothing may be carried from one iteration to the next."""
    found = [p for p, s in places(session.func.body, lambda s: isinstance(s, Allocate) and s.buffer.name == name)]
    if not found:
        raise fail(f"no buffer called {name!r} is allocated")
    path = found[0]
    stmt = session.stmt(path)
    assert isinstance(stmt, Allocate)
    if isinstance(stmt.body, Seq):
        session.apply(Move(path, "narrow"))
        path = next(
            p for p, s in places(session.func.body, lambda s: isinstance(s, Allocate) and s.buffer is stmt.buffer)
        )
    session.apply(Move(path, "sink"))
