"""Reductions and loops around them: decompose_reduction, remove_loop; and allocations: sink_allocation."""

from __future__ import annotations

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import IntImm, Var
from verified_tir.ir.find import loop_path
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Allocate, Block, For, If, Seq
from verified_tir.ir.visit import free_vars
from verified_tir.kernel.rules.erase import Erase
from verified_tir.schedule import moves
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import moved
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.branches import decide_branches
from verified_tir.schedule.tactics.fission import separate
from verified_tir.schedule.tactics.loops import Handle, cut
from verified_tir.schedule.tactics.simplify import simplify_expressions
from verified_tir.schedule.tactics.tidy import run_once


def decompose_reduction(session: Session, block: str, loop: Handle) -> str:
    """Move a reduction's initialisation into a nest of its own, before ``loop``; gives the new block's name.

    The block then appears as ``<block>_init``, under loops called ``<loop>_init``, and as ``<block>``; handles stay
    with the latter.  ``loop`` must stand outside all loops of the reduction, and each of these must make at least one
    iteration: where one makes none, the original initialises nothing.
    """
    place, label = session.block(block)
    where, outer = session.loop(loop)
    if place[: len(where)] != where:
        raise fail(f"block {block} does not stand inside the loop over {outer.var.name}", where)
    if isinstance(label.body, Allocate):
        raise fail(f"block {block} allocates a buffer around its initialisation", place)
    if not (isinstance(label.body, Seq) and label.body.stmts and isinstance(label.body.stmts[0], If)):
        raise fail(f"block {block} has no initialisation under a condition", place)
    start = label.body.stmts[0]
    reduced = set(free_vars(start.condition)) - set(free_vars(start.then_body))
    around = [s for k in range(len(where)) if isinstance(s := session.stmt(where[:k]), For) and s.var in reduced]
    if around:
        names = ", ".join(s.var.name for s in around)
        raise fail(
            f"the loop over {outer.var.name} stands inside a loop of the reduction ({names}); "
            "the initialisation goes before all of these", where,
        )  # fmt: skip
    name = f"{block}_init"
    first, _ = separate(session, (*place, 0), 1, where, name, moves=True, alone=True)
    _initialise_once(session, first, reduced)
    decide_branches(session, first)
    simplify_expressions(session, first)
    _name_loops(session, first)
    return name


def _initialise_once(session: Session, top: Path, reduced: set[Var]) -> None:
    """In the initialisation's nest, keep only the first iteration of the loops of the reduction."""
    loops = [s for _, s in places(session.stmt(top), lambda s: isinstance(s, For)) if isinstance(s, For)]
    for loop in loops:
        if loop.var not in reduced:
            continue
        path = loop_path(session.func, loop.var)
        assert path is not None
        if not (isinstance(loop.extent, IntImm) and loop.extent.value == 1):
            path, rest = cut(session, path, loop.min + 1)
            *_, (start, _) = places(session.stmt(rest), lambda s: isinstance(s, If))
            session.attempt(
                moves.decide((*rest, *start), False)
            )  # nothing is initialised there: no store is left to look at
            session.apply(Erase(rest))
            path = loop_path(session.func, loop.var)
            assert path is not None
        run_once(session, path)


def _name_loops(session: Session, top: Path) -> None:
    """The loops of the initialisation's nest get names of their own."""
    for path, _ in list(places(session.stmt(top), lambda s: isinstance(s, For))):
        stmt = session.stmt((*top, *path))  # inner loops change with the outer ones
        assert isinstance(stmt, For)
        var = Var.fresh(f"{stmt.var.name}_init", stmt.var.dtype)
        loop = NewLoop(var, stmt.min, stmt.extent, stmt.kind, stmt.thread, stmt.annotations)
        session.apply(moves.reindex((*top, *path), 1, (loop,), (), (var,), (stmt.var,)))


def remove_loop(session: Session, loop: Handle) -> None:
    """Replace a loop whose iterations all do the same by its body, run once.

    Needs at least one iteration, a body that does not depend on the loop variable, and further iterations to write what
    is there already.
    """
    path, target = session.loop(loop)
    if isinstance(target.extent, IntImm) and target.extent.value < 1:
        raise fail(f"the loop over {target.var.name} makes no iteration", path)
    if not (isinstance(target.extent, IntImm) and target.extent.value == 1):
        path, rest = cut(session, path, target.min + 1)
        behind = rest[-1] + run_once(session, path) - 1
        session.apply(Erase((*rest[:-1], behind)))
    else:
        run_once(session, path)
    session.gone[target.var] = "it was removed"


def sink_allocation(session: Session, buffer: str | Buffer) -> None:
    """Move an allocation into the loop below it: nothing may be carried from one iteration to the next."""
    name = buffer if isinstance(buffer, str) else buffer.name
    found = [p for p, s in places(session.func.body, lambda s: isinstance(s, Allocate)
                                  and (s.buffer is buffer or s.buffer.name == buffer))]  # fmt: skip
    if not found:
        known = [s.buffer.name for _, s in places(session.func.body, lambda s: isinstance(s, Allocate))
                 if isinstance(s, Allocate)]  # fmt: skip
        raise fail(f"no buffer called {name!r} is allocated; allocated are {', '.join(known) or 'none'}")
    if len(found) > 1:
        raise fail(f"there are {len(found)} allocations of a buffer called {name!r}")
    path = _narrowed(session, found[0])
    match _allocation(session, path).body:
        case For():
            session.apply(moved(path, "sink"))
        case Seq(stmts=stmts):
            raise fail(f"{name} is used by {len(stmts)} statements, not in one loop (merge their loops first)", path)
        case Block() | If():
            raise fail(f"below the allocation of {name} stands no loop", path)
        case _:
            raise fail(f"no loop uses {name}", path)


def _narrowed(session: Session, path: Path) -> Path:
    """Move an allocation past other ones, into conditions, and to the statements that use it; gives its new place."""
    stmt = _allocation(session, path)
    buffer = stmt.buffer
    whole = False  # a sequence all of which uses the buffer stays as it is
    while isinstance(stmt.body, (If, Allocate)) or (isinstance(stmt.body, Seq) and not whole):
        whole = isinstance(stmt.body, Seq)
        session.apply(moved(path, "narrow"))
        path = next(p for p, s in places(session.func.body, lambda s: isinstance(s, Allocate) and s.buffer is buffer))
        stmt = _allocation(session, path)
    return path


def _allocation(session: Session, path: Path) -> Allocate:
    stmt = session.stmt(path)
    assert isinstance(stmt, Allocate)
    return stmt
