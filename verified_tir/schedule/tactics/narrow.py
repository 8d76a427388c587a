"""A local buffer that one iteration of a loop uses: its allocation goes into the loop, and shrinks to what is used.

Both are done as far as they go: contents that are carried from one iteration to the next keep an allocation outside.
"""

from __future__ import annotations

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.ir.find import loop_path
from verified_tir.ir.paths import Path, put
from verified_tir.ir.poly import as_poly
from verified_tir.ir.stmt import Allocate, For
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.scope import Move
from verified_tir.schedule import codes
from verified_tir.schedule.rule_builders import moved
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.ramps import as_ramps
from verified_tir.schedule.tactics.regions import Box, box_of
from verified_tir.schedule.tactics.simplify import simplify_expressions


def narrow(session: Session, buffer: Buffer, loop: Var, needed: Box | None = None) -> None:
    """Move an allocation inwards, at most to the body of a loop; there make it as small as one iteration needs.

    :param needed: what an iteration reads, if that is known; else what it touches.
    """
    start = _allocation(session, buffer)
    if len(session.loops_around(_place(session, loop), len(start))) > 1:  # at once, where that goes
        session.succeeds(lambda: allocate_in(session, buffer, loop))
    while session.succeeds(lambda: _inwards(session, buffer, len(_place(session, loop)))):
        pass
    path = _allocation(session, buffer)
    if not session.loops_around(path, len(start)):
        return  # it went into no loop
    where = _place(session, loop)
    if path[: len(where)] != where:
        needed = None
    touched = box_of(session.stmt(path), buffer, session.ranges(path))
    for region in (needed, touched):
        if region is None or _is_whole(region):
            continue
        if session.attempt(Couple(path, region.layout(), "accessed")):
            as_ramps(session, path)
            simplify_expressions(session, path)
            return


def allocate_in(session: Session, buffer: Buffer, loop: Var) -> None:
    """Move an allocation into a loop, from however far outside.

    :raises TacticFailed: if an iteration uses what another one stored.
    """
    path = _allocation(session, buffer)
    without = put(session.func.body, path, session.at(path, Allocate).body)
    there = loop_path(session.func.with_body(without), loop)
    assert there is not None
    session.apply(Move(path, (*there, 0)))


def _inwards(session: Session, buffer: Buffer, depth: int) -> None:
    """One step inwards, past other allocations if need be, but not into a loop below ``depth``.

    :raises TacticFailed: if there is none.
    """
    path = _allocation(session, buffer)
    while isinstance(session.stmt((*path, 0)), Allocate):
        session.apply(moved(path, "narrow"))
        path = _allocation(session, buffer)
    over_loop = isinstance(session.stmt((*path, 0)), For)
    if over_loop and len(path) > depth:
        raise fail("the loop is reached", code=codes.NOTHING_TO_CHANGE)
    session.apply(moved(path, "sink" if over_loop else "narrow"))
    if _allocation(session, buffer) == path:
        raise fail("nothing is left to be narrowed", code=codes.NOTHING_TO_CHANGE)


def _place(session: Session, loop: Var) -> Path:
    place = loop_path(session.func, loop)
    assert place is not None
    return place


def _is_whole(box: Box) -> bool:
    return all(as_poly(s.extent - n).is_zero for s, n in zip(box.sides, box.buffer.shape, strict=True))


def _allocation(session: Session, buffer: Buffer) -> Path:
    path = session.allocation(buffer)
    assert path is not None
    return path
