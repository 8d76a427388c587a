"""Reductions and loops around them: decompose_reduction, remove_loop; and allocations: sink_allocation."""

from __future__ import annotations

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import IntImm, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, Block, For, If, Seq
from verified_tir.ir.visit import free_vars
from verified_tir.kernel.rules.erase import Erase
from verified_tir.schedule import codes, moves
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import moved
from verified_tir.schedule.session import Handle, Session, fail
from verified_tir.schedule.tactics.branches import decide_branches
from verified_tir.schedule.tactics.fission import separate
from verified_tir.schedule.tactics.loops import cut
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
        raise fail(
            f"block {block} does not stand inside the loop over {outer.var.name}", where, code=codes.STANDS_ELSEWHERE
        )
    if isinstance(label.body, Allocate):
        raise fail(f"block {block} allocates a buffer around its initialisation", place, code=codes.NOT_OF_THIS_FORM)
    if not (isinstance(label.body, Seq) and label.body.stmts and isinstance(label.body.stmts[0], If)):
        raise fail(f"block {block} has no initialisation under a condition", place, code=codes.NOT_OF_THIS_FORM)
    start = label.body.stmts[0]
    reduced = set(free_vars(start.condition)) - set(free_vars(start.then_body))
    around = [s for s in session.loops_around(where) if s.var in reduced]
    if around:
        names = ", ".join(s.var.name for s in around)
        raise fail(
            f"the loop over {outer.var.name} stands inside a loop of the reduction ({names}); "
            "the initialisation goes before all of these", where, code=codes.STANDS_ELSEWHERE)  # fmt: skip
    name = f"{block}_init"
    first, _ = separate(session, (*place, 0), 1, where, name, moves=True, alone=True)
    _initialise_once(session, first, reduced)
    decide_branches(session, first)
    simplify_expressions(session, first)
    _name_loops(session, first)
    return name


def _initialise_once(session: Session, top: Path, reduced: set[Var]) -> None:
    """In the initialisation's nest, keep only the first iteration of the loops of the reduction."""

    def place(loop: For) -> Path:  # its handle belongs to the other part already
        return session.find(For, lambda s: s.var is loop.var)[0][0]

    for _, loop in session.find(For, lambda s: s.var in reduced, under=top):
        path = place(loop)
        if not (isinstance(loop.extent, IntImm) and loop.extent.value == 1):
            path, rest = cut(session, path, loop.min + 1)
            start, _ = session.find(If, under=rest)[-1]
            session.attempt(moves.decide(start, False))  # nothing is initialised there: no store is left to look at
            session.apply(Erase(rest))
            path = place(loop)
        run_once(session, path)


def _name_loops(session: Session, top: Path) -> None:
    """The loops of the initialisation's nest get names of their own."""
    for path, _ in session.find(For, under=top):
        stmt = session.at(path, For)  # inner loops change with the outer ones
        var = Var.fresh(f"{stmt.var.name}_init", stmt.var.dtype)
        loop = NewLoop(var, stmt.min, stmt.extent, stmt.kind, stmt.thread, stmt.annotations)
        session.apply(moves.reindex(path, 1, (loop,), (), (var,), (stmt.var,)))


def remove_loop(session: Session, loop: Handle) -> None:
    """Replace a loop whose iterations all do the same by its body, run once.

    Needs at least one iteration, a body that does not depend on the loop variable, and further iterations to write what
    is there already.
    """
    path, target = session.loop(loop)
    if isinstance(target.extent, IntImm) and target.extent.value < 1:
        raise fail(f"the loop over {target.var.name} makes no iteration", path, code=codes.NOTHING_TO_CHANGE)
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
    found = [p for p, _ in session.find(Allocate, lambda s: s.buffer is buffer or s.buffer.name == buffer)]
    if not found:
        known = [s.buffer.name for _, s in session.find(Allocate)]
        raise fail(
            f"no buffer called {name!r} is allocated; allocated are {', '.join(known) or 'none'}", code=codes.NO_BUFFER
        )
    if len(found) > 1:
        raise fail(f"there are {len(found)} allocations of a buffer called {name!r}", code=codes.AMBIGUOUS_BUFFER)
    path = _narrowed(session, found[0])
    match session.stmt((*path, 0)):
        case For():
            session.apply(moved(path, "sink"))
        case Seq(stmts=stmts):
            raise fail(
                f"{name} is used by {len(stmts)} statements, not in one loop (merge their loops first)",
                path,
                code=codes.NOT_PERFECTLY_NESTED,
            )
        case Block() | If():
            raise fail(f"below the allocation of {name} stands no loop", path, code=codes.STANDS_ELSEWHERE)
        case _:
            raise fail(f"no loop uses {name}", path, code=codes.NOTHING_TO_CHANGE)


def _narrowed(session: Session, path: Path) -> Path:
    """Move an allocation past other ones, into conditions, and to the statements that use it; gives its new place."""
    buffer = session.at(path, Allocate).buffer
    whole = False  # a sequence all of which uses the buffer stays as it is
    while isinstance(body := session.stmt((*path, 0)), (If, Allocate)) or (isinstance(body, Seq) and not whole):
        whole = isinstance(body, Seq)
        session.apply(moved(path, "narrow"))
        path = session.find(Allocate, lambda s: s.buffer is buffer)[0][0]
    return path
