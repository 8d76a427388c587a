"""Fission and its reverse: one loop over several statements becomes two loops, and two adjacent loops become one."""

from __future__ import annotations

from verified_tir.ir.expr import Var
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, Block, For, If, Seq, Stmt, seq
from verified_tir.ir.visit import mentions
from verified_tir.schedule import codes
from verified_tir.schedule.moves import fission as fission_at
from verified_tir.schedule.moves import fuse, join_index_sets, swap
from verified_tir.schedule.rule_builders import moved, split_label
from verified_tir.schedule.session import Handle, Session, fail
from verified_tir.schedule.tactics.loops import pair_at


def fission(
    session: Session, loop: Handle, position: int | None = None, after: Handle | None = None
) -> tuple[Var, Var]:
    """Split a loop in two: before the statement at ``position`` of its body, or after the block or loop ``after``.

    Loops and guards between the loop and the place of the cut are split too.  Gives the two loops; a handle goes with
    its statements, that of the loop itself with the first part.
    """
    path, target = session.loop(loop)
    if after is not None and position is not None:
        raise fail("fission takes a position or a place to cut after, not both", path, code=codes.WRONG_ARGUMENT)
    if after is not None:
        where, index = _after(session, path, target, after)
    else:
        where, index = _position(session, path, target, 1 if position is None else position)
    first, second = separate(session, where, index, path)
    return session.at(first, For).var, session.at(second, For).var


def _position(session: Session, path: Path, target: For, position: int) -> tuple[Path, int]:
    """The sequence below a loop, through guards, labels and loops that hold nothing else."""
    where: Path = (*path, 0)
    while not isinstance(session.stmt(where), Seq):
        match session.stmt(where):
            case For() | If(else_body=None) | Block(is_label=True):
                where = (*where, 0)
            case _:
                raise fail(
                    f"the loop over {target.var.name} holds one statement only", path, code=codes.NOT_PERFECTLY_NESTED
                )
    count = len(session.at(where, Seq).stmts)
    if isinstance(position, bool) or not isinstance(position, int) or not 0 < position < count:
        raise fail(
            f"the body has {count} statements, so position is from 1 to {count - 1}, not {position!r}",
            where,
            code=codes.WRONG_ARGUMENT,
        )
    return where, position


def _after(session: Session, path: Path, target: For, after: Handle) -> tuple[Path, int]:
    """Where to cut so that all that comes behind a block or loop goes to the second part."""
    place = session.place(after)
    name = after if isinstance(after, str) else after.name
    if place[: len(path)] != path or place == path:
        raise fail(f"{name} does not stand inside the loop over {target.var.name}", path, code=codes.STANDS_ELSEWHERE)
    for k in range(len(place) - 1, len(path), -1):
        stmt = session.stmt(place[:k])
        if isinstance(stmt, Seq) and place[k] + 1 < len(stmt.stmts):
            return place[:k], place[k] + 1
    raise fail(f"nothing comes after {name} in the loop over {target.var.name}", path, code=codes.NOTHING_TO_CHANGE)


def separate(
    session: Session, where: Path, position: int, top: Path, label: str = "", *, moves: bool = False,
    alone: bool = False,
) -> tuple[Path, Path]:  # fmt: skip
    """Split the sequence at ``where`` before ``position``, and everything around it up to the statement at ``top``.

    ``label`` names the first part of the innermost block.  Handles to the statements around stay with the first part,
    or go with the second if it ``moves`` them.  ``alone``: of each sequence only the statement before the cut goes to
    the first part, past those before it and out of allocations.  Gives the places of the two parts.
    """
    while len(where) > len(top):
        around = where[:-1]
        while alone and position > 1:
            session.apply(swap(where, position - 2))
            position -= 1
        stmt = session.stmt(around)
        if (
            isinstance(stmt, Allocate)
            and alone
            and not mentions(session.stmt((*where, 0)), frozenset({stmt.buffer.data}))
        ):
            session.apply(moved(around, "narrow"))
            _, two = pair_at(session, around)
            where, position = two[:-1], two[-1]
            continue
        if isinstance(stmt, Allocate):
            raise fail(
                f"the buffer {stmt.buffer.name} is allocated between the loop and the cut",
                around,
                code=codes.NOT_PERFECTLY_NESTED,
            )
        second = _second_part(stmt, session.stmt(where), position)
        if isinstance(stmt, Block):
            session.apply(split_label(around, position, label or f"{stmt.name}_0"))
            label = ""
        else:
            session.apply(fission_at(around, position))
        one, two = pair_at(session, around)
        rest = session.stmt(two)
        if isinstance(stmt, For) and isinstance(rest, For):
            if moves:
                session.renamed[stmt.var] = rest.var
            session.follow(second, rest.body)
        if around == top:
            return one, two
        where, position = two[:-1], two[-1]
    raise fail("there is nothing to split", top, code=codes.NOTHING_TO_CHANGE)


def _second_part(stmt: Stmt, body: Stmt, position: int) -> Stmt:
    """What the second loop will hold, before its binders are refreshed."""
    return seq(*body.stmts[position:]) if isinstance(body, Seq) else stmt


def merge(session: Session, first: Handle, second: Handle) -> Var:
    """Merge two adjacent loops: of the same range into one body, or of adjoining ranges and one body into one loop."""
    path, a = session.loop(first)
    other, b = session.loop(second)
    if a is b:
        raise fail("a loop cannot be merged with itself", path, code=codes.WRONG_ARGUMENT)
    if not path or path[:-1] != other[:-1] or not isinstance(session.stmt(path[:-1]), Seq):
        raise fail(
            f"the loops over {a.var.name} and {b.var.name} do not stand in one sequence of statements",
            path,
            code=codes.STANDS_ELSEWHERE,
        )
    if other[-1] != path[-1] + 1:
        between = other[-1] - path[-1] - 1
        what = f"{between} statements stand between them" if between > 0 else "it comes before the first"
        raise fail(f"the second loop does not follow the first directly: {what}", path, code=codes.STANDS_ELSEWHERE)
    where, position = path[:-1], path[-1]
    if session.attempt(join_index_sets(where, position)):
        session.follow(b.body, a.body)
    else:
        session.apply(fuse(where, position))
    session.renamed[b.var] = a.var
    return a.var
